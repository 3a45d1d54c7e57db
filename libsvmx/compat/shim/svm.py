"""libsvmx.svm, under the name that LIBSVM's own folder and Debian's package give it."""

import sys

from libsvmx import svm

sys.modules[__name__] = svm
