"""Hundreds of small solves over the same rows, by all threads, without a Python object per solve.

    solved_folds, queued_models   the folds of cross-validations, and the models of trainings over the same rows
                                  (trainings.py); leave-one-out: _train/validation/queued_rows.py
        ──by──>  in_batches       as large as memory allows
        ──puts into the queue──>  QueuedTraining  its dual problem, or those of its QueuedPairs: one against one, with
                                                  the inner folds of probability estimates (duals.py); of one training
                                                  alone: solved_pairs
        ──may start from──>  Star, Chain          the optimum over all rows, or of the previous fold; inner folds from
                                                  that of their pair, or the previous one
    SolveQueue (solve_queue.pyx)  runs the threads; reports the solves in LIBSVM's order
        ──inherits──>  TaskList   rows and parameters of all solves (tasks.pyx)
        ──makes──>  Worker        of one thread: Smo over GramRows (worker.pyx)
            ──asks──>  QueueStarts    warm starts by any seeder, and whether they pay (starts.pyx)
            ──ends with──>  QueueDecisions    decision values of held-out rows, sigmoids, folds (decisions.pyx)

Start reading at solve_queue.pyx. ``KernelProvider.queue`` decides whether a queue is used.
"""
