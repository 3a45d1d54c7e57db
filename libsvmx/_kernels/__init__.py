"""Kernel values: rows of training, where they are kept, panels of prediction, low-rank factors.

Kernel <- SharedKernel          K of a problem's rows, without labels; open kernel_matrix.pyx first
Targets                         rows that a row of K is computed against, chosen by Kernel.targets
  <- DotTargets                 holds Products and applies the kernel function (_core/loops/kernel_functions.c)
  <- BitTargets                 rows of 0 and 1, looked up by shared ones
  <- SharedTargets              gathered from SharedRows
Products                        dot products of one row with many, chosen by density
  <- PanelProducts, IntegerProducts, PostingProducts, ColumnProducts, GivenValues
RbfPanels                       RBF values from PanelProducts in one pass (_core/loops/rbf.c)

KernelRows                      what a solver asks for rows; its positions, active part and swaps
  <- GramRows                   of parts of KernelValues, for many solves
  <- RowStore (rowstore)        holds Targets, Symmetry: rows that are kept if that pays, by counts
Symmetry                        holds Targets: values that are copied from stored rows
KernelValues (sharedrows)       what GramRows gather from
  <- SharedRows                 holds Targets: rows that solves share, or all values; makes SharedKernels
  <- PairValues                 those of two classes at a time, for each thread
DoubleRows (sharedrows)         holds Targets: rows in double, for paths
ExpansionShapley (shapley)      Shapley values of a sum of RBF or Laplacian kernel values
CrossKernel (cross)             test rows with support vectors: LIBSVM's values, or near them with a bound
  <- CrossTable                 of all pairs of rows, computed once
  <- CrossRow                   the same of one test row at a time, by Products

lowrank -> factors, pivoting, eigen -> block_kernel -> CrossKernel        K ~ F F'; approximation: its settings
Pursuit, Rounding (pursuit)     sums of kernel functions by fewer vectors, and what that changes -> pivoting
RemainingFeatures (remaining_features)      kernel values while features are left out, and what each one counts
FeatureRows (featurerows) <- DenseRows -> feature_products <- SparseRows    rows of explicit features
"""
