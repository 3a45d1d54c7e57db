"""Solvers of the dual problem, one chapter each. They see a problem and kernel rows: no files, labels or options.

    smo/             LIBSVM's own path, bit by bit; and the same iteration from a known start
    decomposition/   working sets of many variables, by pair steps or by least squares (IRWLS)
    interior_point/  C-SVC, epsilon-SVR by explicit features: predictor-corrector, constraint reduction, crossover
    linear/          linear machines with a penalised intercept, another problem: coordinate descent, Newton steps
    path/            exact optima that follow their data: rows join and leave, C changes
    seeding/         starts of a fold from the optimum of another
    control          tolerance, limits, and whom to tell of progress; every solver has one
    solver           Solver: what it can do, and its settings, declared once; all solvers inherit it
    auto             which of them goes on where SMO is slow
    registry         all of them by name

Arrows between chapters: auto ──> all solvers;  decomposition ──> smo, path;  path ──> smo/warm, which
──> path/path_state. Each ends in a DualSolution (libsvmx/_problem), whose status is a SolveStatus. The papers stand in
the first lines of each chapter.

Open first: smo/smo.pyx. A solver of your own: a subclass of Solver beside its algorithm, and a line in registry.py.
"""
