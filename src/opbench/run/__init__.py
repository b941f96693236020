"""Running cases: environments and their workers, the plan, the sampling, the progress.

`opbench.run` is the name of this package and of the function that users call. Python binds the
package to that name as soon as any part of it is imported, so the package can be called, too.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    def __call__(self, *targets: Any, **options: Any) -> Any:
        return sys.modules["opbench"].__getattr__("run")(*targets, **options)


sys.modules[__name__].__class__ = _Callable
