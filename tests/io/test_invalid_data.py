"""Bad data files, one defect each, and unusual valid ones. Ids contain the number of the fault in
tests/io/invalid/README.md."""

import bz2
import gzip
import lzma
import os
import re
from pathlib import Path

import pytest
from support import data
from support.commands import process

from libsvmx.exceptions import FormatError
from libsvmx.io.svmlight import read_data

INVALID = Path(__file__).with_name("invalid") / "data"
MODEL = """\
svm_type c_svc
kernel_type linear
nr_class 2
total_sv 2
rho 0
label 1 -1
nr_sv 1 1
SV
1 1:1 
-1 1:-1 
"""  # noqa: W291

# fault, file, line, column, cause
MALFORMED = [
    (2, "inner_blank.txt", 2, 0, "blank line inside the data"),
    (5, "cr_only.txt", 1, 6, "carriage return inside the line"),
    (5, "utf16_le_mark.txt", 1, 1, "this is UTF-16 text"),
    (5, "utf16_be_mark.txt", 1, 1, "this is UTF-16 text"),
    (5, "utf16_le.txt", 1, 2, "NUL byte"),
    (6, "nul_first.txt", 2, 1, "NUL byte"),
    (6, "nul_inside.txt", 2, 6, "NUL byte"),
    (8, "comment_line.txt", 1, 1, "line without data, only a comment"),
    (9, "qid.txt", 2, 4, "query ids (qid) are not supported: remove 'qid:3'"),
    (10, "label_missing.txt", 2, 1, "label is missing: the line begins with '1:0.5'"),
    (11, "csv_spaces.txt", 2, 4, "expected index:value, found '0.5'"),
    (12, "csv_commas.txt", 1, 1, "comma-separated or decimal comma?"),
    (12, "decimal_comma.txt", 2, 6, "comma-separated or decimal comma?"),
    (14, "index_2147483648.txt", 2, 4, "feature index is above 2147483647: '2147483648:1'"),
    (14, "index_4294967297.txt", 2, 4, "feature index is above 2147483647: '4294967297:1'"),
    (14, "index_23_digits.txt", 2, 4, "feature index is above 2147483647"),
    (15, "index_negative.txt", 2, 4, "feature index is negative: '-1:1'"),
    (15, "index_unsorted.txt", 2, 8, "feature indices must be ascending without repeats: '1:1'"),
    (15, "index_repeated.txt", 2, 8, "feature indices must be ascending without repeats: '2:1'"),
    (15, "index_fractional.txt", 2, 4, "feature index is not a whole number: '1.5:1'"),
    (15, "index_text.txt", 2, 4, "feature index is not a whole number: 'a:1'"),
    (16, "blank_before_colon.txt", 2, 4, "expected index:value, found '1'"),
    (16, "double_colon.txt", 2, 6, "value is not a number: ':2'"),
    (16, "value_missing.txt", 2, 4, "value is missing after the colon: '1:'"),
    (16, "value_text.txt", 2, 6, "value is not a number: 'x'"),
    (16, "value_tail.txt", 2, 6, "value is not a number: '2x'"),
    (16, "value_underscore.txt", 2, 6, "value is not a number: '1_0'"),
    (16, "value_exponent_missing.txt", 2, 6, "value is not a number: '1e'"),
    (16, "value_arabic_digit.txt", 2, 6, "value is not a number"),
    (17, "value_swallows_pair.txt", 2, 7, "value is not a number: '2:3'"),
    (18, "feature_nan.txt", 2, 6, "value is not finite: 'nan'"),
    (18, "feature_minus_nan.txt", 2, 6, "value is not finite: '-NaN'"),
    (19, "feature_inf.txt", 2, 6, "value is not finite: 'inf'"),
    (19, "feature_infinity.txt", 2, 6, "value is not finite: '+Infinity'"),
    (20, "feature_1e400.txt", 2, 6, "number is out of range: '1e400'"),
    (20, "feature_hex_overflow.txt", 2, 6, "number is out of range: '0x1p1024'"),
    (24, "label_nan.txt", 2, 1, "value is not finite: 'nan'"),
    (24, "label_inf.txt", 2, 1, "value is not finite: '-inf'"),
    (24, "label_1e400.txt", 2, 1, "number is out of range: '1e400'"),
    (24, "label_text.txt", 2, 1, "label is not a number: 'cat'"),
    (34, "cut.gz", 0, 0, "damaged compressed file"),
    (34, "cut.xz", 0, 0, "damaged compressed file"),
    (34, "cut.bz2", 0, 0, "damaged compressed file"),
]

