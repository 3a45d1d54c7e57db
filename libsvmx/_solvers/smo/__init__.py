"""LIBSVM's solver: sequential minimal optimization with the same pairs, order of variables and rounding as LIBSVM.

Chang & Lin, LIBSVM (ACM TIST 2, 2011), sections 4 and 5; selection of pairs: Fan, Chen & Lin (JMLR 6, 2005).

    SMO (solver.py)  ──solves by──>  Smo, or WarmSmo from a start with known scores
    Smo (smo.pyx)                 the loop: select_working_set, step, shrink, reconstruct_gradient, calculate_rho
        ──inherits──>  PositionsWithRows   variables by position, and their kernel rows (positions.pyx)
        ──made from──>  AlphaForm          the dual problem in LIBSVM's alpha, y and C (positions.pyx)
        ──holds──>  KernelRows             a RowStore, or GramRows if one Smo solves many problems (libsvmx/_kernels)
        ──holds──>  Scans                  the passes over all active variables, split among threads (positions.pyx)
        ──holds──>  GBar                   ──holds──>  DeferredUpdates, of shrunk variables (positions.pyx)
    hard_margin.py                infinite C: whether there is an optimum
    WarmSmo (warm.pyx)  ──inherits──>  Smo    start, shrinking and reconstruction from known scores; no GBar
        QueuedWarmSmo, of many problems with starts in a queue, whose cold ones are Smo's
            ──holds──>  Direction      steps conjugate to the last one (conjugate.pyx)
    GrowingSmo (warm.pyx)  ──inherits──>  WarmSmo    a sequence of growing C
    ChunkedSmo, in libsvmx/_solvers/decomposition  ──inherits──>  WarmSmo
    smo_in_double (warm.pyx)      pair steps in double on the state of a path that cannot be continued

Start reading at smo.pyx, which lists LIBSVM's names and ours.
"""
