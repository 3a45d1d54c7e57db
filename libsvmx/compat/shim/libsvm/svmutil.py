"""libsvmx.svmutil, under the name that LIBSVM's package gives it."""

import sys

from libsvmx import svmutil

sys.modules[__name__] = svmutil
