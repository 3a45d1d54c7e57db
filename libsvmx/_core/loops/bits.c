/* Counts in bit planes, and sums by bits; see bits.h. */
#include "simd.h"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define SVMX_MASKS /* a lane for each bit of a register of masks */
#include <immintrin.h>
#elif defined(__AVX2__)
#define SVMX_BYTES_OF_BITS /* a byte for each bit of a word */
#endif

/* Words of 64 targets that are counted together. */
#define SVMX_WORDS (SVMX_BIT_BLOCK / 64)

/* Planes needed for counts up to n. */
static int svmx_planes_for(int64_t n)
{
    int planes = 0;
    while (((int64_t)1 << planes) <= n)
        ++planes;
    return planes;
}

#ifdef SVMX_MASKS

/* Twice the counts of word w of the planes, as int32: bytes hold those of up to seven planes. */
SVMX_INLINE void svmx_twice(const int n_planes, uint64_t (*masks)[SVMX_WORDS], int w, __m512i *twice)
{
    if (n_planes <= 7) {
        __m512i bytes = _mm512_setzero_si512();
        for (int p = 0; p < n_planes; ++p)
            bytes = _mm512_mask_add_epi8(bytes, masks[p][w], bytes, _mm512_set1_epi8((char)(2 << p)));
        twice[0] = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(bytes));
        twice[1] = _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(bytes, 1));
        twice[2] = _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(bytes, 2));
        twice[3] = _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(bytes, 3));
        return;
    }
    for (int g = 0; g < 4; ++g) {
        twice[g] = _mm512_setzero_si512();
        for (int p = 0; p < n_planes; ++p)
            twice[g] = _mm512_mask_add_epi32(twice[g], (__mmask16)(masks[p][w] >> (16 * g)), twice[g],
                                             _mm512_set1_epi32(2 << p));
    }
}

/* In registers; entries of a table are looked up by permutations, those of 16 targets that are not all among the first 64 one
 * by one. */
SVMX_INLINE void svmx_bit_block(const int n_planes, int64_t n, const int32_t *feature, const uint64_t *columns,
                                int64_t stride, const int32_t *offset, int32_t base, const float *table, int n_table,
                                float *out)
{
    __m512i plane[SVMX_PLANES];
    uint64_t masks[SVMX_PLANES][SVMX_WORDS];
    for (int p = 0; p < n_planes; ++p)
        plane[p] = _mm512_setzero_si512();
    int64_t k = 0;
    for (; k + 2 <= n; k += 2) { /* a full adder for two columns at a time: majority carries, odd parity stays */
        const __m512i x = _mm512_loadu_si512(columns + feature[k] * stride);
        const __m512i y = _mm512_loadu_si512(columns + feature[k + 1] * stride);
        __m512i carry = _mm512_ternarylogic_epi64(plane[0], x, y, 0xE8);
        plane[0] = _mm512_ternarylogic_epi64(plane[0], x, y, 0x96);
        for (int p = 1; p < n_planes; ++p) {
            const __m512i both = _mm512_and_si512(plane[p], carry);
            plane[p] = _mm512_xor_si512(plane[p], carry);
            carry = both;
        }
    }
    if (k < n) {
        __m512i carry = _mm512_loadu_si512(columns + feature[k] * stride);
        for (int p = 0; p < n_planes; ++p) {
            const __m512i both = _mm512_and_si512(plane[p], carry);
            plane[p] = _mm512_xor_si512(plane[p], carry);
            carry = both;
        }
    }
    for (int p = 0; p < n_planes; ++p)
        _mm512_storeu_si512(masks[p], plane[p]);
    const __m512i first = _mm512_set1_epi32(base);
    __m512 quarter[4]; /* of the first 64 entries */
    for (int q = 0; q < 4; ++q)
        quarter[q] = _mm512_loadu_ps(table + 16 * q);
    for (int w = 0; w < SVMX_WORDS; ++w) {
        __m512i twice[4]; /* 2 count of 64 targets, 16 to a register */
        svmx_twice(n_planes, masks, w, twice);
        for (int g = 0; g < 4; ++g) {
            const __m512i from = _mm512_add_epi32(first, _mm512_loadu_si512(offset + 64 * w + 16 * g));
            const __m512i at = _mm512_sub_epi32(from, twice[g]);
            __m512 value;
            if (n_table <= 32) { /* beyond the table all is as its end */
                value = _mm512_permutex2var_ps(quarter[0], _mm512_min_epi32(at, _mm512_set1_epi32(31)), quarter[1]);
            } else if (!_mm512_cmpgt_epu32_mask(at, _mm512_set1_epi32(63))) {
                const __m512 upper = _mm512_permutex2var_ps(quarter[2], at, quarter[3]);
                value = _mm512_permutex2var_ps(quarter[0], at, quarter[1]);
                value = _mm512_mask_mov_ps(value, _mm512_test_epi32_mask(at, _mm512_set1_epi32(32)), upper);
            } else {
                value = _mm512_i32gather_ps(at, table, 4);
            }
            _mm512_storeu_ps(out + 64 * w + 16 * g, value);
        }
    }
}

