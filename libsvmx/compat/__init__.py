"""LIBSVM's own Python interface: ``libsvmx.svmutil``, ``svm`` and ``commonutil`` replace LIBSVM's modules.

svmutil      svm_train, svm_predict, ...: what programs import
library      the calls behind svmutil, and ``libsvm`` with the names of LIBSVM's C functions
svm          svm_problem, svm_model, and the rest of LIBSVM's module of this name
options      svm_parameter, enumerations, print functions
nodes        svm_node and its ctypes arrays: made from rows, and read back
handles      ctypes structures that hold Python objects, so that pointers work; arrays that calls fill
commonutil   svm_read_problem, evaluations, csr_scale
__main__     runs a script with the folder ``shim`` on its path, in which ``libsvm`` is libsvmx
rows         rows as LIBSVM takes them, dicts, lists, arrays, sparse matrices, to a CsrMatrix
"""
