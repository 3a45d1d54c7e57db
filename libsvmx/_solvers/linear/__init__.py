"""Linear machines with a penalised intercept, as in LIBLINEAR: hinge and epsilon-insensitive losses, or their squares.

    solver.LinearSolver         coordinate descent, then Newton steps of the method of multipliers; open it first
      └─ row_passes             passes over the rows: ChosenRows (products), Losses, Descent (coordinate descent)

Not a DualProblem: without a constraint on sums, each beta moves alone.
"""
