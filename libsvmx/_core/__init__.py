"""Buffers, sparse rows, factors, random numbers, threads, and the hot loops in C.

    CsrMatrix (matrix)              the one form in which data enters the package, `regular` if all rows have the same
                                    features; open this first
    interchange                     the same for NumPy, SciPy and scikit-learn: rows by any index, dense, sparse
    tables                          arrays of NumPy and SciPy to its buffers, in two passes
    buffers, arrays                 typed memoryviews in place of NumPy, and loops over them
    Cholesky (cholesky)             a triangular factor whose rows come and go
    ThreadPool (thread_pool)        helper threads of one solve          threads: how many to use
    memory                          how much there is, asked before work begins
    records, enumerations, contexts  dataclasses, enums and context managers whose import costs next to nothing
    dense  symmetric_eigen          BLAS and LAPACK in pieces, for those who have NumPy
    stopping  jobs                  work in pieces, between which it is asked whether to stop; and by threads of Python
    Rand (rand)                     glibc's rand()
    last_words                      what a process says when a signal ends it

C headers; each names its callers, states its arrays, and neither allocates nor fails, but for slab.h:

    simd.h                          what all others include
    dot_products.h  bits.h          one row, or sixteen, with many rows
    kernel_functions.h  .c          K(t) of a dot product or a distance: all kernels   <- rbf.c  rbf_loops.h  exp.h
    test_panels.h                   test rows with support vectors
    smo_steps.h                     scores and working set of SMO
    subproblem_steps.h              the same in float, for small problems in cache
    vectors.h  breakpoints.h        doubles: sums of rows, and the next breakpoint of a path
    thread_pool.h  slab.h  clock.h  threads, memory, time
"""
