"""C-SVC and regressions without nu over explicit features by a constraint-reduced interior-point method: solver crsvm.

Jung, O'Leary & Tits, Adaptive constraint reduction for training support vector machines, ETNA 31 (2008), Algorithm 1.
Its symbols are kept but gamma, here rho, and tau, here upper. Open predictor_corrector.py first: the method.

    CRSVM (inherits Solver)          the settings                                      settings
      └─ InteriorPolicy              what pays, and sizes of blocks
    dual_solver.solve_dual           the door: a DualProblem in, a DualSolution out    dual_solver
      └─ predictor_corrector.solve   interior point, then vertex; again with a tighter tolerance if need be
           ├─ PredictorCorrector     the iterations           holds  RowBlocks, Point
           │    ├─ thresholds        rows of the normal matrix, section 3.2   constraint_reduction
           │    ├─ NormalEquations   its Cholesky factor, dw and drho         normal_equations
           │    └─ Point             w, rho, residuals and sums over all rows normal_equations
           └─ cross_over             vertex: each alpha at 0, at upper or free   crossover
                └─ solve_free_rows   values of the free rows                     free_rows

    RowBlocks ◄─ LocalRowBlocks, _train.cluster's DistributedRowBlocks       blocks of rows, each with a state
      holds RowBlock (rows, y, upper, linear) and its state: an Iterate, moved by block_steps; then a Vertex, by
            vertex_steps. What they reply: replies; the blocks: row_blocks

Vectors over rows never leave their block: what travels has the length of w, or is the normal matrix.
"""
