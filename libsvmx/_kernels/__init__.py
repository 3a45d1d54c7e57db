"""Kernel values: rows for training and their caches, panels for prediction, low-rank factors.

Kernel <- SharedKernel          K of a problem's rows, without labels; open kernel_matrix.pyx first
Targets                         columns of computed rows of K, made by Kernel.targets
  <- DotTargets                 holds Products and applies the kernel function (_core/loops/kernel_functions.c)
  <- BitTargets                 binary rows, by the number of shared ones
  <- SharedTargets              gathered from SharedRows
Products                        dot products of one row with many, chosen by density
  <- PanelProducts, IntegerProducts, PostingProducts, ColumnProducts, GivenValues
RbfPanels                       RBF values from PanelProducts in one pass (_core/loops/rbf.c)

KernelRows                      rows of a solver, with its positions, active part and swaps
  <- GramRows                   of parts of KernelValues, for many solves
  <- RowStore (rowstore)        holds Targets, Symmetry: the cache of rows, grown if that pays, by counts
Symmetry                        holds Targets: copies values from stored rows
KernelValues (sharedrows)       source of GramRows, and of starts (_solvers/seeding)
  <- SharedRows                 holds Targets: rows shared by solves, or all values; makes SharedKernels
  <- PairValues                 values of two classes at a time, per thread
DoubleRows (sharedrows)         holds Targets, or KernelValues: rows in double, for paths
ExpansionShapley (shapley)      Shapley values of a sum of RBF or Laplacian kernel values
CrossKernel (cross)             test rows with support vectors: LIBSVM's values, or approximations with a bound
CrossRow (cross)                  the same of one test row at a time, by Products

lowrank -> factors, pivoting, eigen -> block_kernel -> CrossKernel        K ~ F F'; approximation: its settings
Pursuit, Rounding (pursuit)     sums of kernel functions by fewer vectors, with an error bound -> pivoting
RemainingFeatures (remaining_features)      kernel values while features are eliminated; importances
FeatureRows (featurerows) <- DenseRows -> feature_products <- SparseRows    rows of explicit features
"""
