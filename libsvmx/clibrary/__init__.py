"""LIBSVM's C library: ``libsvm.so.4`` and ``libsvm.so.3``, built by ``-Csetup-args=-Dclibrary=enabled`` alone.

functions.c       LIBSVM's functions, with the structures of the program's header; begin here
prediction.c      prediction from those structures: no Python, no lock
interpreter.c     finds the interpreter of the process, or starts one, and imports ``bridge``
bridge            training and model files, called from C
svm.h             the interface; model.h and bridge.h are between the files above
__main__          prints this folder, for LD_LIBRARY_PATH
"""
