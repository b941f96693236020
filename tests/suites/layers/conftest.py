from __future__ import annotations

import pytest


@pytest.fixture
def without_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is a GPU the classic command takes it, whose allocator rounds up to 512 bytes."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
