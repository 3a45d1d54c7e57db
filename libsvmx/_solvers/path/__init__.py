"""Exact optima under changes of rows and C, by path following.

Karasuyama & Takeuchi, Multiple incremental decremental learning of support vector machines (NIPS 2009), whose
equations are cited by number; one row at a time: Cauwenberghs & Poggio (NIPS 2000). The paper has C-SVC, with one sum
of beta and one bias; here there is a sum and a level for each group, two in the nu formulations.

    Path  ──holds──>  PathState      the optimum: rows, boxes, beta, F = K beta, margin and its Cholesky factor
          ──holds──>  Motion         per unit of eta: velocities, response of the margin (``direction``), ``advance``
                        ├─holds──>  PathState, the same one
                        └─holds──>  Trace, to record all lines, or None
    Each file uses those above it:
    path_state.pyx  PathState; border_margin, append_to_margin, remove_from_margin: the Cholesky factor of K_MM
    motion.pyx      Trace, Motion, next_breakpoint: one line
    following.pyx   breakpoint_event, enter_margin, exchange along a null direction, gather_margin: the margin
                    fill_margin, centre_levels: the interval of the level of a group with an empty margin
                    shrink_if_many, unshrink: shrinking
                    go: direction, next_breakpoint, advance, breakpoint_event, until eta = 1; follow: raises, too
    repair.pyx      refine, repair: from near the optimum to it, and away from drift
    path.pyx        Path: start, update (rows), rescale (C), check; near: from a training; by_smo (smo/warm.pyx): if no
                    path can be followed
                    path_of, solution_without: folds of a cross-validation
    from_small_cost.py      solve: the optimum at a large C by the path from a small one, for irwls and auto

    A path is exact. ATO (_solvers/seeding/ato_path.pyx) uses the same code over rows in float, with a ridge
    (``PathState.ridge``), shrinking and a limit of work (``Motion``).

Open first: the end of following.pyx, ``go``; then motion.pyx, which states the equations, and path.pyx.
"""
