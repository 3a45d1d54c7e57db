"""libsvmx.svmutil, under the name that LIBSVM's own folder and Debian's package give it."""

import sys

from libsvmx import svmutil

sys.modules[__name__] = svmutil
