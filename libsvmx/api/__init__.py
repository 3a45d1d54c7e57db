"""The Python API: functions over arrays, the same computations as the commands. ``libsvmx`` offers all of it.

    training     train, predict_probability; read_problem, load_model, save_model
    validation   cross_validate -> CrossValidation, leave_one_out -> LeaveOneOut; both are a Validation
    permutation  permutation_test -> PermutationTest
    many         fit_many
    cost_path    c_path -> CostPath; tau_path: of the same name -> TauPath
    grid         grid_search -> GridSearch
    state        State, a _train.updating.state.State over arrays: add, remove, update, save, load, from_model
    low_rank     low_rank -> LowRankKernel
    explaining   explain -> Explanation
    compressing  compress -> Compression
    exporting    export: C, JSON, ONNX
    influence    influence -> Influence
    intervals    jackknife_plus, cv_plus, full_conformal -> Intervals or LabelSets; conformal_p_values
    quantile_intervals  of the same name: between two curves of quantile regression, with a guarantee
    given_start  a training that starts from given coefficients
    own_kernel   Kernel: base class of the caller's kernels; kernel_values: their input and output
    alignment    alignment_weights: weights of kernels in a sum
    kernels      trainings by one, whose rows are asked for as they are needed
    advice       explain_training: the plan of a training; configuration: show_config
    warned       warnings of a call, whatever it solved
    arrays       the input of all of them: arrays to sparse rows, keywords to a Parameter; predict, decision_values

Open ``arrays.parameter_of`` and ``training.train`` first. Rows on a cluster are libsvmx/dask.py.
Feature j of a row (counted from 0) is LIBSVM's index j + 1, and zeros are left out, as in a data file.
"""
