from libc.stdint cimport int32_t, int64_t

cimport libsvmx._core.dispatch  # for svmx_loops

cdef extern from "loops.h" nogil:
    enum: SVMX_SPAN
    enum: SVMX_PER_TOP
    enum: SVMX_REPLAY
    double SVMX_TAU

    void svmx_gather "svmx_loops.gather"(int64_t n, const float *row, const int32_t *index, float *out) noexcept
    void svmx_axpy_row "svmx_loops.axpy_row"(int64_t n, double a, const float *K, double *V) noexcept
    void svmx_axpy_rows "svmx_loops.axpy_rows"(
            int64_t n, int64_t count, const double *a, const float **K, int64_t first, double *V) noexcept
    int64_t svmx_max_violator "svmx_loops.max_violator"(int64_t n, double *V, const float *up, double *maximum) noexcept
    int64_t svmx_update_max_violator "svmx_loops.update_max_violator"(
            int64_t n, double *V, const float *Ki, const float *Kj, double dbeta_i, double dbeta_j, const float *up,
            double *maximum) noexcept
    ctypedef struct svmx_pairing:
        const double *V
        const double *QD
        const float *low
        const float *K
        double Vmax
        double QD_i
        bint unit
    int64_t svmx_partner "svmx_loops.partner"(
            const svmx_pairing *pair, int64_t n, double eps, float *tops, double *largest, double *gap) noexcept
    void svmx_axpy_at "svmx_loops.axpy_at"(
            int64_t n, double a, const float *K, const int32_t *at, double *scores) noexcept
    void svmx_interleave "svmx_loops.interleave"(int64_t n, int64_t stride, const float *rows, float *out) noexcept
    void svmx_replay "svmx_loops.replay"(
            int64_t n, const int32_t *source, const double *coef, const float *K, double *scores) noexcept
