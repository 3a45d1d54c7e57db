"""Arbitrary and mutated bytes: only the documented errors; and numbers that survive writing and reading."""

import math
import re
import struct

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from libsvmx.io.textparse import parse_data
from libsvmx.io.textwrite import numbers_text, vectors_text
from support.data import from_rows
from support.examples import examples

from libsvmx._core.buffers import filled
from libsvmx._train.prediction import predict as predict_rows
from libsvmx.cli import predict, train
from libsvmx.cli.process import guarded
from libsvmx.exceptions import DataError, FormatError
from libsvmx.io.files import read_bytes
from libsvmx.io.modelfile import load_model, model_text
from libsvmx.io.svmlight import read_data, write_data


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


# ---------------------------------------------------------------- generators

doubles = st.floats(allow_nan=False, allow_infinity=False)
# a third of them from raw bits, so that all exponents occur
finite = st.one_of(
    doubles,
    st.integers(-(2**31), 2**31).map(float),
    st.integers(0, 2**64 - 1).map(lambda n: struct.unpack("d", struct.pack("Q", n))[0]).filter(math.isfinite),
)
rows = st.lists(
    st.dictionaries(st.one_of(st.integers(0, 20), st.integers(0, 2**31 - 1)), finite, max_size=6).map(
        lambda pairs: sorted(pairs.items())
    ),
    max_size=6,
)
decimals = st.from_regex(r"[+-]?([0-9]{1,25}\.?[0-9]{0,25}|\.[0-9]{1,25})([eE][+-]?[0-9]{1,4})?", fullmatch=True)
FRAGMENTS = [
    *["1", "-1", "0", "2", "10", ":", " ", " ", "\t", "\n", "\n", "1:1", "2:0.5", "3:-1e-3", "+", "-", ".", "e5", "#"],
    *["\r\n", "\r", "\0", "nan", "inf", "0x1p3", "1e999", "2147483647:", "2147483648:1", "4294967297:1", "qid:1", ","],
    *["\N{ARABIC-INDIC DIGIT THREE}", "18446744073709551616", "1e-400", "_", "\v", "99999999999999999999", "x"],
]
fragments = st.lists(st.sampled_from(FRAGMENTS), max_size=25).map(lambda parts: "".join(parts).encode())
DATA = b"1 1:0.5 3:2\n-1 2:-1.5 # note\n1\r\n2 1: 1e-3 4:7\n"
MODEL = b"""\
svm_type c_svc
kernel_type polynomial
degree 3
gamma 0.5
coef0 1
nr_class 3
total_sv 4
rho 0.25 0.5 -0.125
label 1 -1 7
probA -1 -2 -3
probB 0 0.5 1
nr_sv 2 1 1
SV
1 0.5 1:0.5 2:1 
0.5 0 1:-0.5 
-1.5 1 2:-1 
0.25 -1 1:3 3:1 
"""  # noqa: W291
MODELS = [
    MODEL,
    b"svm_type epsilon_svr\nkernel_type rbf\ngamma 2\nnr_class 2\ntotal_sv 2\nrho 1\nprobA 2\nSV\n1 1:1 \n-1 3:1 \n",
    b"svm_type one_class\nkernel_type sigmoid\ngamma 2\ncoef0 0\nnr_class 2\ntotal_sv 1\nrho 1\n"
    b"prob_density_marks 1 2 3 4 5 6 7 8 9 10\nSV\n1 1:1 \n",
    b"svm_type nu_svc\nkernel_type precomputed\nnr_class 2\ntotal_sv 2\nrho 0\nlabel 1 -1\nnr_sv 1 1\n"
    b"SV\n1 0:1 \n-1 0:3 \n",
]
WORDS = [*FRAGMENTS, "total_sv 5", "nr_class 2", "SV\n", "-3", "65537", "2147483647", "rho", "label", "nr_sv", "0:0"]


@st.composite
def mutated(draw, originals, words):
    """One of the originals after up to five deletions, insertions, replacements or repetitions."""
    text = bytearray(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(0, 5))):
        begin = draw(st.integers(0, len(text)))
        end = draw(st.integers(begin, min(len(text), begin + 12)))
        kind = draw(st.sampled_from(["delete", "insert", "replace", "repeat", "cut", "swap lines", "bits"]))
        if kind == "delete":
            del text[begin:end]
        elif kind == "insert":
            text[begin:begin] = draw(st.sampled_from(words)).encode()
        elif kind == "replace":
            text[begin:end] = draw(st.sampled_from(words)).encode()
        elif kind == "repeat":
            text[begin:end] = text[begin:end] * draw(st.integers(2, 4))
        elif kind == "cut":
            del text[begin:]
        elif kind == "swap lines":
            lines = bytes(text).splitlines(keepends=True)
            text = bytearray(b"".join(draw(st.permutations(lines))))
        elif end > begin:
            text[begin] ^= 1 << draw(st.integers(0, 7))
    return bytes(text)