# readable, but unfit for training: row, file, options, line, cause
UNTRAINABLE = [
    (1, "empty.txt", "", 0, "no data: there is not a single row"),
    (1, "empty.txt", "-v 2", 0, "no data: there is not a single row"),
    (1, "empty.txt", "-s 3", 0, "no data: there is not a single row"),
    (2, "only_blank.txt", "", 0, "no data: there is not a single row"),
    (23, "feature_1e200.txt", "-t 0", 2, "overflows: scale the data"),
    (23, "feature_1e200.txt", "-t 1 -r 1", 2, "overflows: scale the data"),
    (23, "feature_1e200.txt", "-t 2", 2, "overflows: scale the data"),
    (25, "label_fractional.txt", "", 2, "class label 1.5 is not an integer"),
    (25, "label_fractional.txt", "-v 2", 2, "class label 1.5 is not an integer"),
    (25, "label_fractional.txt", "-s 1", 2, "class label 1.5 is not an integer"),
    (26, "label_1e10.txt", "", 2, "class label 10000000000.0 is not an integer between -2^31 and 2^31 - 1"),
    (38, "serial_0.txt", "-t 4", 2, "serial number 0 is not one of 1..2"),
    (38, "serial_3_of_2.txt", "-t 4", 2, "serial number 3 is not one of 1..2"),
    (38, "serial_fractional.txt", "-t 4", 2, "serial number 1.5 is not one of 1..2"),
    (38, "serial_missing.txt", "-t 4", 2, "a row must be 0:serial"),
    (39, "column_missing.txt", "-t 4", 2, "with no column left out"),
    (39, "column_last_missing.txt", "-t 4", 2, "the row ends at column 1, others at 2"),
]


def test_no_fault_is_left_out():
    """The table beside the files names the tests of each."""
    rows = re.findall(r"^\| ([\d, -]+) \|", INVALID.with_name("README.md").read_text(encoding="utf-8"), re.M)
    numbers = [list(map(int, part.split("-"))) for row in rows for part in row.split(",")]
    assert {n for part in numbers for n in range(part[0], part[-1] + 1)} == set(range(1, 113))


def test_every_file_is_used():
    used = {case[1] for case in MALFORMED} | {case[1] for case in UNTRAINABLE} | {"target_1e308.txt"}
    assert used == {p.name for p in INVALID.iterdir()}


def position(name, line, column):
    return ":".join([str(INVALID / name), *(str(n) for n in (line, column) if n)])


@pytest.mark.parametrize(
    "name, line, column, cause", [c[1:] for c in MALFORMED], ids=[f"fault-{c[0]}-{c[1]}" for c in MALFORMED]
)
def test_malformed_data_is_refused_by_name_line_and_column(folder, name, line, column, cause):
    path = str(INVALID / name)
    with pytest.raises(FormatError) as caught:
        read_data(path)
    error = caught.value
    assert (error.path, error.line, error.column) == (path, line, column)
    assert cause in error.cause
    folder.put("model", MODEL)
    message = f"error: {position(name, line, column)}: {error.cause}\n"
    for options in ([], ["-s", "3"], ["-v", "2"]):
        err, out = folder.refuses("svmx-train", *options, path, "model")
        assert (err, out) == (f"svmx-train: {message}", "")
    if name in ("label_nan.txt", "label_inf.txt", "label_1e400.txt"):
        assert folder.call("svmx-predict", path, "model", "output")[0] == 0  # as LIBSVM: only the accuracy needs them
        return
    folder.put("output", folder.KEPT)
    err, out = folder.refuses("svmx-predict", path, "model", "output")
    assert err.startswith(f"svmx-predict: {message.rstrip()}") and out == ""
    assert ("--unlabeled" in err) == error.cause.startswith(("label is missing", "label is not a number"))