#elif defined(SVMX_BYTES_OF_BITS)

/* Targets of a register of bits. */
#define SVMX_BITS 256

/* A table by its bytes: byte b of the entries from 16 q on, in both halves of of[q][b]. */
typedef struct {
    __m256i of[4][4];
} svmx_byte_table;

/* Bytes of 16 entries of a table. */
SVMX_INLINE void svmx_bytes_of_table(const float *table, __m256i *of_byte)
{
    const __m128i by_byte = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    __m128i x[4];
    for (int k = 0; k < 4; ++k)
        x[k] = _mm_shuffle_epi8(_mm_castps_si128(_mm_loadu_ps(table + 4 * k)), by_byte);
    const __m128i low_01 = _mm_unpacklo_epi32(x[0], x[1]), low_23 = _mm_unpacklo_epi32(x[2], x[3]);
    const __m128i high_01 = _mm_unpackhi_epi32(x[0], x[1]), high_23 = _mm_unpackhi_epi32(x[2], x[3]);
    of_byte[0] = _mm256_broadcastsi128_si256(_mm_unpacklo_epi64(low_01, low_23));
    of_byte[1] = _mm256_broadcastsi128_si256(_mm_unpackhi_epi64(low_01, low_23));
    of_byte[2] = _mm256_broadcastsi128_si256(_mm_unpacklo_epi64(high_01, high_23));
    of_byte[3] = _mm256_broadcastsi128_si256(_mm_unpackhi_epi64(high_01, high_23));
}

/* Counts of the targets of a register, in planes. */
SVMX_INLINE void svmx_count_bits(const int n_planes, int64_t n, const int32_t *feature, const uint64_t *columns,
                                 int64_t stride, __m256i *plane)
{
    for (int p = 0; p < n_planes; ++p)
        plane[p] = _mm256_setzero_si256();
    for (int64_t k = 0; k < n; k += 2) { /* a full adder for two columns at a time */
        const __m256i x = _mm256_loadu_si256((const __m256i *)(columns + feature[k] * stride));
        const __m256i y = k + 1 < n ? _mm256_loadu_si256((const __m256i *)(columns + feature[k + 1] * stride))
                                    : _mm256_setzero_si256();
        const __m256i either = _mm256_xor_si256(x, y);
        __m256i carry = _mm256_or_si256(_mm256_and_si256(x, y), _mm256_and_si256(either, plane[0]));
        plane[0] = _mm256_xor_si256(plane[0], either);
        for (int p = 1; p < n_planes; ++p) {
            const __m256i both = _mm256_and_si256(plane[p], carry);
            plane[p] = _mm256_xor_si256(plane[p], carry);
            carry = both;
        }
    }
}

