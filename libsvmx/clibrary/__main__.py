"""Prints the folder of the C library, with which programs that are linked with LIBSVM's run on this one:

    LD_LIBRARY_PATH=$(python -m libsvmx.clibrary) svm-train data

The folder is on no path by itself, so that an installed LIBSVM is what programs run on everywhere else.
"""

import os

print(os.path.dirname(os.path.abspath(__file__)))