@pytest.mark.parametrize(
    "name, options, line, cause",
    [c[1:] for c in UNTRAINABLE],
    ids=[f"fault-{c[0]}-{c[1]}{c[2].replace(' ', '')}" for c in UNTRAINABLE],
)
def test_untrainable_data_is_refused_by_line(folder, name, options, line, cause):
    folder.put("model", folder.KEPT)
    err, out = folder.refuses("svmx-train", *options.split(), INVALID / name, "model")
    assert err.startswith(f"svmx-train: error: {position(name, line, 0)}: ")
    assert cause in err
    assert "optimization finished" not in out


def test_fault_23_overflowing_targets_are_refused(folder):
    folder.put("model", folder.KEPT)
    err, _ = folder.refuses("svmx-train", "-s", "3", INVALID / "target_1e308.txt", "model")
    assert "the solution degenerates: its objective is not finite" in err


@pytest.mark.parametrize("options", ["", "-s 2", "-s 3", "-s 4", "-b 1"])
def test_fault_18_and_27_nothing_nan_is_trained_whatever_the_formulation(folder, options):
    for name in ("feature_nan.txt", "feature_inf.txt", "label_nan.txt", "label_inf.txt"):
        err, _ = folder.refuses("svmx-train", *options.split(), INVALID / name, "model")
        assert "value is not finite" in err


# ---------------------------------------------------------------- unusual but valid

TWO_ROWS = [(1.0, [(1, 0.5), (3, 2.0)]), (-1.0, [(2, -1.5)])]

