"""The dual problem of all solvers, and the certificate of its solution.

    dual.pyx          DualProblem    min 1/2 beta'K beta - linear'beta in a box, with one or two fixed sums
                      DualSolution   beta, scores V = linear - K beta, rho, status
                      the certificate: KKT gap, level of V (= -rho), state of a bound, projection onto box and
                      sum, as functions over buffers, and in the .pxd as inline ones for compiled loops

Open first: dual.pyx, whose first lines are the mathematics of the whole package. LIBSVM's alpha, y and C are only in
libsvmx/_solvers/smo/positions.pyx. Formulations become dual problems in libsvmx/_train/formulation.pyx.
"""
