"""Alpha seeding: a start for the next fold from an optimum that is known (Wen, Li, Kotagiri, Chen, Chen & Zhang 2017).

    registry     SEEDERS, the table of them: open it first. A seeder is the function ``seed`` of the file with its name:
                 sir  mir  ato                the paper's three, made for a chain of folds
                 avg  top  near               made for leave-one-out, a star around the optimum over all rows
    fold_change  FoldChange, what a seeder is given: an optimum, the rows that leave (R), enter (T), stay (S);
                 moved_scores, V at a start
    adjust       AdjustAlpha, which makes any start feasible
    hand_over    the loop that sir, top and near share
    seeded_start FoldStart, the same for compiled seeders, and ChangeStart, which makes it of a FoldChange
    start_rows   the kernel rows that they ask for
    ato_path     AtoPath, the path of ato;  path_budget: how much work it is worth
    replacement  Replacement, the least squares of mir

    seed(FoldChange) -> beta;  adjust(FoldChange, beta) -> feasible or not;  moved_scores(...) -> V;  the solver goes on

    A queue of folds (_train/queue/starts.pyx) uses AtoPath and Replacement without a FoldChange. Only StartRows is
    inherited, by where the rows come from.

Everything is in beta = y alpha, free of labels: lower <= beta <= upper with one of the two 0, and V = linear - K beta.
"""