# row, peculiarity, text, rows, remarks
ODD = [
    (3, "no-final-newline", b"1 1:0.5 3:2\n-1 2:-1.5", TWO_ROWS, 0),
    (4, "crlf", b"1 1:0.5 3:2\r\n-1 2:-1.5\r\n", TWO_ROWS, 0),
    (4, "crlf-label-only", b"1\r\n-1 2:1\r\n", [(1.0, []), (-1.0, [(2, 1.0)])], 0),
    (4, "crlf-at-the-end-only", b"1 1:0.5 3:2\n-1 2:-1.5\r\n", TWO_ROWS, 0),
    (5, "byte-order-mark", b"\xef\xbb\xbf1 1:0.5 3:2\n-1 2:-1.5\n", TWO_ROWS, 0),
    (2, "blank-lines-at-the-end", b"1 1:0.5 3:2\n-1 2:-1.5\n\n \t\n", TWO_ROWS, 1),
    (2, "blank-line-crlf-at-the-end", b"1 1:0.5 3:2\r\n-1 2:-1.5\r\n\r\n", TWO_ROWS, 1),
    (7, "comment", b"1 1:0.5 3:2 # first\n-1 2:-1.5 #second\n", TWO_ROWS, 0),
    (7, "comment-with-pairs", b"1 1:0.5 3:2 # 4:1 x:y,z\n-1 2:-1.5\n", TWO_ROWS, 0),
    (7, "comment-glued", b"1 1:0.5 3:2#first\n-1 2:-1.5#4:1\n", TWO_ROWS, 0),
    (7, "comment-glued-to-a-label", b"1#nothing\n-1 2:1# # \n", [(1.0, []), (-1.0, [(2, 1.0)])], 0),
    (7, "comment-behind-odd-numbers", b"0x1p0 1:0x.8 3:+2#x\r\n-1 2: -0x1.8\t# y\r\n", TWO_ROWS, 0),
    (7, "comment-without-pairs", b"1 # nothing\n-1 2:1\n", [(1.0, []), (-1.0, [(2, 1.0)])], 0),
    (13, "index-0", b"1 0:7 1:1\n", [(1.0, [(0, 7.0), (1, 1.0)])], 0),
    (14, "index-2147483647", b"1 2147483647:1\n", [(1.0, [(2147483647, 1.0)])], 0),
    (14, "index-zero-padded", b"1 00000000000000000000007:1\n", [(1.0, [(7, 1.0)])], 0),
    (17, "blank-after-colon", b"1 1: 0.5 3:\t2\n-1 2:  -1.5\n", TWO_ROWS, 0),
    (17, "blanks-anywhere", b"  1\t1:0.5   3:2 \t\n-1 \v2:-1.5\f\n", TWO_ROWS, 0),
    (17, "plus-signs", b"+1 1:+0.5 +3:+2\n-1 2:-1.5\n", TWO_ROWS, 0),
    (17, "forms-of-numbers", b"1.0e0 1:.5 3:2.\n-10E-1 2:-0.15e+1\n", TWO_ROWS, 0),
    (21, "denormal", b"1 1:1e-320 2:4.9e-324 3:-2.5e-310\n", [(1.0, [(1, 1e-320), (2, 5e-324), (3, -2.5e-310)])], 0),
    (21, "vanishing", b"1 1:1e-400 2:-1e-99999999999\n", [(1.0, [(1, 0.0), (2, -0.0)])], 0),
    (22, "hexadecimal", b"0x1p0 1:0x1p3 2:-0X.8 3:0x1.8P-1\n", [(1.0, [(1, 8.0), (2, -0.5), (3, 0.75)])], 0),
    (23, "huge-but-finite", b"1 1:1.7976931348623157e308\n", [(1.0, [(1, 1.7976931348623157e308)])], 0),
    (23, "two-to-the-64", b"1 1:18446744073709551616\n", [(1.0, [(1, 2.0**64)])], 0),
    (23, "two-to-the-64-scaled", b"1 1:0.18446744073709551616\n", [(1.0, [(1, 0.18446744073709551616)])], 0),
    (24, "any-finite-target", b"1.5 1:1\n1e10 1:2\n", [(1.5, [(1, 1.0)]), (1e10, [(1, 2.0)])], 0),
    (29, "no-features-at-all", b"1\n-1\n", [(1.0, []), (-1.0, [])], 0),
]


def content(read):
    """Rows by repr, so that -0.0 and 0.0 differ."""
    return repr([(y, read.matrix.row(i)) for i, y in enumerate(read.targets)])


@pytest.mark.parametrize(
    "text, rows, remarks", [case[2:] for case in ODD], ids=[f"fault-{case[0]}-{case[1]}" for case in ODD]
)
def test_odd_but_valid_data(tmp_path, text, rows, remarks):
    path = tmp_path / "data"
    path.write_bytes(text)
    read = read_data(str(path))
    assert content(read) == repr(rows)
    assert len(read.remarks) == remarks
    for pack in (gzip.compress, lzma.compress, bz2.compress):
        path.write_bytes(pack(text))
        assert content(read_data(str(path))) == repr(rows)


@pytest.mark.parametrize(
    "text, column, cause",
    [
        (b"1 1:#2\n", 3, "value is missing after the colon: '1:'"),
        (b"1 1:2x#y\n", 5, "value is not a number: '2x'"),
        (b"1 1:2 3#4:5\n", 7, "expected index:value, found '3'"),
        (b"x#1 1:2\n", 1, "label is not a number: 'x'"),
        (b"1 1:2#\0\n", 7, "NUL byte"),
        (b"1#a\rb 1:2\n", 4, "carriage return inside the line"),
        (b"#1 1:2\n", 1, "line without data, only a comment"),
    ],
)
@pytest.mark.parametrize("command", ["svmx-train", "svmx-scale", "svmx-predict"])
def test_fault_7_what_stands_before_a_comment_is_judged_without_it(folder, command, text, column, cause):
    (folder.path / "data").write_bytes(text)
    folder.put("model", MODEL)
    more = {"svmx-train": ["out"], "svmx-scale": [], "svmx-predict": ["model", "out"]}[command]
    err, _ = folder.refuses(command, "data", *more)
    assert f"data:1:{column}: {cause}" in err


