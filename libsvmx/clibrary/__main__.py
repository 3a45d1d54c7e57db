"""Print the folder of the C library, to run a program linked with LIBSVM on libsvmx:

    LD_LIBRARY_PATH=$(python -m libsvmx.clibrary) svm-train data

Without it, programs use the installed LIBSVM: the folder is on no search path.
"""

import os

print(os.path.dirname(os.path.abspath(__file__)))
