"""Solvers of the dual problem, one chapter each. They see a problem and kernel rows: no files, labels or options.

    smo/             LIBSVM's steps, to the bit; warm starts
    decomposition/   working sets of many variables, by pair steps or by least squares (IRWLS)
    interior_point/  C-SVC, epsilon-SVR by explicit features: predictor-corrector, constraint reduction, crossover
    linear/          linear machines with a penalised intercept, another problem: coordinate descent, Newton steps
    path/            exact optima under changes of rows and C
    seeding/         starts of a fold from the optimum of another
    dual             the dual problem of all formulations, its solution and its certificate: KKT gap, level, projection
    solver           Solver, the base of all solvers: abilities, and settings, declared once
    auto             SMO, and another solver where it is slow; linear_work: the work of crsvm in steps of SMO
    registry         all of them by name

Arrows between chapters: auto ──> all solvers;  decomposition ──> smo, path;  path ──> smo/warm, which
──> path/path_state. Each returns a DualSolution. The papers are cited in the first lines of each chapter.

Open first: dual.pyx, whose first lines are the mathematics of the whole package; then smo/smo.pyx, with LIBSVM's alpha,
y and C. A new solver: a subclass of Solver beside its algorithm, and a line in registry.py.
"""
