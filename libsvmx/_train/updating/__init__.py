"""Trained states that rows join and leave: what a change does to the dual problems that a state is made of.

    State  ──holds──>  Version, the state between two changes: a change makes another, which is taken by one assignment
             └─holds──>  BinaryProblem, one of each pair of classes (one in all for regression and one-class)
                           └─holds──>  Path of libsvmx._solvers.path: the optimum of its rows, tagged with ids
    Transaction        one change of all binary problems, whose paths are marked before they move
           ──holds──>  PairIndex: which rows and which C the binary problems have after the change

    state.py              State: change (rows), set_cost, set_nu, check, model; train_state
    version.py            Version: a state between two changes; Opened: a change that has begun, however it ends
    transaction.py        Transaction, UpdateReport
    retraining.py         a change by SMO, where its path would be longer
    binary_problem.py     BinaryProblem, PairIndex, train_binary: SMO, then the path to the optimum in double
    precomputed.py        Table: the values of a precomputed kernel between the rows of a state
    certificate.py        what a change has led to, for somebody else to check
    state_record.py       StateRecord: what a state file keeps, to and from a State
    to_model.py           the model of binary problems
    left_out.py           exact leave-one-out: each row leaves along its path and comes back
    influence.py          how decision values of other rows change when a row leaves
    joined.py             a row that joins for a moment; full_conformal.py: each candidate label of it
    cost_path.py          Costs, the optimum at every C; Ways, what its paths share
    cost_folds.py         the same without each fold, and the errors that tells of
    cost_curve.py         Curve: the error as a function of C, and where it is least
    from_model.py         a State from a model of LIBSVM and its training data

Open first: State.change in state.py, then Transaction.update, then version.py. The method is Karasuyama & Takeuchi's
(NIPS 2009).
"""
