"""Hundreds of small solves over the same rows, by all threads, with no Python object for each.

    folds_at_once.py              the folds of cross-validations
    models_at_once.py             trainings over the same rows
        ──by──>  in_batches       which are as long as memory allows (batches.py)
        ──puts into the queue──>  QueuedPairs     one against one, with the inner folds of probability estimates;
                                                  of one training: solved_pairs (pairs_at_once.py)
        ──may start from──>  Star, Chain (star_and_chain.py)    the optimum over all rows, or that of the fold before;
                                                  inner folds from that of their pair, or the one before
    SolveQueue (solve_queue.pyx)  runs the threads; tells of the solves in LIBSVM's order
        ──inherits──>  TaskList   rows and numbers of all solves, and what comes of them (tasks.pyx)
        ──makes──>  Worker        of one thread: Smo over GramRows, decision values of rows held out
            ──asks──>  QueueStarts    where it starts from an optimum: by any seeder (tasks.pyx)

Open first: solve_queue.pyx. Whether there is a queue at all says ``KernelProvider.queue``.
"""