/* What some planes say of the counts of 32 targets, in bytes: of targets 0-3, 8-11, 16-19, 24-27, then of the others. In this
 * order packing leaves what 32-bit lanes hold, and unpacking brings it back into theirs. */
SVMX_INLINE __m256i svmx_counts(const int n_planes, uint32_t (*words)[SVMX_BITS / 32], int w)
{
    const __m256i byte = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3));
    const __m256i bit = _mm256_setr_epi32(0x08040201, 0x08040201, 0x08040201, 0x08040201, (int)0x80402010, (int)0x80402010,
                                          (int)0x80402010, (int)0x80402010);
    __m256i counts = _mm256_setzero_si256();
    for (int p = n_planes - 1; p >= 0; --p) {
        const __m256i word = _mm256_shuffle_epi8(_mm256_set1_epi32((int)words[p][w]), byte);
        const __m256i ones = _mm256_cmpeq_epi8(_mm256_and_si256(word, bit), bit); /* -1 each */
        counts = _mm256_sub_epi8(_mm256_add_epi8(counts, counts), ones);
    }
    return counts;
}

/* Places in the table of 16 targets, as int16 in the order of packing, as their counts are. */
SVMX_INLINE __m256i svmx_places(const int32_t *offset, __m256i base, __m256i counts)
{
    const __m256i offsets = _mm256_packs_epi32(_mm256_loadu_si256((const __m256i *)offset),
                                               _mm256_loadu_si256((const __m256i *)(offset + 8)));
    return _mm256_sub_epi16(_mm256_add_epi16(offsets, base), _mm256_add_epi16(counts, counts));
}

/* The entries ``at`` of a table of so many quarters, 16 entries each, whose bytes are looked up and put together. */
SVMX_INLINE void svmx_entries(const int quarters, const svmx_byte_table *table, __m256i at, float *out)
{
    const __m256i odd_quarter = _mm256_slli_epi16(at, 3), upper_half = _mm256_slli_epi16(at, 2); /* by signs of bytes */
    __m256i byte[4];
    for (int b = 0; b < 4; ++b) {
        byte[b] = _mm256_blendv_epi8(_mm256_shuffle_epi8(table->of[0][b], at), _mm256_shuffle_epi8(table->of[1][b], at),
                                     odd_quarter);
        if (quarters > 2)
            byte[b] = _mm256_blendv_epi8(byte[b],
                                         _mm256_blendv_epi8(_mm256_shuffle_epi8(table->of[2][b], at),
                                                            _mm256_shuffle_epi8(table->of[3][b], at), odd_quarter),
                                         upper_half);
    }
    const __m256i a_01 = _mm256_unpacklo_epi8(byte[0], byte[1]), a_23 = _mm256_unpacklo_epi8(byte[2], byte[3]);
    const __m256i b_01 = _mm256_unpackhi_epi8(byte[0], byte[1]), b_23 = _mm256_unpackhi_epi8(byte[2], byte[3]);
    _mm256_storeu_si256((__m256i *)out, _mm256_unpacklo_epi16(a_01, a_23));
    _mm256_storeu_si256((__m256i *)(out + 8), _mm256_unpackhi_epi16(a_01, a_23));
    _mm256_storeu_si256((__m256i *)(out + 16), _mm256_unpacklo_epi16(b_01, b_23));
    _mm256_storeu_si256((__m256i *)(out + 24), _mm256_unpackhi_epi16(b_01, b_23));
}

