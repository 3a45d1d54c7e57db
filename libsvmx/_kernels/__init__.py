"""Kernel values: rows for training and their caches, panels for prediction, low-rank factors.

Kernel <- SharedKernel          K of a problem's rows, without labels; open kernel_matrix.pyx first
Targets                         columns of computed rows of K, made by Kernel.targets
  <- DotTargets                 holds Products and applies the kernel function (_core/loops/kernel_functions.c)
  <- BitTargets                 binary rows, by the number of shared ones
  <- SharedTargets              gathered from SharedRows
Products                        dot products of one row with many, chosen by density
  <- PanelProducts, InPlaceProducts, IntegerProducts, PostingProducts, ColumnProducts, GivenValues
RbfPanels                       RBF values from PanelProducts in one pass (_core/loops/rbf.c)

RowSource (rows_on_demand)      rows of a kernel in Python, computed when a CsrMatrix is asked for them

KernelRows                      rows of a solver, with its positions, active part and swaps
  <- GramRows (sharedrows)      of parts of SharedRows, for many solves
  <- RowStore (rowstore)        holds Targets, Symmetry: the cache of rows, grown if that pays, by counts
Symmetry                        holds Targets: copies values from stored rows
SharedRows (sharedrows)         holds Targets: rows shared by solves; makes SharedKernels; source of GramRows, and of
                                starts (_solvers/seeding)
  <- PairRows                   those of two classes at a time
DoubleRows (doublerows)         holds Targets, or SharedRows: rows in double, for paths
ExpansionShapley (shapley)      Shapley values of a sum of RBF or Laplacian kernel values
CrossKernel (cross)             test rows with support vectors: LIBSVM's values, or approximations with a bound
CrossRow (cross)                  the same of one test row at a time, by Products

lowrank -> factors, pivoting, eigen -> block_kernel -> CrossKernel        K ~ F F'; approximation: its settings
Pursuit, Rounding (pursuit)     sums of kernel functions by fewer vectors, with an error bound -> pivoting
RemainingFeatures (remaining_features)      kernel values while features are eliminated; importances
FeatureRows (featurerows) <- DenseRows -> feature_products <- SparseRows    rows of explicit features
"""
