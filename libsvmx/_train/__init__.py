"""Training: from rows, targets and a Parameter to a Model. Prints nothing; an Observer is told.

    training          train_problem: checks, pairs of classes, one dual each (solve_binary), a Model of them
        zero_weights  rows of weight 0 left out
        formulation   build_dual: the formulations as dual problems; recover_coefficients: and back
        kernel_provider   kernel rows of a problem, shared by pairs and folds; feature_map: features instead
        solve_dual    solve: by Parameter.solver; recover: coefficients and the SolveReport (solve_report) of a solution
        limits        the Control of a solve; observer: Observer
        probability   sigmoids of pairs, the noise of regressions
    parameter, problem, model     input and output; checks: of the input; gamma: its default
    option_words      a parameter as options of svmx-train; policy: thresholds between mechanisms
    prediction        decision values, labels and probabilities of a Model  ──by──>  decision (loops)
    folds             LIBSVM's classes and folds, Rand; repeated_folds: once or repeatedly, with the inner ones
    many              trainings over the same rows with different targets
    side_by_side      independent solves by several threads
    warm_start        start of a training that follows another one over the same rows
    metrics           accuracy, mean squared error, correlation; conformal: intervals, label sets, p-values
    advice            --explain: the plan of a training, and warnings about data and parameters

    assembly          models from coefficients
    queue/            pairs of classes and folds, in a queue
    validation/       folds of one dual and of pairs, cross-validation, leave-one-out, grid search
    updating/         State: a model to which rows are added and from which rows are removed
    cluster/          rows on the workers of a Dask cluster

Open first: training.py, ``solve_binary``; then formulation.pyx. LIBSVM's names: svm_train, solve_c_svc, ...
"""
