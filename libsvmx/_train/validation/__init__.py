"""Cross-validation, leave-one-out and grid search. Open dual_folds first.

    scheme            Seeding, what can be asked for: a seeder or none, auto, path; chain or star
    cross_validation  the loop over LIBSVM's folds        leave_one_out   the loop over rows
    problem_folds     ProblemFolds, the folds of all pairs of classes, or of one dual; holds DualFolds
    dual_folds        DualFolds, the folds of one dual: where each starts, and the exact path
    seeded_inner_folds    the folds behind probability estimates, from the optimum over all their rows
    fold_report       FoldReport and its sums
    grid              Point, Grid, Best                   grid_search     Plan, Search; holds a Pool: Alone, or
    grid_pool         Workers                           same_steps      points that need no computing
    fold_column       Column, folds that are given at all C of one gamma: what the searches of sklearn/ hold
    permutations      the same of permuted targets
    given_folds       predicted_folds: folds that are given, by the path of LIBSVM: many trainings
    fold_values       values of all rows by the models of folds         calibration   sigmoids of probability="cv"

One fold: cross_validate -> folds.solve(rest, held_out) -> for each dual: the rows held out have weight 0; DualFolds
finds beta and V, by a seeder (_solvers/seeding) or from another C; the solver goes on from there; recover makes
coefficients and the report -> folds.predict reads the decision values of the held-out rows off V.
"""
