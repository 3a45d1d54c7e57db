"""LIBSVM's Python module: ``from libsvmx.commonutil import *`` where ``from libsvm.commonutil import *`` stood."""

from libsvmx.compat import commonutil as _commonutil
from libsvmx.compat.commonutil import *  # noqa: F403
from libsvmx.compat.commonutil import evaluations_scipy as evaluations_scipy

__all__ = _commonutil.__all__
