"""A mode that sees torch's functions, unseen by torch's modules.

`nn.TransformerEncoder` and `nn.MultiheadAttention` ask whether anybody overrides functions, and do
without their fused operators then. They are to get the answer of the program as it runs without us.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import overrides
from torch.overrides import TorchFunctionMode


class UnseenMode(TorchFunctionMode):
    def __enter__(self) -> Any:
        self._asked = overrides.has_torch_function
        overrides.has_torch_function = self._answer
        return super().__enter__()

    def __exit__(self, *exception: Any) -> None:
        overrides.has_torch_function = self._asked
        super().__exit__(*exception)

    def _answer(self, args: Iterable[Any]) -> bool:
        if torch.compiler.is_compiling() or overrides._get_current_function_mode() is not self:
            return bool(self._asked(args))
        with overrides._pop_mode_temporarily():
            return bool(self._asked(args))
