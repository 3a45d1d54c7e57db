"""libsvmx.commonutil, under the name that LIBSVM's package gives it."""

import sys

from libsvmx import commonutil

sys.modules[__name__] = commonutil