/* In registers; the entries of a long table one by one, unless those of 32 targets are all among the first 64. */
SVMX_INLINE void svmx_bit_block(const int n_planes, int64_t n, const int32_t *feature, const uint64_t *columns,
                                int64_t stride, const int32_t *offset, int32_t base, const float *table, int n_table,
                                float *out)
{
    const __m256i zero = _mm256_setzero_si256(), first = _mm256_set1_epi16((short)base);
    const int low_planes = n_planes < 8 ? n_planes : 8; /* counts of eight planes fit a byte */
    const int quarters = n_table <= 32 ? 2 : 4;
    svmx_byte_table bytes;
    for (int q = 0; q < quarters; ++q)
        svmx_bytes_of_table(table + 16 * q, bytes.of[q]);
    for (int half = 0; half < SVMX_BIT_BLOCK; half += SVMX_BITS) {
        __m256i plane[SVMX_PLANES];
        uint32_t words[SVMX_PLANES][SVMX_BITS / 32];
        svmx_count_bits(n_planes, n, feature, columns + half / 64, stride, plane);
        for (int p = 0; p < n_planes; ++p)
            _mm256_storeu_si256((__m256i *)words[p], plane[p]);
        for (int w = 0; w < SVMX_BITS / 32; ++w) {
            const int32_t *own = offset + half + 32 * w;
            float *to = out + half + 32 * w;
            const __m256i counts = svmx_counts(low_planes, words, w);
            __m256i count_a = _mm256_unpacklo_epi8(counts, zero), count_b = _mm256_unpackhi_epi8(counts, zero);
            if (n_planes > low_planes) {
                const __m256i above = svmx_counts(n_planes - low_planes, words + low_planes, w);
                count_a = _mm256_or_si256(count_a, _mm256_unpacklo_epi8(zero, above));
                count_b = _mm256_or_si256(count_b, _mm256_unpackhi_epi8(zero, above));
            }
            const __m256i a = svmx_places(own, first, count_a), b = svmx_places(own + 16, first, count_b);
            const __m256i at = _mm256_packus_epi16(a, b);
            if (quarters == 2) /* beyond the table all is as its end */
                svmx_entries(2, &bytes, _mm256_min_epu8(at, _mm256_set1_epi8(31)), to);
            else if (_mm256_testz_si256(at, _mm256_set1_epi8((char)0xC0)))
                svmx_entries(4, &bytes, at, to);
            else {
                int32_t single[32];
                _mm256_storeu_si256((__m256i *)single, _mm256_unpacklo_epi16(a, zero));
                _mm256_storeu_si256((__m256i *)(single + 8), _mm256_unpackhi_epi16(a, zero));
                _mm256_storeu_si256((__m256i *)(single + 16), _mm256_unpacklo_epi16(b, zero));
                _mm256_storeu_si256((__m256i *)(single + 24), _mm256_unpackhi_epi16(b, zero));
                for (int k = 0; k < 32; ++k)
                    to[k] = table[single[k]];
            }
        }
    }
}

#endif

#if defined(SVMX_MASKS) || defined(SVMX_BYTES_OF_BITS)

static void svmx_bit_blocks(int64_t n_blocks, int64_t n, const int32_t *feature, const uint64_t *columns,
                            int64_t stride, const int32_t *offset, int32_t base, const float *table, int n_table,
                            float *out)
{
    for (int64_t b = 0; b < n_blocks; ++b) {
#define SVMX_BLOCK_OF(P)                                                                                               \
    case P:                                                                                                            \
        svmx_bit_block(P, n, feature, columns + b * SVMX_WORDS, stride, offset + b * SVMX_BIT_BLOCK, base, table,   \
                          n_table, out + b * SVMX_BIT_BLOCK);                                                          \
        break;
        switch (svmx_planes_for(n)) {
            SVMX_BLOCK_OF(0)
            SVMX_BLOCK_OF(1)
            SVMX_BLOCK_OF(2)
            SVMX_BLOCK_OF(3)
            SVMX_BLOCK_OF(4)
            SVMX_BLOCK_OF(5)
            SVMX_BLOCK_OF(6)
            SVMX_BLOCK_OF(7)
            SVMX_BLOCK_OF(8)
            SVMX_BLOCK_OF(9)
        default:
            SVMX_BLOCK_OF(10)
        }
#undef SVMX_BLOCK_OF
    }
}

#else

