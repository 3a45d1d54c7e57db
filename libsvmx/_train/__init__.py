"""Training: from rows, targets and a Parameter to a Model. Prints nothing; an Observer is told.

    training          train_problem: checks, pairs of classes, one dual each (solve_binary), a Model of them
        zero_weights  which rows count, where there are weights
        formulation   build_dual: the formulations as dual problems; recover_coefficients: and back
        kernel_provider   kernel rows of a problem, shared by pairs and folds; feature_map: features instead
        solve_dual    solve: by Parameter.solver; recover: coefficients and the SolveReport (solve_report) of a solution
        limits        the Control of a solve; observer: Observer
        probability   sigmoids of pairs, the noise of regressions
    parameter, problem, model     what goes in and what comes out; checks: what cannot be trained; gamma: the usual one
    option_words      a parameter as options of svmx-train; policy: which way is taken to its results
    prediction        decision values, labels and probabilities of a Model  ──by──>  decision (loops)
    folds             LIBSVM's classes and folds, Rand; drawn_folds: once or repeatedly, with the inner ones
    many              trainings over the same rows with other targets
    side_by_side      solves that need nothing of each other, by several threads
    warm_start        where a training starts that follows another over the same rows
    metrics           accuracy, mean squared error, correlation; conformal: intervals, label sets, p-values
    advice            what a training would be, and what is odd about it: --explain

    assembly          models of coefficients
    queue/            pairs of classes and folds, solved at once
    validation/       folds of one dual and of pairs, cross-validation, leave-one-out, grid search
    updating/         State: a model that rows join and leave
    cluster/          rows on the workers of a Dask cluster

Open first: training.py, ``solve_binary``; then formulation.pyx. LIBSVM's names: svm_train, solve_c_svc, ...
"""
