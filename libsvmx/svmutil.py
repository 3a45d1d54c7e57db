"""LIBSVM's Python module: ``from libsvmx.svmutil import *`` where ``from libsvm.svmutil import *`` stood."""

from libsvmx.compat import svmutil as _svmutil
from libsvmx.compat.svmutil import *  # noqa: F403

__all__ = _svmutil.__all__
