"""C-SVC over rows on the workers of a Dask cluster, by the interior-point method of _solvers.interior_point.

Open training.py first. Jung, O'Leary & Tits (2008) is the method; here is only where the rows are.

    train_distributed                  all pairs of classes                               training
      ├─ DistributedProblem            holds futures of DataBlock, rows and targets       problem
      ├─ DistributedFeatures           feature rows of those blocks, and models of w      features
      │    ◄─ LinearFeatures           the data's own
      │    ◄─ LowRankFeatures          of a factor of the kernel matrix                   low_rank
      └─ solve_pair                    predictor_corrector.solve over
           DistributedRowBlocks        inherits RowBlocks; holds futures of RowBlock and of their states     row_blocks

    A ◄─ B: B inherits A
"""
