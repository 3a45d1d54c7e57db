"""The generator behind C's rand() in glibc, so that folds are LIBSVM's on every platform.

It is an additive feedback generator, x_n = x_{n-3} + x_{n-31} mod 2^32, whose output is
x_n >> 1. The 31 words are seeded by Lehmer's x -> 16807 x mod (2^31 - 1) and the first
310 outputs are thrown away.
"""

from libc.stdint cimport int32_t, int64_t, uint32_t


cdef class Rand:
    """Rand(seed=1): the stream that C's ``srand(seed)`` starts; 1 is also what a program has that never seeds."""

    def __cinit__(self, uint32_t seed=1):
        cdef int i
        cdef int64_t word = <int32_t>(seed if seed != 0 else 1)
        self.state[0] = <int32_t>word
        for i in range(1, 31):
            # C division truncates, so a negative seed gives a negative remainder first
            word = 16807 * (word % 127773) - 2836 * (word / 127773)
            if word < 0:
                word += 2147483647
            self.state[i] = <int32_t>word
        self.front, self.rear = 3, 0
        for i in range(310):
            self.next()

    def copy(self):
        """Another one, which goes on from here as this one does."""
        cdef Rand other = Rand.__new__(Rand)
        other.state[:] = self.state[:]
        other.front, other.rear = self.front, self.rear
        return other

    cdef int next(self) noexcept nogil:
        cdef uint32_t value = <uint32_t>self.state[self.front] + <uint32_t>self.state[self.rear]
        self.state[self.front] = <int32_t>value
        self.front = self.front + 1 if self.front < 30 else 0
        self.rear = self.rear + 1 if self.rear < 30 else 0
        return <int>(value >> 1)

    def draw(self):
        """The next value, 0 <= value < 2^31."""
        return self.next()
