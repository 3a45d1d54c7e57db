"""Exact optima that follow their data: rows join and leave, C changes, and the optimum moves along a path.

Karasuyama & Takeuchi, Multiple incremental decremental learning of support vector machines (NIPS 2009), whose
equations are cited by number; one row at a time: Cauwenberghs & Poggio (NIPS 2000). The paper has C-SVC, with one sum
of beta and one bias; here there is a sum and a level for each group, two in the nu formulations.

    Path  ──holds──>  PathState      the optimum: rows, boxes, beta, F = K beta, margin and its Cholesky factor
          ──holds──>  Motion         per unit of eta: what moves, how the margin answers (``direction``), ``advance``
                        ├─holds──>  PathState, the same one
                        └─holds──>  Trace, while somebody wants all lines of the way, or None
    Each file uses those above it:
    path_state.pyx  PathState; border_margin, append_to_margin, remove_from_margin: the Cholesky factor of K_MM
    motion.pyx      Trace, Motion, next_breakpoint: a straight line, what ends it, and where
    following.pyx   breakpoint_event, enter_margin, exchange along a null direction, gather_margin: who is in the margin
                    fill_margin, centre_levels: the level of a group without margin has an interval
                    shrink_if_many, unshrink: rows that a path goes on without
                    go: direction, next_breakpoint, advance, breakpoint_event, until eta = 1, without the interpreter;
                    follow: the same, and raises where the path leads no further
    path.pyx        refine, repair: from near the optimum to it
                    Path: start, update (rows), rescale (C), check; near, from what a training has found; by_smo
                    (smo/warm.pyx) where no path leads on
                    path_of, solution_without: folds of a cross-validation that leave the optimum over all rows
    from_small_cost.py      solve: the optimum at a large C by the path from a small one, for irwls and auto

    A path is exact. That of ATO (_solvers/seeding/ato_path.pyx) goes by the same engine, over rows in float and with a
    ridge (``PathState.ridge``); rows that are far are always shrunk, and what it may take has an end (``Motion``).

Open first: the end of following.pyx, ``go``; then motion.pyx, which states the equations, and path.pyx.
"""