texts = st.one_of(st.binary(max_size=60), fragments, mutated([DATA], FRAGMENTS))
model_texts = st.one_of(mutated(MODELS, WORDS), fragments)

# ---------------------------------------------------------------- no crash, no other error


@examples(2000)
@given(texts, st.booleans(), st.booleans())
@example(b"1 1:1e400\n", False, False)
@example(b"1 1:", False, False)
@example(b"\xef\xbb\xbf", False, False)
def test_any_bytes_are_data_or_a_format_error(text, lenient, unlabeled):
    try:
        matrix, targets, line_numbers, blank_from = parse_data(text, "name", lenient, unlabeled)
    except FormatError as error:
        assert 1 <= error.line <= text.count(b"\n") + 1
        assert 0 <= error.column <= len(text) + 1
        return
    assert len(targets) == len(line_numbers) == matrix.n_rows
    assert all(math.isfinite(v) for v in [*matrix.values, *targets])
    assert list(line_numbers) == sorted(set(line_numbers))
    assert all(1 <= n <= text.count(b"\n") + 1 for n in line_numbers)
    assert 0 <= blank_from <= text.count(b"\n") + 1


HEXADECIMAL = r"0[xX](?:[0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)(?:[pP][+-]?[0-9]+)?"
DECIMAL = r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
NUMBER = rf"[+-]?(?:{HEXADECIMAL}|{DECIMAL})"
BLANK = r"[ \t\v\f]"
PAIRS = rf"(?:{BLANK}+\+?[0-9]+:{BLANK}*{NUMBER})*"
COMMENT = r"(?:#[^\r\0]*)?"
LINE = re.compile(rf"{BLANK}*({NUMBER})({PAIRS}){BLANK}*{COMMENT}\r?")
PAIR = re.compile(rf"\+?([0-9]+):{BLANK}*({NUMBER})")


def number_of(token):
    try:
        value = float.fromhex(token) if "x" in token.lower() else float(token)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def reference(text):
    """Rows of a data file by regular expressions, or None if it is malformed."""
    text = text.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    result = []
    lines = text.split("\n")
    while lines and not lines[-1].removesuffix("\r").strip(" \t\v\f"):
        lines.pop()
    for line in lines:
        found = LINE.fullmatch(line)
        if not found:
            return None
        pairs = [(int(index), number_of(value)) for index, value in PAIR.findall(found[2])]
        indices = [index for index, _ in pairs]
        numbers = [number_of(found[1]), *(value for _, value in pairs)]
        if None in numbers or indices != sorted(set(indices)) or indices[-1:] > [2**31 - 1]:
            return None
        result.append((numbers[0], pairs))
    return result


@examples(3000)
@given(texts)
@example(b"1 1:18446744073709551616\n")
@example(b"1 1:0.018446744073709551616\n")
@example(b"1 1:36893488147419103232e-22\n")
@example(b"1#2 3:4\n5 6:0x.8#7:8\n")
def test_data_is_what_a_grammar_of_regular_expressions_says(text):
    try:
        matrix, targets, *_ = parse_data(text, "name")
        read = [(y, matrix.row(i)) for i, y in enumerate(targets)]
    except FormatError:
        read = None
    if text.startswith((b"\xff\xfe", b"\xfe\xff")):
        assert read is None
    else:
        assert repr(read) == repr(reference(text))


def test_the_reference_grammar_is_not_degenerate():
    assert reference(DATA) == [
        (1.0, [(1, 0.5), (3, 2.0)]),
        (-1.0, [(2, -1.5)]),
        (1.0, []),
        (2.0, [(1, 1e-3), (4, 7.0)]),
    ]
    assert reference(b"1 1:x\n") is None


@pytest.mark.filterwarnings("ignore:.*(does not end with a newline|blank line before the model)")
@examples(1500)
@given(model_texts)
def test_any_bytes_are_a_model_or_a_format_error(place, text):
    path = place / "model"
    path.write_bytes(text)
    try:
        model = load_model(str(path))
    except FormatError as error:
        assert 0 <= error.line <= text.count(b"\n") + 1
        return
    written = model_text(model)
    path.write_bytes(written)
    assert model_text(load_model(str(path))) == written
    tests = from_rows([[(1, 0.5), (3, 1.0)], [], [(0, 1.0), (1, 1.0), (2, 0.0), (3, 2.0)]])
    for i in range(3):
        try:
            labels, values = predict_rows(model, tests, filled("i", [i]))
        except DataError:
            assert model.param.kernel_type == 4
            continue
        assert len(labels) == 1
        assert len(values) == model.nr_class * (model.nr_class - 1) // 2
        if model.class_labels:
            assert labels[0] in model.class_labels