def test_fault_2_remark_names_the_first_blank_line(folder):
    folder.put("data", "1 1:1\n-1 1:2\n\n\n")
    err, _ = folder.accepts("svmx-train", "data")
    assert err == "warning: data:3: blank line at the end of the file is ignored\n"


@pytest.mark.parametrize(
    "text", ["# made by hand\n\n1 1:0.5 3:2\n  # more\n\n-1 2:-1.5\n\n", "\n1 1:0.5 3:2\n#\n-1 2:-1.5\n#"]
)
def test_fault_8_lenient_skips_blank_and_comment_lines_and_keeps_line_numbers(folder, text):
    folder.put("data", text)
    read = read_data("data", lenient=True)
    assert content(read) == repr(TWO_ROWS)
    lines = text.split("\n")
    assert list(read.line_numbers) == [lines.index(row) + 1 for row in ("1 1:0.5 3:2", "-1 2:-1.5")]
    assert read.remarks == ()
    err, _ = folder.refuses("svmx-train", "data", "model")
    assert "data:1" in err
    assert folder.accepts("svmx-train", "--lenient", "data", "model")[0] == ""
    folder.put("data", text + "\n1.5 1:1\n")
    err, _ = folder.refuses("svmx-train", "--lenient", "data", "model")
    assert f"data:{len(text.splitlines()) + 1 + (not text.endswith('#'))}: class label 1.5" in err


def test_fault_8_the_option_that_reads_such_lines_is_named(folder):
    folder.put("comment", "# by a library\n1 1:1\n")
    folder.put("blank", "1 1:1\n\n-1 1:2\n")
    for name in ("comment", "blank"):
        assert "(--lenient, in Python lenient=True, skips such lines)" in folder.refuses("svmx-train", name, "out")[0]


@pytest.mark.parametrize("label, cause", [("", "label is missing"), ("UNK ", "not a number"), ("? ", "not a number")])
def test_fault_10_rows_to_predict_without_a_known_label_hear_of_unlabeled(folder, label, cause):
    folder.put("model", MODEL)
    folder.put("rows", f"1 1:2\n{label}1:-3\n")
    err, _ = folder.refuses("svmx-predict", "rows", "model", "out")
    assert "rows:2:1: label" in err and cause in err and "--unlabeled" in err
    err, _ = folder.refuses("svmx-train", "rows", "out")
    assert "--unlabeled" not in err


def test_fault_10_unlabeled_rows_are_predicted_without_scores(folder):
    folder.put("model", MODEL)
    folder.put("labelled", "1 1:2\n-1 1:-3\n-1\n")
    folder.put("bare", "1:2\n1:-3\n 5:1 # nothing known\n")
    folder.accepts("svmx-predict", "labelled", "model", "expected")
    err, out = folder.accepts("svmx-predict", "--unlabeled", "bare", "model", "output")
    assert (err, out) == ("", "")
    assert folder.get("output") == folder.get("expected") == b"1\n-1\n-1\n"


def test_fault_13_index_zero_is_remarked_once_and_used(folder):
    folder.put("data", "1 0:3 1:1\n-1 0:-3 1:1\n1 0:2\n")
    err, _ = folder.accepts("svmx-train", "-t", "0", "data", "model")
    assert err == "warning: data: there is a feature with index 0; indices should start from 1\n"
    assert b"0:2 \n" in folder.get("model")


def test_fault_28_one_class_gives_a_remark_and_a_model_without_vectors(folder):
    folder.put("data", "3 1:1\n3 1:2\n")
    err, _ = folder.accepts("svmx-train", "data", "model")
    assert "warning: the training data has only one class" in err
    assert b"nr_class 1\ntotal_sv 0\nrho\nlabel 3\nnr_sv 0\nSV\n" in folder.get("model")
    err, out = folder.accepts("svmx-predict", "data", "model", "output")
    assert folder.get("output") == b"3\n3\n"
    assert out == "Accuracy = 100% (2/2) (classification)\n"


