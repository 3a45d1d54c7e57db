from libc.stdint cimport int16_t, int32_t, int64_t, uint16_t, uint64_t

from libsvmx._core.numbers cimport svmx_numbers

cdef extern from "targets.h" nogil:
    ctypedef struct svmx_loop_table:
        pass
    ctypedef struct svmx_cpu_target:
        const char *name
        const svmx_loop_table *loops
        int (*runs)() noexcept nogil

    enum: SVMX_N_TARGETS
    const svmx_cpu_target svmx_cpu_targets[]

# The loops of this process; in C its name is what the declarations below call.
cdef svmx_loop_table svmx_loops "svmx_loops"

# The families of loops (loops/loops.h).
cdef extern from "loops.h" nogil:
    # bits.h
    enum:
        SVMX_BIT_BLOCK, SVMX_PLANES, SVMX_TABLE
    void svmx_bit_row "svmx_loops.bit_row"(
            int64_t n_targets, int64_t n, const int32_t *feature, const uint64_t *columns, int64_t stride,
            const int32_t *offset, int32_t base, const float *table, int n_table, float *out) noexcept
    void svmx_column_words "svmx_loops.column_words"(
            int64_t n_words, int64_t n, const int32_t *feature, svmx_numbers value, const double *of_feature,
            const uint64_t *columns, int64_t stride, double *sums) noexcept

    # breakpoints.h
    ctypedef struct svmx_waiting:
        int64_t n
        int per_row
        const double *side
        const double *linear
        const double *dlinear
        const double *F
        const double *dF
        double level
        double dlevel
    double svmx_nearest "svmx_loops.nearest"(
            const svmx_waiting *w, double sharpness, double slowest, double nearest) noexcept
    int64_t svmx_fastest "svmx_loops.fastest"(
            const svmx_waiting *w, double nearest, double *speed, double *length) noexcept

    # dense_rows.h
    enum:
        SVMX_NARROW, SVMX_NARROW_ROOM
    void svmx_narrow_gram "svmx_loops.narrow_gram"(
            int64_t q, int64_t n, const double *X, const int64_t *members, const double *weights, double *room,
            double *outer, double *total) noexcept

    # dot_products.h
    enum:
        SVMX_PANEL, SVMX_SOURCES
    void svmx_panel_dots "svmx_loops.panel_dots"(
            int64_t n_panels, int64_t n_features, svmx_numbers panels, int64_t nnz, const int32_t *index,
            svmx_numbers value, double *dots) noexcept
    void svmx_panel_meetings "svmx_loops.panel_meetings"(
            int product, int64_t n_panels, int64_t n_features, svmx_numbers panels, int64_t nnz, const int32_t *index,
            svmx_numbers value, double *sums) noexcept
    void svmx_postings_meetings(
            int product, int64_t n, const uint16_t *place, svmx_numbers x, double v, double *sums) noexcept
    void svmx_postings_axpy(int64_t n, const uint16_t *place, svmx_numbers x, double v, double *dots) noexcept
    void svmx_panel_row_distances "svmx_loops.panel_row_distances"(
            int64_t n_panels, int64_t n_features, const double *panels, int64_t nnz, const int32_t *place,
            const double *value, double *distances) noexcept
    void svmx_postings_distances "svmx_loops.postings_distances"(
            int64_t n, int64_t n_features, const int64_t *start, const uint16_t *place_of, const double *x, int64_t nnz,
            const int32_t *place, const double *value, double *terms, double *distances) noexcept
    void svmx_stream_dots "svmx_loops.stream_dots"(
            int64_t n, const int32_t *rows, const int64_t *ptr, const int32_t *index, svmx_numbers value,
            const double *sources, double *dots) noexcept
    void svmx_panel_block "svmx_loops.panel_block"(
            int64_t n_features, svmx_numbers panels, int64_t begin, const double *sources, int64_t stride,
            double *dots) noexcept
    void svmx_integer_dots "svmx_loops.integer_dots"(
            int64_t n_panels, int64_t n_pairs, const int16_t *panels, const int16_t *row, double *dots) noexcept
    void svmx_integer_block "svmx_loops.integer_block"(
            int64_t n_pairs, const int16_t *panel, const int16_t *sources, int64_t stride, double *dots) noexcept
    void svmx_by_source "svmx_loops.by_source"(int64_t n, const double *dots, int64_t stride, double *out) noexcept

    # interior_steps.h
    enum:
        SVMX_ALPHA, SVMX_U, SVMX_XI, SVMX_S, SVMX_Z, SVMX_POINT, SVMX_R_S, SVMX_R_U, SVMX_Y_ALPHA, SVMX_INVERSE
        SVMX_SIGNED, SVMX_VALUES
    void svmx_interior_residuals "svmx_loops.interior_residuals"(
            int64_t n, const double *y, const double *upper, const double *linear, double rho, double *values,
            double *largest) noexcept
    void svmx_interior_right_side "svmx_loops.interior_right_side"(
            int64_t n, const double *y, const double *values, const double *corrections, double *out) noexcept
    double svmx_interior_direction "svmx_loops.interior_direction"(
            int64_t n, const double *y, const double *values, const double *corrections, double drho,
            double *direction) noexcept
    void svmx_interior_corrector "svmx_loops.interior_corrector"(
            int64_t n, const double *values, const double *direction, double sigma_mu, double *corrections) noexcept
    void svmx_interior_move "svmx_loops.interior_move"(
            int64_t n, double step, const double *x, const double *d, double *out) noexcept

    # kernel_functions.h
    enum:
        SVMX_GIVEN
        SVMX_PRODUCT
        SVMX_DISTANCE
        SVMX_COSINE
        SVMX_TANIMOTO
        SVMX_DOT
        SVMX_MINIMA
        SVMX_HARMONIC
    double svmx_meeting(int product, double u, double v) noexcept
    ctypedef struct svmx_kernel:
        const svmx_kernel_function *function
        int degree
        double gamma
        double coef0
    ctypedef struct svmx_kernel_function:
        const char *name
        int argument
        int product
        void (*values)(int64_t n, const svmx_kernel *kernel, double *t) noexcept nogil
        int in_lanes
        int one_pass
        void (*about)(int64_t n, const svmx_kernel *kernel, double *t) noexcept nogil
        double (*about_error)(double n, const svmx_kernel *kernel, double reach) noexcept nogil
    const svmx_kernel_function *svmx_kernel_function_of "svmx_loops.kernel_function"(int kind) noexcept
    double svmx_kernel_value "svmx_loops.kernel_value"(const svmx_kernel *kernel, double t) noexcept
    double svmx_kernel_with_itself "svmx_loops.kernel_with_itself"(const svmx_kernel *kernel, double square) noexcept
    void svmx_kernel_arguments "svmx_loops.kernel_arguments"(
            int64_t n, const svmx_kernel *kernel, const double *squares, double square, double *t) noexcept
    void svmx_tanimoto_row "svmx_loops.tanimoto_row"(
            int64_t n, float ones, const float *ones_of, float *values) noexcept
    void svmx_kernel_row "svmx_loops.kernel_row"(
            int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares, double square,
            float *out) noexcept
    void svmx_kernel_doubles "svmx_loops.kernel_doubles"(
            int64_t n, const svmx_kernel *kernel, const double *dots, const double *squares, double square,
            double *out) noexcept

    # rbf.h
    enum:
        SVMX_RBF_TILE, SVMX_RBF_BLOCK
    ctypedef struct svmx_targets:
        pass
    ctypedef struct svmx_source:
        bint close
    svmx_targets svmx_rbf_targets(int64_t n_features, svmx_numbers panels, const int32_t *rows, const double *squares,
                                  double gamma) noexcept
    bint svmx_rbf_source(const svmx_targets *targets, double square, double largest, svmx_source *source) noexcept
    int64_t svmx_rbf_one "svmx_loops.rbf_one"(
            const svmx_targets *targets, int64_t begin, int64_t n, int64_t nnz, const int32_t *index,
            svmx_numbers value, svmx_source source, float *out, int32_t *doubtful) noexcept
    void svmx_rbf_block "svmx_loops.rbf_block"(
            const svmx_targets *targets, int64_t begin, int64_t n, int count, const double *rows,
            const svmx_source *sources, float **out, int64_t *n_doubtful, int32_t *doubtful) noexcept

    # shapley.h
    enum:
        SVMX_GAMES
    void svmx_shapley_of_products "svmx_loops.shapley_of_products"(
            int64_t n, int64_t n_nodes, const double *node, const double *weight, const double *p, const double *q,
            double *before, double *phi) noexcept

    # smo_steps.h
    enum:
        SVMX_SPAN, SVMX_PER_TOP, SVMX_REPLAY
    double SVMX_TAU
    void svmx_gather "svmx_loops.gather"(int64_t n, const float *row, const int32_t *index, float *out) noexcept
    void svmx_axpy_row "svmx_loops.axpy_row"(int64_t n, double a, const float *K, double *V) noexcept
    void svmx_axpy_rows "svmx_loops.axpy_rows"(
            int64_t n, int64_t count, const double *a, const float **K, int64_t first, double *V) noexcept
    int64_t svmx_max_violator "svmx_loops.max_violator"(int64_t n, double *V, const float *up, double *maximum) noexcept
    int64_t svmx_update_max_violator "svmx_loops.update_max_violator"(
            int64_t n, double *V, const float *Ki, const float *Kj, double dbeta_i, double dbeta_j, const float *up,
            double *maximum) noexcept
    int64_t svmx_conjugate_max_violator "svmx_loops.conjugate_max_violator"(
            int64_t n, double *V, const float *Ki, const float *Kj, double gamma, double step, double *Kd, const float *up,
            double *maximum) noexcept
    int svmx_move_inside "svmx_loops.move_inside"(
            int64_t n, double step, const double *d, const double *alpha, const double *C, double *moved) noexcept
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
    void svmx_interleave "svmx_loops.interleave"(int64_t n, int64_t stride, const float *rows, int64_t between,
                                                        float *out) noexcept
    void svmx_replay "svmx_loops.replay"(
            int64_t n, const int32_t *source, const double *coef, const float *K, double *scores) noexcept

    # subproblem_steps.h
    enum:
        SVMX_LEAF_PAD
    int64_t svmx_leaf_move "svmx_loops.leaf_move"(
            int64_t n, float *V, const float *Ki, const float *Kj, float step, const float *up, float *top) noexcept
    int64_t svmx_leaf_partner "svmx_loops.leaf_partner"(
            int64_t n, const float *V, const float *low, const float *row, const float *diagonal, float own, float top,
            float *gain, float *widest) noexcept

    # test_panels.h
    enum:
        SVMX_TESTS, SVMX_VECTORS, SVMX_LINE
    double *svmx_aligned(double *p) noexcept
    ctypedef struct svmx_vectors:
        const int64_t *ptr
        const int32_t *index
        svmx_numbers value
        int regular
    void svmx_panel_distances "svmx_loops.panel_distances"(
            const svmx_vectors *vectors, int64_t begin, int64_t end, int64_t n_slots, const int32_t *slot_feature,
            const double *panel, const double *squares, double *out) noexcept
    void svmx_panel_products "svmx_loops.panel_products"(
            const svmx_vectors *vectors, int64_t begin, int64_t end, const int32_t *slot_of, const double *panel,
            const double *square_z, const double *square_x, double *out) noexcept
    void svmx_test_meetings "svmx_loops.test_meetings"(
            int product, const svmx_vectors *vectors, int64_t begin, int64_t end, const int32_t *slot_of,
            const double *panel, double *out) noexcept
    void svmx_panel_table "svmx_loops.panel_table"(int64_t n, const double *table, double *values) noexcept
    void svmx_weighted_sum "svmx_loops.weighted_sum"(
            int64_t n, const double *coef, const double *values, double *sum) noexcept
    void svmx_weighted_lines "svmx_loops.weighted_lines"(
            int64_t n, int64_t lines, const double *coef, int64_t stride, const double *values, double *sum) noexcept

    # vectors.h
    enum:
        SVMX_TOGETHER
    double svmx_sum "svmx_loops.sum"(int64_t n, const double *x) noexcept
    double svmx_dot "svmx_loops.dot"(int64_t n, const double *x, const double *y) noexcept
    void svmx_dot_two "svmx_loops.dot_two"(
            int64_t n, const double *x, const double *y, const double *z, double *xy, double *xz) noexcept
    void svmx_axpy "svmx_loops.axpy"(int64_t n, double a, const double *x, double *y) noexcept
    void svmx_axpy_two "svmx_loops.axpy_two"(
            int64_t n, double a, double b, const double *x, double *y, double *z) noexcept
    void svmx_add_rows "svmx_loops.add_rows"(
            int64_t n, int64_t count, const double *coef, const double **rows, int64_t begin, double *out) noexcept
    void svmx_add_float_rows "svmx_loops.add_float_rows"(
            int64_t n, int64_t count, const double *coef, const float **rows, int64_t begin, double *out) noexcept
    void svmx_rotate "svmx_loops.rotate"(int64_t n, double c, double s, double *column, double *x) noexcept
