"""Alpha seeding: a start for the next fold from an optimum that is known (Wen, Li, Kotagiri, Chen, Chen & Zhang 2017).

    registry     SEEDERS, the table of them:  sir  mir  ato     the paper's three, made for a chain of folds
                                              avg  top  near    made for leave-one-out, a star around the optimum
                                                                over all rows
    seeders      FoldSeeder.make: what a seeder proposes, made feasible, and V there; open it first
        ──asks──>  FoldStart, the optimum and what leaves (R), enters (T), stays (S);  StartRows, kernel rows;
                   AdjustAlpha, which makes any start feasible (fold_change)
        ──by──>  Replacement, the least squares of mir;  AtoPath, the path of ato (ato_path)
    ato_path     what moves on the path of ato, and what it may take, for the engine of _solvers/path;
                 StartBudget: whether the starts of a chain pay

Worker of a queue (_train/queue) and DualFolds (_train/validation/dual_folds.py) both come in by FoldSeeder.make.

Everything is in beta = y alpha, free of labels: lower <= beta <= upper with one of the two 0, and V = linear - K beta.
"""
