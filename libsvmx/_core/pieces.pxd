cdef extern from "pieces.h" nogil:
    ctypedef struct svmx_piece:
        pass
    ctypedef struct svmx_lock:
        pass

    int svmx_lock_begin(svmx_lock *lock) noexcept
    void svmx_lock_end(svmx_lock *lock) noexcept
    void svmx_take_lock(svmx_lock *lock) noexcept
    void svmx_give_lock(svmx_lock *lock) noexcept
    const float *svmx_piece_there(svmx_piece *piece) noexcept
    int svmx_claim_piece(svmx_piece *piece) noexcept
    void svmx_publish_piece(svmx_piece *piece, const float *values) noexcept