static void svmx_count_planes(int n_planes, int64_t n, const int32_t *feature, const uint64_t *columns, int64_t stride,
                              uint64_t (*SVMX_RESTRICT plane)[SVMX_WORDS])
{
    for (int p = 0; p < n_planes; ++p)
        for (int w = 0; w < SVMX_WORDS; ++w)
            plane[p][w] = 0;
    for (int64_t k = 0; k < n; ++k) {
        const uint64_t *column = columns + feature[k] * stride;
        uint64_t carry[SVMX_WORDS];
        for (int w = 0; w < SVMX_WORDS; ++w)
            carry[w] = column[w];
        for (int p = 0; p < n_planes; ++p)
            for (int w = 0; w < SVMX_WORDS; ++w) {
                const uint64_t both = plane[p][w] & carry[w];
                plane[p][w] ^= carry[w];
                carry[w] = both;
            }
    }
}

/* out[k] = table[base + offset[k] - 2 count[k]] of one block. */
static void svmx_look_up(int n_planes, uint64_t (*SVMX_RESTRICT plane)[SVMX_WORDS], const int32_t *SVMX_RESTRICT offset,
                         int32_t base, const float *table, float *SVMX_RESTRICT out)
{
    int32_t at[SVMX_BIT_BLOCK];
    uint32_t bit[32];
    for (int k = 0; k < 32; ++k)
        bit[k] = (uint32_t)1 << k;
    for (int k = 0; k < SVMX_BIT_BLOCK; ++k)
        at[k] = base + offset[k];
    for (int p = 0; p < n_planes; ++p)
        for (int w = 0; w < 2 * SVMX_WORDS; ++w) {
            const uint32_t half = (uint32_t)(plane[p][w / 2] >> (w % 2 * 32));
            for (int k = 0; k < 32; ++k) /* a mask, not a shift by k, which the baseline has not in vectors */
                at[w * 32 + k] -= (half & bit[k]) != 0 ? 2 << p : 0;
        }
    for (int k = 0; k < SVMX_BIT_BLOCK; ++k)
        out[k] = table[at[k]];
}

static void svmx_bit_blocks(int64_t n_blocks, int64_t n, const int32_t *feature, const uint64_t *columns,
                            int64_t stride, const int32_t *offset, int32_t base, const float *table, int n_table,
                            float *out)
{
    const int n_planes = svmx_planes_for(n);
    (void)n_table;
    for (int64_t b = 0; b < n_blocks; ++b) {
        uint64_t plane[SVMX_PLANES][SVMX_WORDS];
        svmx_count_planes(n_planes, n, feature, columns + b * SVMX_WORDS, stride, plane);
        svmx_look_up(n_planes, plane, offset + b * SVMX_BIT_BLOCK, base, table, out + b * SVMX_BIT_BLOCK);
    }
}

#endif

/* out[t] = table[base + offset[t] - 2 c_t] for t in [0, n_targets), c_t the number of the n features of a row that
 * target t has too.
 * columns: one of ``stride`` words for each feature, offset: an int32 for each target, both up to whole blocks
 * of SVMX_BIT_BLOCK targets; table: of SVMX_TABLE entries or more. If n_table <= 32, no place is beyond it, or all entries from
 * the 32nd on are equal. */
void SVMX_LOOP(bit_row)(int64_t n_targets, int64_t n, const int32_t *feature, const uint64_t *columns, int64_t stride,
                         const int32_t *offset, int32_t base, const float *table, int n_table, float *out)
{
    const int64_t whole = n_targets / SVMX_BIT_BLOCK, rest = n_targets - whole * SVMX_BIT_BLOCK;
    svmx_bit_blocks(whole, n, feature, columns, stride, offset, base, table, n_table, out);
    if (rest != 0) {
        float last[SVMX_BIT_BLOCK];
        svmx_bit_blocks(1, n, feature, columns + whole * SVMX_WORDS, stride, offset + whole * SVMX_BIT_BLOCK, base,
                        table, n_table, last);
        memcpy(out + whole * SVMX_BIT_BLOCK, last, (size_t)rest * sizeof(float));
    }
}

