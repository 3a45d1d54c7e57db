"""Decimal numbers against float(), which rounds correctly: hard cases of rounding, and unusual spellings."""

import math
import struct
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from libsvmx.io.textparse import parse_data
from support.examples import examples

from libsvmx.exceptions import FormatError

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import powers_of_five

LEAST, GREATEST = 2.0**-1074, sys.float_info.max


def values_of(tokens):
    """The parser's value of each token."""
    text = "1" + "".join(f" {k}:{token}" for k, token in enumerate(tokens, 1)) + "\n"
    return list(parse_data(text.encode(), "name")[0].values)


def agree(tokens):
    """Assert that each token, with either sign, is read as by float(); bits, so that -0.0 differs from 0.0."""
    expected = {sign + token: float(sign + token) for token in tokens for sign in ("", "-", "+")}
    finite = [token for token, value in expected.items() if math.isfinite(value)]
    read = dict(zip(finite, values_of(finite), strict=True))
    wrong = [token for token in finite if struct.pack("d", read[token]) != struct.pack("d", expected[token])]
    assert not wrong
    for token in expected.keys() - read.keys():
        with pytest.raises(FormatError, match="number is out of range"):
            values_of([token])


def decimal(value, places=None):
    """All digits of a Fraction whose denominator is a power of two, with and without an exponent."""
    places = value.denominator.bit_length() - 1
    digits = str(value.numerator * 10**places // value.denominator)
    padded = digits.zfill(places + 1)
    return [f"{digits}e-{places}", f"{padded[:-places]}.{padded[-places:]}" if places else digits]


def neighbours(tokens):
    """Each token, and its neighbours just below and above."""
    for token in tokens:
        mantissa, _, exponent = token.partition("e")
        tail = f"e{exponent}" if exponent else ""
        point = "" if "." in mantissa else "."
        last = mantissa.rstrip("0.")
        yield token
        yield f"{mantissa}{point}{'0' * 30}1{tail}"
        if last and last[-1].isdigit():
            yield f"{last[:-1]}{int(last[-1]) - 1}{mantissa[len(last) :].replace('0', '9')}{point}{'9' * 30}{tail}"


positive = st.integers(1, 0x7FEFFFFFFFFFFFFF).map(lambda bits: struct.unpack("d", struct.pack("Q", bits))[0])
moderate = st.builds(math.ldexp, st.integers(2**52, 2**53 - 1).map(float), st.integers(-120, 30))
subnormal = st.integers(1, 2**52 + 100).map(lambda bits: bits * LEAST)


@examples(400)
@given(st.one_of(positive, moderate, subnormal))
@example(LEAST)
@example(2.0**-1022)
@example(math.nextafter(2.0**-1022, 0))
@example(1.0)
@example(2.0**53)
def test_half_way_between_two_doubles(value):
    half = (Fraction(value) + Fraction(math.nextafter(value, math.inf))) / 2 if value < GREATEST else Fraction(value)
    agree(neighbours([*decimal(half), *decimal(Fraction(value))]))


def test_half_way_to_zero_and_to_infinity():
    agree(neighbours(decimal(Fraction(LEAST) / 2)))
    agree(neighbours(decimal(Fraction(GREATEST) + Fraction(2) ** 970)))


@examples(400)
@given(st.one_of(positive, moderate, subnormal), st.integers(0, 40))
def test_doubles_written_with_any_precision(value, precision):
    agree([repr(value), f"{value:.{precision}e}", f"{value:.17g}", f"{value:.8g}", f"{value:.800g}"])


@examples(300)
@given(st.lists(st.tuples(st.integers(0, 2**64 - 1), st.integers(-400, 400)), min_size=20, max_size=60))
def test_any_64_bits_with_any_power_of_ten(pairs):
    agree([f"{w}e{q}" for w, q in pairs])


@pytest.mark.parametrize("w", [1, 9, 10**15, 2**53 - 1, 2**53, 2**53 + 1, 10**19 - 1, 2**63, 2**64 - 1, 2**64])
def test_all_powers_of_ten(w):
    agree([f"{w}e{q}" for q in range(-365, 312)])


digits = st.integers(17, 800).flatmap(lambda n: st.text("0123456789", min_size=n, max_size=n))


@examples(300)
@given(digits, st.integers(0, 800), st.integers(-1200, 400), st.integers(0, 30))
@example("0" * 17, 5, 10, 0)
@example("1" + "0" * 400, 0, 0, 0)
@example("9" * 800, 800, 0, 30)
def test_many_digits(digits, point, exponent, zeros):
    before, behind = digits[:point], digits[point:]
    agree([f"{'0' * zeros}{before}.{behind}e{exponent}", f"{'0' * zeros}{before}.{behind}", f".{'0' * zeros}{digits}"])


def test_lengths_around_eight_and_nineteen_digits():
    tokens = []
    for n in range(1, 42):
        for first in "0159":
            whole = (first + "1234567890" * 5)[:n]
            tokens += [
                whole,
                f"{whole}.",
                f"0.{whole}",
                f".{whole}",
                f"{whole}.{whole}",
                f"{whole}e-{n}",
                f"000{whole}E+1",
            ]
    agree(tokens)


def test_signs_zeros_and_exponents():
    agree(
        [
            *["0", "0.0", ".0", "0.", "00", "0e5", "0e-400", "0e400", "0.0e999999999999999999999", "1e-400", "1e400"],
            *["1e+5", "1E5", "1e05", "1e-05", "1e0000000000000000000000000000007", "1e-999999999999999999999999999"],
            *["2e-324", "3e-324", "2.4703282292062327e-324", "2.4703282292062328e-324", "5e-324", "4.9e-324"],
            *["2.2250738585072011e-308", "2.2250738585072014e-308", "1.7976931348623157e308", "1.7976931348623159e308"],
            *["9007199254740993", "9007199254740992.9999999999", "9007199254740993.0000000000000000000000000000001"],
            *["1e22", "1e23", "8.5e22", "9e-23", "123456789012345678e-22", "7.2057594037927933e16", "1e-7", "0.3"],
            *["0." + "0" * 400 + "1e401", "1" + "0" * 400 + "e-400", "1" + "0" * 400, "0." + "0" * 400 + "1"],
        ]
    )


@pytest.mark.parametrize(
    "token",
    [".", "-", "+", "e5", ".e5", "1e", "1e+", "1e-", "--1", "+-1", "1.2.3", "1e5.5", "1e5e5", "1_0", "0x", "1f"],
)
def test_what_is_no_number(token):
    with pytest.raises(FormatError, match="value is not a number"):
        values_of([token])


def test_the_table_holds_the_leading_bits_of_powers_of_five():
    for q in range(powers_of_five.LEAST, powers_of_five.GREATEST + 1):
        bits = powers_of_five.leading_bits(q)
        assert bits.bit_length() == 128
        # bits * 2^s <= 5^q < (bits + 1) * 2^s for an integer s; one less for rounded-up rows
        power = Fraction(5) ** q
        below = Fraction(bits - (-27 <= q < 0))
        s = power.numerator.bit_length() - power.denominator.bit_length() - 128
        shifts = [
            s + d for d in (-1, 0, 1) if below * Fraction(2) ** (s + d) <= power < (below + 1) * Fraction(2) ** (s + d)
        ]
        assert len(shifts) == 1
