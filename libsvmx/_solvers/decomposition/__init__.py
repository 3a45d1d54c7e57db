"""Decomposition into working sets of hundreds or thousands of variables.

Osuna, Freund & Girosi (1997), Joachims (1999); least squares: Perez-Cruz et al. (2000).

    Chunked, IRWLS (solver.py)  ──inherit──>  Decomposition  ──solves by──>  ChunkedSmo
    ChunkedSmo (chunked.pyx)  ──inherits──>  WarmSmo  ──inherits──>  Smo (libsvmx/_solvers/smo)
        overrides ``iterate``, the loop over working sets; has from WarmSmo how scores of shrunk variables are made
        current, from Smo positions, shrinking, I_up and I_low, and the solution
        ──holds──>  Selection        which variables are the next working set (subproblem.pyx)
        ──holds──>  Subproblem       the dual over them, solved by pair steps in float (there, too), or by
                                     irwls.py; ──holds──> a smaller Subproblem that stays in cache
        ──holds──>  ScoreUpdates     V after they have moved, by blocks of kernel rows, in float or double
                                     (chunked.pyx)
    block_pivoting.py                all wrong variables exchanged at once, with one factor over the free ones: of auto,
                                     for more free variables than working sets of irwls.py hold
    Where steps lead no further, a path ends the solve (``finished`` in chunked.pyx; libsvmx/_solvers/path).

Open first: chunked.pyx, ``iterate``; then subproblem.pyx.
"""
