"""C-SVC and regressions without nu over explicit features by a constraint-reduced interior-point method: solver crsvm.

Jung, O'Leary & Tits, Adaptive constraint reduction for training support vector machines, ETNA 31 (2008), Algorithm 1.
Its symbols are kept but gamma, here rho, and tau, here upper. Open first: predictor_corrector.py.

    CRSVM (inherits Solver)          the settings                                      settings
      └─ InteriorPolicy              thresholds of work, and sizes of blocks
    dual_solver.solve_dual           entry: DualProblem -> DualSolution                dual_solver
      └─ predictor_corrector.solve   interior point, then vertex; again with a tighter tolerance if need be
           ├─ PredictorCorrector     the iterations           holds  RowBlocks, Point
           │    ├─ thresholds        rows of the normal matrix, section 3.2   constraint_reduction
           │    ├─ NormalEquations   its Cholesky factor, dw and drho         normal_equations
           │    └─ Point             w, rho, residuals and sums over all rows normal_equations
           └─ cross_over             to a vertex: each alpha 0, upper or free    crossover
                └─ solve_free_rows   alpha of the free rows                      free_rows

    RowBlocks ◄─ LocalRowBlocks, _train.cluster's DistributedRowBlocks       blocks of rows, each with a state
      holds RowBlock (rows, y, upper, linear) and its state: an Iterate, moved by block_steps; then a Vertex, by
            vertex_steps. Replies of steps: replies; the blocks: row_blocks

Vectors over rows stay in their block; only vectors of the length of w and the normal matrix are sent.
"""
