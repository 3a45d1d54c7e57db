"""Run programs that are linked with LIBSVM's library with this one.

    LD_LIBRARY_PATH=$(python -m libsvmx.clibrary) svm-train data
"""

import os

print(os.path.dirname(os.path.abspath(__file__)))
