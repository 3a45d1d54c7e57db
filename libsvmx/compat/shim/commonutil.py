"""libsvmx.commonutil, under the name that LIBSVM's own folder and Debian's package give it."""

import sys

from libsvmx import commonutil

sys.modules[__name__] = commonutil
