"""LIBSVM's own Python interface: ``libsvmx.svmutil`` takes the place of ``libsvm.svmutil``.

svmutil      svm_train, svm_predict, ...: what programs import
svm          svm_problem, svm_node, svm_model, and svm_parameter of ``options``
library      the calls behind svmutil, and ``libsvm`` with the names of LIBSVM's C functions
commonutil   svm_read_problem, evaluations, csr_scale
rows         rows as LIBSVM takes them, dicts, lists, arrays, sparse matrices, to a CsrMatrix
"""
