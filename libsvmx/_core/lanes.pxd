from libc.stdint cimport int32_t, int64_t, uint16_t

cdef extern from "lanes.h" nogil:
    enum: SVMX_PANEL

    double svmx_exp(double x) noexcept
    double svmx_powi(double base, int times) noexcept

    void svmx_panel_dots(int64_t n_panels, int64_t n_features, const double *panels, int64_t nnz,
                         const int32_t *index, const double *value, double *dots) noexcept
    void svmx_postings_axpy(int64_t n, const uint16_t *place, const double *x, double v, double *dots) noexcept

    void svmx_linear_row(int64_t n, const double *dots, float *out) noexcept
    void svmx_poly_row(int64_t n, const double *dots, double gamma, double coef0, int degree, float *out) noexcept
    void svmx_sigmoid_row(int64_t n, const double *dots, double gamma, double coef0, float *out) noexcept
