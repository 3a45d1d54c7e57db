"""LIBSVM's Python module: ``from libsvmx.svm import *`` where ``from libsvm.svm import *`` stood."""

from typing import Any

from libsvmx.compat import svm as _svm
from libsvmx.compat.library import libsvm
from libsvmx.compat.svm import *  # noqa: F403

__all__ = ["libsvm"]
__all__ += _svm.__all__


def __getattr__(name: str) -> Any:
    """What LIBSVM's module has beside ``__all__``: ``ctypes_print_null``, and all of ctypes."""
    return getattr(_svm, name)
