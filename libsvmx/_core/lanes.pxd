from libc.stdint cimport int32_t, int64_t

cdef extern from "lanes.h" nogil:
    enum: SVMX_PANEL
    enum: SVMX_CHUNK
    double SVMX_TAU

    double svmx_exp(double x) noexcept
    double svmx_powi(double base, int times) noexcept

    void svmx_panel_dots(int64_t n_panels, int64_t n_features, const double *panels, int64_t nnz,
                         const int32_t *index, const double *value, double *dots) noexcept
    void svmx_postings_axpy(int64_t n, const int32_t *row, const double *x, double v, double *dots) noexcept

    void svmx_rbf_row(int64_t n, const double *dots, const double *sq, double sq_i, double neg_gamma, float *out) noexcept
    void svmx_linear_row(int64_t n, const double *dots, float *out) noexcept
    void svmx_poly_row(int64_t n, const double *dots, double gamma, double coef0, int degree, float *out) noexcept
    void svmx_sigmoid_row(int64_t n, const double *dots, double gamma, double coef0, float *out) noexcept
    void svmx_gather(int64_t n, const float *row, const int32_t *index, float *out) noexcept

    void svmx_update_scores(int64_t n, double *V, const float *Ki, const float *Kj, double dbeta_i, double dbeta_j) noexcept
    void svmx_axpy_row(int64_t n, double a, const float *K, double *V) noexcept
    int64_t svmx_top(int64_t n, const double *V, const float *up, double *chunk, double *maximum) noexcept
    int64_t svmx_partner(int64_t n, const double *V, const float *low, const double *QD, const float *Ki, double Vmax,
                         double QD_i, double *chunk, double *largest, double *least) noexcept
