"""Alpha seeding: a warm start of a fold from a known optimum (Wen, Li, Kotagiri, Chen, Chen & Zhang 2017).

    registry     SEEDERS, the table of them:  sir  mir  ato     the paper's three, for a chain of folds
                                              avg  top  near    for leave-one-out, a star around the optimum
                                                                over all rows
    seeders      FoldSeeder.make: a seeder's proposal, made feasible, and V there; start reading here
        ──asks──>  FoldStart, the optimum and the rows that leave (R), enter (T), stay (S);
                   AdjustAlpha, which makes any start feasible (fold_change);  SharedRows, kernel rows
        ──by──>  Replacement, the least squares of mir;  AtoPath, the path of ato (ato_path)
    ato_path     the path of ato, followed by the engine of _solvers/path, and its limits
    paying       how a fold is begun: cold, by a seeder in one step, or along a path; the one rule, by counted work

Worker of a queue (_train/queue) and DualFolds (_train/validation/dual_folds.py) call FoldSeeder.make.

Everything is in beta = y alpha, free of labels: lower <= beta <= upper with one of the two 0, and V = linear - K beta.
"""
