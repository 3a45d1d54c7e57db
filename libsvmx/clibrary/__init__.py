"""A replacement of LIBSVM's C library, ``libsvm.so.4`` and ``.3``; built with ``-Csetup-args=-Dclibrary=enabled``.

functions.c       the public functions, for the structures of the program's header; begin here
prediction.c      prediction from those structures: no Python, no lock
interpreter.c     finds the interpreter of the process, or starts one, and imports ``bridge``
bridge            training and model files, called from C
svm.h             the public interface; model.h and bridge.h are internal
__main__          prints this folder, for LD_LIBRARY_PATH
"""
