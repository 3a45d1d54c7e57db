"""LIBSVM's solver: sequential minimal optimization, its pairs, its order, its roundings.

Chang & Lin, LIBSVM (ACM TIST 2, 2011), sections 4 and 5; the choice of pairs: Fan, Chen & Lin (JMLR 6, 2005).

    SMO (solver.py)  ──solves by──>  Smo, or WarmSmo where the scores at the start are known
    Smo (smo.pyx)                 the loop: select_working_set, step, shrink, reconstruct_gradient, calculate_rho
        ──inherits──>  PositionsWithRows   the variables by position, and their kernel rows (positions.pyx)
        ──made from──>  AlphaForm          the dual problem in LIBSVM's alpha, y and C (there, too)
        ──holds──>  KernelRows             a RowStore, or GramRows where one Smo solves many (libsvmx/_kernels)
        ──holds──>  Scans                  the passes over all active variables, cut up for threads (there, too)
        ──holds──>  GBar                   ──holds──>  DeferredUpdates, of shrunk variables (positions.pyx)
    hard_margin.py                where C is infinite: whether there is an optimum
    WarmSmo (warm.pyx)  ──inherits──>  Smo    start, shrinking and reconstruction from known scores; no GBar
    GrowingSmo (there, too)  ──inherits──>  WarmSmo    one C after the other
    ChunkedSmo, in libsvmx/_solvers/decomposition  ──inherits──>  WarmSmo
    smo_in_double (there, too)    pair steps in double over the state of a path, where no path leads on

Open first: smo.pyx. Its first lines name LIBSVM's words and ours.
"""
