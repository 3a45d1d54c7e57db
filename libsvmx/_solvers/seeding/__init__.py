"""Alpha seeding: a start for the next fold from an optimum that is known (Wen, Li, Kotagiri, Chen, Chen & Zhang 2017).

    registry     SEEDERS, the table of them: open it first. A seeder is the function ``seed`` of the file with its name:
                 sir  mir  ato                the paper's three, made for a chain of folds
                 avg  top  near               made for leave-one-out, a star around the optimum over all rows
    fold_change  FoldChange, what a seeder is given: an optimum, the rows that leave (R), enter (T), stay (S);
                 moved_scores, V at a start
                 FoldStart, the same for compiled seeders, and ChangeStart, which makes it of a FoldChange;
                 StartRows, the kernel rows that they ask for
                 adjust: AdjustAlpha, which makes any start feasible; hand_over: the loop that sir, top and near
                 share; Replacement, the least squares of mir
    ato_path     AtoPath, the path of ato;  PathBudget: how much work it is worth

    seed(FoldChange) -> beta;  adjust(FoldChange, beta) -> feasible or not;  moved_scores(...) -> V;  the solver goes on

    A queue of folds (_train/queue/tasks.pyx) uses AtoPath and Replacement without a FoldChange. Only StartRows is
    inherited, by where the rows come from.

Everything is in beta = y alpha, free of labels: lower <= beta <= upper with one of the two 0, and V = linear - K beta.
"""
