"""Which device is used where nobody says."""

from __future__ import annotations

from opbench.machine import gpu


def test_the_default_device_is_the_gpu_where_torch_can_use_one(monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(gpu, "gpu_facts", lambda: {"gpus": [{"name": "H"}]})
    monkeypatch.setattr(gpu.metadata, "version", lambda _: "2.11.0+cu128")
    assert gpu.default_device() == "cuda"
    monkeypatch.setattr(gpu.metadata, "version", lambda _: "2.11.0+cpu")
    assert gpu.default_device() == "cpu"
    monkeypatch.setattr(gpu.metadata, "version", lambda _: "2.11.0")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert gpu.default_device() == "cpu"
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    monkeypatch.setattr(gpu, "gpu_facts", lambda: {"gpus": []})
    assert gpu.default_device() == "cpu"