@examples(400)
@given(texts, model_texts, st.sampled_from([[], ["-b", "1"], ["--unlabeled"], ["--lenient", "-q"]]))
@example(DATA, MODEL, ["-b", "1"])
def test_predict_ends_with_0_or_1_and_writes_all_or_nothing(place, text, model, options):
    files = {name: place / f"predict.{name}" for name in ("data", "model", "output")}
    files["data"].write_bytes(text)
    files["model"].write_bytes(model)
    files["output"].write_bytes(b"kept")
    code = guarded("svmx-predict", predict.main, predict.USAGE, [*options, *map(str, files.values())])
    output = files["output"].read_bytes()
    if code:
        assert (code, output) == (1, b"kept")
    else:
        read = read_data(str(files["data"]), lenient="--lenient" in options, unlabeled="--unlabeled" in options)
        assert output.count(b"\n") - output.count(b"label") == read.matrix.n_rows


@examples(300)
@given(
    texts,
    st.sampled_from(["", "-s 1", "-s 2", "-s 3", "-s 4", "-t 0", "-t 1", "-t 3", "-t 4", "-b 1", "-w1 0", "-v 2"]),
)
def test_train_ends_with_0_or_1_and_its_model_loads(place, text, options):
    data, model = place / "train.data", place / "train.model"
    data.write_bytes(text)
    model.write_bytes(b"kept")
    args = ["-q", "--max-iter", "1000", *options.split(), str(data), str(model)]
    code = guarded("svmx-train", train.main, train.USAGE, args)
    if code or "-v" in options:
        assert code in (0, 1)
        assert model.read_bytes() == b"kept"
    else:
        assert model_text(load_model(str(model))) == model.read_bytes()
    assert not list(place.glob(".*"))


@examples(300)
@given(
    st.sampled_from([b"\x1f\x8b", b"\x1f\x8b\x08\0", b"\xfd7zXZ\0", b"BZh91AY&SY", b"BZh9\x17rE8P\x90"]),
    st.binary(max_size=40),
)
def test_any_compressed_bytes_are_a_file_or_a_format_error(place, magic, rest):
    path = place / "packed"
    path.write_bytes(magic + rest)
    try:
        read_bytes(str(path))
    except FormatError as error:
        assert "damaged compressed file" in error.cause


# ---------------------------------------------------------------- numbers


def value_of(token):
    """The parser's value of a feature, or None if it is out of range."""
    try:
        matrix, *_ = parse_data(b"1 1:" + token.encode() + b"\n", "name")
    except FormatError as error:
        assert "number is out of range" in error.cause
        return None
    return matrix.values[0]


@examples(3000)
@given(st.one_of(decimals, finite.map(repr), finite.map(lambda v: f"{v:.17g}"), finite.map(lambda v: f"{v:.25e}")))
@example("18446744073709551616")
@example("9007199254740993")
@example("1e23")
@example("0.1e-22")
@example(
    "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880"
)
@example("2.2250738585072011e-308")
def test_decimal_numbers_are_rounded_correctly(token):
    expected = float(token)
    assert repr(value_of(token)) == repr(expected if math.isfinite(expected) else None)


@examples(500)
@given(finite)
def test_hexadecimal_numbers_are_exact(value):
    assert repr(value_of(value.hex())) == repr(value)


@examples(600)
@given(rows, st.data())
def test_data_survives_writing_and_reading_bit_for_bit(place, pairs, draw):
    targets = draw.draw(st.lists(finite, min_size=len(pairs), max_size=len(pairs)))
    path = str(place / "round")
    write_data(path, from_rows(pairs), filled("d", targets))
    read = read_data(path)
    assert repr([read.matrix.row(i) for i in range(read.matrix.n_rows)]) == repr(pairs)  # repr tells -0.0 from 0.0
    assert repr(list(read.targets)) == repr(targets)
    assert read.remarks == ()


@examples(1500)
@given(
    st.lists(
        st.one_of(finite, st.sampled_from([-0.0, 1e6, -1e6, 999999.5, 1e-5, 1e16, math.nan, math.inf])), max_size=8
    )
)
@example([0.0, -0.0, 999999.0, 1e6, 1000001.0, 123456789.0])
def test_numbers_are_written_as_c_writes_them(values):
    for precision in (6, 8, 17):
        expected = "".join(f"{v:.{precision}g}\n" for v in values)
        assert numbers_text(filled("d", values), 1, precision).decode() == expected
    expected = "".join(f"{v:.17g}" + ("\n" if i % 3 == 2 else " ") for i, v in enumerate(values))
    assert numbers_text(filled("d", values), 3, 17).decode() == expected


@examples(600)
@given(rows, st.integers(1, 3), st.data())
def test_support_vectors_are_written_as_c_writes_them(pairs, n_coef, draw):
    n = len(pairs)
    coef = draw.draw(st.lists(finite, min_size=n * n_coef, max_size=n * n_coef))
    expected = "".join(
        "".join(f"{coef[k * n + i]:.17g} " for k in range(n_coef)) + "".join(f"{j}:{v:.8g} " for j, v in row) + "\n"
        for i, row in enumerate(pairs)
    )
    assert bytes(vectors_text(b"SV\n", from_rows(pairs), filled("d", coef), False)).decode() == f"SV\n{expected}"