@pytest.mark.parametrize("text", ["1\n-1\n", "1 1:2\n-1 1:2\n1 1:2\n-1 1:2\n"])
@pytest.mark.parametrize("kernel", "0123")
def test_fault_29_contradictory_points_give_a_finite_model(folder, text, kernel):
    folder.put("data", text)
    _, out = folder.accepts("svmx-train", "-t", kernel, "data", "model")
    assert "nan" not in out and "inf" not in out
    assert b"nan" not in folder.get("model")
    folder.accepts("svmx-predict", "data", "model", "output")
    assert set(folder.get("output").split()) <= {b"1", b"-1"}


def test_fault_30_a_line_of_five_megabytes(tmp_path):
    n = 400_000
    path = tmp_path / "wide"
    path.write_text("1" + "".join(f" {j}:{j % 97}.25" for j in range(1, n + 1)) + "\n-1 1:1\n")
    assert path.stat().st_size > 5_000_000
    matrix = read_data(str(path)).matrix
    assert (matrix.n_rows, matrix.nnz, matrix.max_index) == (2, n + 1, n)
    assert all(matrix.values[j] == (j + 1) % 97 + 0.25 for j in range(n))


def test_fault_30_a_number_of_a_million_digits(tmp_path):
    path = tmp_path / "digits"
    path.write_text(f"1 1:0.{'3' * 1_000_000} 2:{'0' * 1_000_000}7 3:{'9' * 1_000_000}e-1000000\n")
    assert read_data(str(path)).matrix.row(0) == [(1, 1 / 3), (2, 7.0), (3, 1.0)]


def test_fault_32_and_36_files_that_cannot_be_read(folder):
    (folder.path / "place").mkdir()
    folder.put("model", MODEL)
    folder.put("file", "1 1:1\n")
    for name, cause in (("place", "Is a directory"), ("nowhere", "No such file"), ("file/inside", "Not a directory")):
        err, _ = folder.refuses("svmx-train", name, "new")
        assert err.startswith(f"svmx-train: error: {name}: {cause}")
        folder.put("output", folder.KEPT)
        err, _ = folder.refuses("svmx-predict", name, "model", "output")
        assert err.startswith(f"svmx-predict: error: {name}: {cause}")
        err, _ = folder.refuses("svmx-predict", "file", name, "output")
        assert err.startswith(f"svmx-predict: error: {name}: {cause}")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_fault_36_permission_denied(folder):
    folder.put("data", "1 1:1\n")
    os.chmod("data", 0)
    code, _, err = folder.call("svmx-train", "data", "model")
    assert (code, err) == (1, "svmx-train: error: data: Permission denied\n")


@pytest.fixture(scope="module")
def heart():
    """(path, model text) of a training set."""
    path = data.DATA / "heart_scale"
    return path, path.read_bytes()


def test_fault_33_and_37_pipes_are_read_once_and_give_the_same_model(folder, heart):
    path, text = heart
    assert process("svmx-train", "-q", path, "expected").returncode == 0
    for name in ("-", "/dev/stdin"):
        done = process("svmx-train", "-q", name, "model", input=text)
        assert (done.returncode, done.stderr) == (0, b"")
        assert folder.get("model") == folder.get("expected")
    done = process("svmx-train", "-q", "-", input=gzip.compress(text))
    assert done.returncode == 0
    assert folder.get("stdin.model") == folder.get("expected")
    # as <(command) gives a pipe; one holds at least 64 KiB without a reader
    assert len(text) < 1 << 16
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "wb") as pipe:
        pipe.write(text)
    done = process("svmx-train", "-q", f"/dev/fd/{read_end}", "piped", pass_fds=[read_end])
    os.close(read_end)
    assert (done.returncode, done.stderr) == (0, b"")
    assert folder.get("piped") == folder.get("expected")


