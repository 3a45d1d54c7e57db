"""LIBSVM's Python module: ``from libsvmx.svmutil import *`` where ``from libsvm.svmutil import *`` stood."""

from typing import Any

from libsvmx.compat import svmutil as _svmutil
from libsvmx.compat.svmutil import *  # noqa: F403

__all__ = _svmutil.__all__


def __getattr__(name: str) -> Any:
    """What LIBSVM's module has beside ``__all__``, as ``svm`` and ``commonutil`` have it."""
    return getattr(_svmutil, name)
