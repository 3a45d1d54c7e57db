from libc.stdint cimport int32_t, int64_t

cdef extern from "rbf.h" nogil:
    void svmx_rbf_row(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma, float *out) noexcept
    void svmx_fused_panel_block(int64_t n_features, const double *panel, const double *sources, int64_t stride,
                                double *dots) noexcept
    double svmx_fused_slack(double gamma, double n_features, double s) noexcept
    int64_t svmx_fused_rbf_row(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma,
                               double slack, float *out, int32_t *doubtful) noexcept
