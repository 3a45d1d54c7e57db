"""Trained states to which rows are added and from which rows are removed.

    State  ──holds──>  Version, the state between two changes; a change makes another, assigned in one step
             └─holds──>  BinaryProblem, one for each pair of classes (a single one in regression and one-class)
                           └─holds──>  Path of libsvmx._solvers.path: the optimum of its rows, tagged with ids
    Transaction        one change of all binary problems, whose paths are marked before they move
           ──holds──>  PairIndex: rows and C of the binary problems after the change

    state.py              State: change (rows), set_cost, set_nu, check, model; train_state
    version.py            Version: a state between two changes; Opened: a change in progress
    transaction.py        Transaction, UpdateReport
    retraining.py         a change by SMO, where its path would be longer
    binary_problem.py     BinaryProblem, PairIndex, train_binary: SMO, then the path to the optimum in double
    precomputed.py        Table: the values of a precomputed kernel between the rows of a state
    certificate.py        a verifiable record of the result of a change
    state_record.py       StateRecord: the content of a state file, to and from a State
    to_model.py           the model of binary problems
    left_out.py           exact leave-one-out: each row is removed along its path and restored
    influence.py          changes of decision values of other rows when a row is removed
    joined.py             a row added temporarily; full_conformal.py: with each candidate label
    cost_path.py          Costs, the optimum at every C; Ways, shared by its paths
    cost_folds.py         the same without each fold, and the validation error
    cost_curve.py         Curve: the error as a function of C, and its minimum
    from_model.py         a State from a model of LIBSVM and its training data

Open first: State.change in state.py, then Transaction.update, then version.py. The method is Karasuyama & Takeuchi's
(NIPS 2009).
"""
