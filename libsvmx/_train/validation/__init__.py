"""Cross-validation, leave-one-out and grid search. Start reading at dual_folds.

    scheme            Seeding, the options: a seeder or none, auto, path; chain or star
    cross_validation  the loop over LIBSVM's folds        leave_one_out   the loop over rows
    problem_folds     ProblemFolds, the folds of all pairs of classes, or of one dual; holds DualFolds
    queued_rows       QueuedRows, leave-one-out of problems with few rows, in a queue
    dual_folds        DualFolds, the folds of one dual: their warm starts, and the exact path
    seeded_inner_folds    the folds of probability estimates, from the optimum over all their rows
    fold_report       FoldReport and its sums
    grid              Point, Grid, Best                   grid_search     Plan, Search; holds a Pool: Alone, or
    grid_pool         Workers                           same_steps      points known without computing
    given_folds       for the searches of sklearn/: Column, at all C of one gamma; predicted_folds, a list of trainings
    permutations      cross-validation of permuted targets
    fold_values       values of all rows by the models of folds         calibration   sigmoids of probability="cv"

One fold: cross_validate -> folds.solve(rest, held_out) -> for each dual: held-out rows have weight 0; DualFolds makes a
start (beta, V), by a seeder (_solvers/seeding) or from another C; the solver continues from it; recover makes
coefficients and report -> folds.predict reads the decision values of the held-out rows from V.
"""
