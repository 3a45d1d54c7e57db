"""libsvmx.svm, under the name that LIBSVM's package gives it."""

import sys

from libsvmx import svm

sys.modules[__name__] = svm