def test_fault_33_predict_from_standard_input(folder, heart):
    path, text = heart
    folder.accepts("svmx-train", "-q", path, "model")
    _, expected = folder.accepts("svmx-predict", path, "model", "expected")
    done = process("svmx-predict", "-", "model", "output", input=text)
    assert (done.returncode, done.stdout.decode()) == (0, expected)
    assert folder.get("output") == folder.get("expected")
    done = process("svmx-predict", path, "-", "output2", input=folder.get("model"))
    assert (done.returncode, folder.get("output2")) == (0, folder.get("expected"))
    err, _ = folder.refuses("svmx-predict", "-", "-", "other")
    assert "not both" in err


def test_fault_33_bad_standard_input_is_named(folder):
    done = process("svmx-train", "-", "model", input=b"1 1:1\n-1 1:nan\n")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"svmx-train: error: standard input:2:6: value is not finite: 'nan'\n"
    done = process("svmx-train", "-", "model", preexec_fn=lambda: os.close(0))
    assert (done.returncode, done.stderr) == (1, b"svmx-train: error: standard input: Bad file descriptor\n")
    assert folder.snapshot() == {}


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_fault_34_compressed_data_and_models(folder, heart, pack):
    path, text = heart
    folder.put("packed", pack(text))
    folder.accepts("svmx-train", "-q", path, "expected")
    folder.accepts("svmx-train", "-q", "packed", "model")
    assert folder.get("model") == folder.get("expected")
    folder.put("model.packed", pack(folder.get("model")))
    folder.accepts("svmx-predict", path, "model", "output")
    folder.accepts("svmx-predict", "packed", "model.packed", "output2")
    assert folder.get("output") == folder.get("output2")
    folder.put("nothing", pack(b""))
    assert "no data" in folder.refuses("svmx-train", "nothing", "other")[0]


def test_fault_35_long_file_names(folder):
    deep = folder.path
    while len(str(deep)) < 1500:
        deep = deep / ("d" * 200)
    deep.mkdir(parents=True)
    (deep / "data").write_text("1 1:1\n-1 1:-1\n")
    folder.accepts("svmx-train", "-q", deep / "data", deep / "model")
    folder.accepts("svmx-predict", deep / "data", deep / "model", deep / "output")
    assert (deep / "output").read_bytes() == b"1\n-1\n"
    longest, wide = "n" * 255, "\N{LATIN SMALL LETTER E WITH ACUTE}" * 127
    for name in (longest, wide):
        folder.accepts("svmx-train", "-q", deep / "data", name)
        assert folder.get(name) == (deep / "model").read_bytes()
    err, _ = folder.refuses("svmx-train", deep / "data", "n" * 256)
    assert "File name too long" in err
    err, _ = folder.refuses("svmx-train", "n" * 5000, "model")
    assert "File name too long" in err


def test_fault_35_names_that_are_no_text(folder):
    name = os.fsdecode(b"\xff\xfe data")
    folder.put(name, "1 1:1\n-1 1:-1\n")
    assert process("svmx-train", "-q", name).returncode == 0
    assert (folder.path / f"{name}.model").exists()
    folder.put(name, "1 1:1\n-1 1:\n")
    done = process("svmx-train", "-q", name)
    assert done.returncode == 1
    assert b"data:2:4: value is missing after the colon" in done.stderr


def test_fault_40_a_matrix_that_is_no_kernel_comes_to_an_end(folder):
    n = 40
    rows = []
    for i in range(n):
        # neither symmetric nor positive semidefinite
        values = " ".join(f"{j + 1}:{((i * 37 + j * 61) % 29) - 14}" for j in range(n))
        rows.append(f"{1 - 2 * (i % 2)} 0:{i + 1} {values}\n")
    folder.put("data", "".join(rows))
    _, out = folder.accepts("svmx-train", "-t", "4", "--max-iter", "20000", "data", "model")
    assert "nan" not in out
    folder.accepts("svmx-predict", "data", "model", "output")
    assert len(folder.get("output").split()) == n
