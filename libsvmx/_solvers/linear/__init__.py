"""Linear machines whose intercept is penalised, as LIBLINEAR has them: hinge and tube losses, or their squares.

    solver.solve                coordinate descent, then Newton steps of the method of multipliers; open it first
      └─ row_passes             passes over the rows: ChosenRows (products), Losses, Descent (coordinate descent)

A problem of its own, not a DualProblem: without a constraint of sums, each beta moves alone.
"""