/* ---- columns of one value each ------------------------------------------------------------ */

/* Data of which each feature has one value wherever it is not 0 (0/1 data that was scaled): a product of the row with a
 * target is that of the row with the feature's value, so targets are again one bit a feature.
 * sum[t] = sum over k of value[k] of_feature[feature[k]] where target t has feature[k], in the order of k, for 64 targets;
 * the terms left out are zeros. */
SVMX_INLINE void svmx_column_word(int64_t n, const int32_t *feature, svmx_numbers value, const double *of_feature,
                                  const uint64_t *columns, int64_t stride, double *SVMX_RESTRICT sum,
                                  const int in_float)
{
#ifdef SVMX_MASKS
    __m512d lanes[8];
    for (int j = 0; j < 8; ++j)
        lanes[j] = _mm512_setzero_pd();
    for (int64_t k = 0; k < n; ++k) {
        const uint64_t word = columns[feature[k] * stride];
        const __m512d product = _mm512_set1_pd(svmx_number(value, k, in_float) * of_feature[feature[k]]);
        for (int j = 0; j < 8; ++j)
            lanes[j] = _mm512_mask_add_pd(lanes[j], (__mmask8)(word >> (8 * j)), lanes[j], product);
    }
    for (int j = 0; j < 8; ++j)
        _mm512_storeu_pd(sum + 8 * j, lanes[j]);
#elif defined(SVMX_BYTES_OF_BITS)
    for (int half = 0; half < 64; half += 32, sum += 32) {
        __m256d lanes[8];
        __m256i to_sign[8]; /* shifts by which a target's bit becomes the sign of its lane */
        for (int j = 0; j < 8; ++j) {
            lanes[j] = _mm256_setzero_pd();
            to_sign[j] = _mm256_sub_epi64(_mm256_set1_epi64x(63 - half - 4 * j), _mm256_setr_epi64x(0, 1, 2, 3));
        }
        for (int64_t k = 0; k < n; ++k) {
            const __m256i word = _mm256_set1_epi64x((long long)columns[feature[k] * stride]);
            const __m256d product = _mm256_set1_pd(svmx_number(value, k, in_float) * of_feature[feature[k]]);
            for (int j = 0; j < 8; ++j) {
                const __m256d has = _mm256_castsi256_pd(_mm256_sllv_epi64(word, to_sign[j]));
                lanes[j] = _mm256_add_pd(lanes[j], _mm256_blendv_pd(_mm256_setzero_pd(), product, has));
            }
        }
        for (int j = 0; j < 8; ++j)
            _mm256_storeu_pd(sum + 4 * j, lanes[j]);
    }
#else
    for (int t = 0; t < 64; ++t)
        sum[t] = 0.0;
    for (int64_t k = 0; k < n; ++k) {
        const uint64_t word = columns[feature[k] * stride];
        const double product = svmx_number(value, k, in_float) * of_feature[feature[k]];
        for (int half = 0; half < 2; ++half) {
            const uint32_t bits = (uint32_t)(word >> (32 * half));
            for (int t = 0; t < 32; ++t)
                sum[32 * half + t] += (bits >> t & 1) != 0 ? product : 0.0;
        }
    }
#endif
}

/* sums: 64 doubles for each of n_words words of targets. */
void SVMX_LOOP(column_words)(int64_t n_words, int64_t n, const int32_t *feature, svmx_numbers value,
                             const double *of_feature, const uint64_t *columns, int64_t stride, double *sums)
{
    for (int64_t w = 0; w < n_words; ++w)
        if (value.in_float)
            svmx_column_word(n, feature, value, of_feature, columns + w, stride, sums + 64 * w, 1);
        else
            svmx_column_word(n, feature, value, of_feature, columns + w, stride, sums + 64 * w, 0);
}
