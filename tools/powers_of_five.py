"""Write the C header of 128-bit powers of five for the conversion of decimal numbers.

Row q holds the 128 leading bits of 5^q, as two 64-bit halves: D. Lemire, "Number parsing at a gigabyte per second",
2021, section 5. They are truncated, except where the reciprocal 5^-q fits 64 bits (q >= -27): there they are rounded
up, so that integer products come out as integers.

Usage: python tools/powers_of_five.py > powers_of_five.h        the build does so
"""

LEAST = -342  # w * 10^-343 < 2^64 * 10^-343 is less than half of the smallest double, 2^-1074
GREATEST = 308  # 10^309 exceeds the largest double


def leading_bits(q: int) -> int:
    """The 128 leading bits of 5^q."""
    power = 5 ** abs(q)
    if q >= 0:
        shift = 128 - power.bit_length()
        return power << shift if shift >= 0 else power >> -shift
    # 2^(n-1) < 5^-q < 2^n, so that 2^(n+127) / 5^-q has 128 bits
    return 2 ** (power.bit_length() + 127) // power + (q >= -27)


def header() -> str:
    """The C source."""
    rows = [divmod(leading_bits(q), 2**64) for q in range(LEAST, GREATEST + 1)]
    return "\n".join(
        [
            "/* Made by tools/powers_of_five.py. */",
            "#include <stdint.h>",
            f"#define SVMX_LEAST_POWER ({LEAST})",
            f"#define SVMX_GREATEST_POWER {GREATEST}",
            f"static const uint64_t svmx_power_of_five[{len(rows)}][2] = {{",
            *[f"    {{0x{high:016x}u, 0x{low:016x}u}}," for high, low in rows],
            "};",
        ]
    )


if __name__ == "__main__":
    print(header())
