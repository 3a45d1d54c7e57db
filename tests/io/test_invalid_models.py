"""Bad model files, one defect each, and unusual valid ones. Ids contain the number of the fault in
tests/io/invalid/README.md."""

import gzip
import pickle
from pathlib import Path

import pytest
from support import oracle as libsvm

import libsvmx
from libsvmx import svmutil
from libsvmx.exceptions import FormatError
from libsvmx.io.modelfile import load_model, model_text

INVALID = Path(__file__).with_name("invalid") / "model"

# fault, file, line, column, cause
REFUSED = [
    (53, "empty", 0, 0, "not a model file: there is no line 'SV' after the header"),
    (53, "half", 0, 0, "not a model file: there is no line 'SV' after the header"),
    (53, "last_vector_missing", 11, 0, "the file ends after 2 of 3 support vectors: it is cut off"),
    (53, "last_bytes_missing", 12, 8, "value is not a number: '-'"),
    (53, "last_pair_missing", 12, 0, "the last line is cut off"),
    (53, "last_exponent_cut", 12, 0, "the last line is cut off"),
    (53, "last_point_cut", 12, 0, "the last line is cut off"),
    (53, "last_serial_cut", 11, 0, "the last line is cut off"),
    (54, "header_only", 0, 0, "not a model file: there is no line 'SV' after the header"),
    (54, "header_and_sv_line", 9, 0, "the file ends after 0 of 3 support vectors: it is cut off"),
    (55, "total_sv_too_large", 8, 0, "nr_sv: counts must be >= 0 and add up to total_sv = 4"),
    (55, "total_sv_too_small", 8, 0, "nr_sv: counts must be >= 0 and add up to total_sv = 2"),
    (55, "total_sv_and_nr_sv_too_large", 12, 0, "the file ends after 3 of 4 support vectors: it is cut off"),
    (55, "total_sv_and_nr_sv_too_small", 12, 0, "more support vectors than the 2 of total_sv"),
    (55, "total_sv_negative", 5, 0, "total_sv: -3 is not between 0 and"),
    (55, "total_sv_2147483647", 5, 0, "total_sv: 2147483647 is not between 0 and"),
    (55, "total_sv_2_40", 5, 0, "total_sv: not an integer between -2^31 and 2^31 - 1: '1099511627776'"),
    (55, "total_sv_file_size", 5, 0, "total_sv: the file is too short for 130 support vectors"),
    (55, "total_sv_missing", 0, 0, "total_sv: missing in the model header"),
    (56, "nr_class_negative", 4, 0, "nr_class: -1 is not between 1 and 2147483647"),
    (56, "nr_class_0", 4, 0, "nr_class: 0 is not between 1 and 2147483647"),
    (56, "nr_class_1", 6, 0, "rho: 0 values expected, 1 found"),
    (56, "nr_class_65537", 6, 0, "rho: 2147516416 values expected, 1 found"),
    (56, "nr_class_missing", 0, 0, "nr_class: missing in the model header"),
    (56, "nr_class_3_svr", 3, 0, "nr_class: must be 2 for epsilon_svr"),
    (57, "nr_sv_missing", 0, 0, "nr_sv: missing in the model header"),
    (57, "nr_sv_huge", 8, 0, "nr_sv: counts must be >= 0 and add up to total_sv = 3"),
    (57, "nr_sv_negative", 8, 0, "nr_sv: counts must be >= 0 and add up to total_sv = 3"),
    (57, "nr_sv_wrong_sum", 8, 0, "nr_sv: counts must be >= 0 and add up to total_sv = 3"),
    (57, "nr_sv_one_count", 8, 0, "nr_sv: 2 values expected, 1 found"),
    (57, "nr_sv_above_int", 8, 0, "nr_sv: not an integer between -2^31 and 2^31 - 1: '4294967298'"),
    (58, "label_missing", 0, 0, "label: missing in the model header"),
    (58, "label_repeated", 7, 0, "label: a label is repeated"),
    (58, "label_text", 7, 0, "label: not an integer between -2^31 and 2^31 - 1: 'a'"),
    (58, "rho_missing", 0, 0, "rho: missing in the model header"),
    (58, "rho_two", 6, 0, "rho: 1 values expected, 2 found"),
    (59, "svm_type_missing", 0, 0, "svm_type: missing in the model header"),
    (59, "svm_type_unknown", 1, 0, "svm_type: unknown: 'd_svc'"),
    (59, "kernel_type_missing", 0, 0, "kernel_type: missing in the model header"),
    (59, "kernel_type_unknown", 2, 0, "kernel_type: unknown: 'cubic'"),
    (59, "gamma_missing", 0, 0, "gamma: missing in the model header"),
    (59, "gamma_negative", 3, 0, "gamma must be >= 0, not -1.0"),
    (59, "coef0_missing", 0, 0, "coef0: missing in the model header"),
    (59, "degree_missing", 0, 0, "degree: missing in the model header"),
    (59, "degree_text", 3, 0, "degree: not an integer between -2^31 and 2^31 - 1: 'x'"),
    (59, "degree_negative", 3, 0, "degree: -1 is not between 0 and"),
    (60, "key_twice", 7, 1, "rho is given twice"),
    (61, "prob_a_alone", 8, 0, "probA and probB belong together"),
    (61, "prob_b_alone", 8, 0, "probA and probB belong together"),
    (61, "prob_a_two", 8, 0, "probA: 1 values expected, 2 found"),
    (61, "marks_nine", 6, 0, "prob_density_marks: 10 values expected, 9 found"),
    (62, "key_unknown", 7, 1, "unknown key in the model header: 'colour'"),
    (62, "key_over_long", 7, 1, "unknown key in the model header: 'kkkk"),
    (62, "data_instead", 0, 0, "not a model of LIBSVM, but a data file"),
    (62, "utf16", 1, 1, "unknown key in the model header"),
    (62, "header_blank_line", 7, 0, "blank line in the header"),
    (63, "sv_blank", 11, 1, "coefficient of the support vector is missing: found the end of the line"),
    (63, "sv_blank_line_between", 12, 1, "coefficient of the support vector is missing: found the end of the line"),
    (63, "sv_without_coef", 11, 1, "coefficient of the support vector is missing: found '1:-0.5'"),
    (63, "sv_second_coef", 11, 5, "expected index:value, found '0.5'"),
    (63, "sv_coef_text", 11, 1, "value is not a number: 'x'"),
    (63, "sv_value_text", 11, 7, "value is not a number: 'x'"),
    (63, "sv_unsorted", 10, 9, "feature indices must be ascending without repeats: '1:1'"),
    (63, "sv_index_negative", 11, 5, "feature index is negative: '-1:-0.5'"),
    (63, "sv_index_4294967297", 11, 5, "feature index is above 2147483647"),
    (63, "sv_double_colon", 11, 7, "value is not a number: ':-0.5'"),
    (64, "rho_nan", 6, 0, "rho: not a finite number: 'nan'"),
    (64, "rho_inf", 6, 0, "rho: not a finite number: 'inf'"),
    (64, "rho_1e400", 6, 0, "rho: not a finite number: '1e400'"),
    (64, "gamma_nan", 3, 0, "gamma: not a finite number: 'nan'"),
    (64, "coef_nan", 11, 1, "value is not finite: 'nan'"),
    (64, "value_inf", 11, 7, "value is not finite: 'inf'"),
    (64, "value_1e400", 11, 7, "number is out of range: '1e400'"),
    (65, "header_nul", 6, 1, "unknown key in the model header: 'rho\\x00'"),
    (65, "sv_nul", 11, 11, "NUL byte"),
    (65, "sv_carriage_return", 11, 12, "carriage return inside the line"),
    (66, "serial_0", 10, 0, "precomputed kernel: expected 0:serial with serial >= 1"),
    (66, "serial_negative", 10, 0, "precomputed kernel: expected 0:serial with serial >= 1"),
    (66, "serial_fractional", 10, 0, "precomputed kernel: expected 0:serial with serial >= 1"),
    (66, "serial_1e300", 10, 0, "precomputed kernel: expected 0:serial with serial >= 1"),
    (66, "serial_missing", 10, 0, "precomputed kernel: expected 0:serial with serial >= 1"),
    (66, "serial_and_more", 10, 0, "precomputed kernel: expected 0:serial with serial >= 1"),
    (68, "degree_1e9", 3, 0, "degree must be between 0 and 1000000, not 1000000000"),
]

VALID = b"""\
svm_type c_svc
kernel_type rbf
gamma 0.5
nr_class 2
total_sv 3
rho 0.25
label 1 -1
nr_sv 2 1
SV
1 1:0.5 2:1 
0.5 1:-0.5 
-1.5 2:-1 
"""  # noqa: W291
PRECOMPUTED = b"""\
svm_type c_svc
kernel_type precomputed
nr_class 2
total_sv 2
rho 0
label 1 -1
nr_sv 1 1
SV
1 0:1 
-1 0:3 
"""  # noqa: W291
TESTS = "1 1:0.5 2:1\n-1 1:-0.5\n-1 2:-1\n"


def test_every_file_is_used():
    assert {case[1] for case in REFUSED} | {"serial_2000000000"} == {p.stem for p in INVALID.iterdir()}


@pytest.mark.parametrize(
    "name, line, column, cause", [c[1:] for c in REFUSED], ids=[f"fault-{c[0]}-{c[1]}" for c in REFUSED]
)
def test_bad_models_are_refused_by_name_and_line(folder, name, line, column, cause):
    path = str(INVALID / f"{name}.txt")
    with pytest.raises(FormatError) as caught:
        load_model(path)
    error = caught.value
    assert (error.path, error.line, error.column) == (path, line, column)
    assert cause in error.cause
    assert path not in error.cause
    folder.put("tests", TESTS)
    folder.put("output", folder.KEPT)
    where = ":".join([path, *(str(n) for n in (line, column) if n)])
    for options in ([], ["-b", "1"]):
        err, out = folder.refuses("svmx-predict", *options, "tests", path, "output")
        assert (err, out) == (f"svmx-predict: error: {where}: {error.cause}\n", "")


def test_a_model_cut_anywhere_before_its_last_vector_is_refused(tmp_path):
    path = tmp_path / "model"
    last_line = VALID.rindex(b"\n", 0, -1) + 1
    for size in range(len(VALID)):
        path.write_bytes(VALID[:size])
        end = VALID[last_line:size]
        # a cut behind a blank may drop pairs; if all digits are there, it cannot be detected
        if end.endswith(b" ") or end == b"-1.5 2:-1":
            with pytest.warns(UserWarning, match="model:12: the last line does not end with a newline"):
                load_model(str(path))
        else:
            with pytest.raises(FormatError):
                load_model(str(path))


REMARKED = [
    (65, "last-blank-missing", lambda text: text[:-2], "12: the last line does not end with a newline"),
    (65, "last-newline-missing", lambda text: text[:-1], "12: the last line does not end with a newline"),
    (65, "last-exponent", lambda text: text[:-3] + b"1e-05", "12: the last line does not end"),
    (62, "blank-line-first", lambda text: b"\n" + text, "1: blank line before the model is ignored"),
    (62, "blank-lines-first", lambda text: b" \r\n\n" + text, "1: blank line before the model is ignored"),
]


@pytest.mark.parametrize("change, remark", [c[2:] for c in REMARKED], ids=[f"fault-{c[0]}-{c[1]}" for c in REMARKED])
def test_models_that_programs_have_edited_are_read_with_a_warning(folder, change, remark):
    """Programs that strip whitespace leave such files; LIBSVM reads them silently."""
    text = change(VALID)
    name = folder.put("model", text)
    with pytest.warns(UserWarning, match=f"model:{remark}") as caught:
        model = libsvmx.load_model(name)
    assert [Path(w.filename).name for w in caught] == [Path(__file__).name]
    with pytest.warns(UserWarning, match=f"model:{remark}"):
        assert svmutil.svm_load_model(name).l == 3
    assert model_text(model) == VALID.replace(b"2:-1 \n", text[text.rindex(b"2:") :].strip() + b" \n")
    matrix, _ = svmlight_rows(folder)
    assert libsvm.predict(libsvm.load(name), matrix) == (
        list(libsvmx.predict(model, matrix)),
        libsvmx.decision_values(model, matrix).tolist(),
    )
    err, _ = folder.accepts("svmx-predict", "tests", name, "output")
    assert err.startswith(f"warning: model:{remark}") and err.count("\n") == 1
    folder.put("data", "1 1:0.5 2:1\n1 1:-0.5\n-1 2:-1\n")
    assert f"warning: model:{remark}" in folder.call("svmx-update", "--remove", "1", "data", name)[2]


def test_fault_53_a_file_of_whole_blocks_was_cut_off(tmp_path):
    """Programs write files in blocks; one that is killed, or finds the disk full, leaves some of them."""
    path = tmp_path / "model"
    head, _, vectors = VALID.partition(b"0.5 1:-0.5 \n")
    for more, readable in ((-1, True), (0, False), (1, True)):
        tail = vectors[:-2]
        fill = 4096 + more - len(head) - len(tail)
        text = head + b"0.5 1:-0.5" + b" " * (fill - len(b"0.5 1:-0.5\n")) + b"\n" + tail
        assert len(text) == 4096 + more
        path.write_bytes(text)
        if readable:
            with pytest.warns(UserWarning, match="does not end with a newline"):
                load_model(str(path))
        else:
            with pytest.raises(FormatError, match="model:12: the last line is cut off"):
                load_model(str(path))


def svmlight_rows(folder):
    folder.put("tests", TESTS)
    return libsvmx.read_problem("tests")


def test_the_last_serial_number_of_a_class_may_be_below_one_of_another_class(tmp_path):
    path = tmp_path / "model"
    text = PRECOMPUTED.replace(b"0:1 ", b"0:4 ")
    path.write_bytes(text[:-2])
    with pytest.warns(UserWarning, match="does not end with a newline"):
        assert model_text(load_model(str(path))) == text


ODD = [
    (65, "crlf", lambda text: text.replace(b"\n", b"\r\n")),
    (65, "byte-order-mark", lambda text: b"\xef\xbb\xbf" + text),
    (65, "no-blanks-at-line-ends", lambda text: text.replace(b" \n", b"\n")),
    (65, "blank-lines-at-the-end", lambda text: text + b"\n \n"),
    (56, "nr-class-after-rho", lambda text: b"rho 0.25\n" + text.replace(b"rho 0.25\n", b"")),
    (56, "keys-reversed", lambda text: b"\n".join([*text.split(b"\n")[7::-1], *text.split(b"\n")[8:]])),
]


@pytest.mark.parametrize("change", [case[2] for case in ODD], ids=[f"fault-{c[0]}-{c[1]}" for c in ODD])
def test_odd_but_valid_models(tmp_path, change):
    path = tmp_path / "model"
    path.write_bytes(change(VALID))
    assert path.read_bytes() != VALID
    assert model_text(load_model(str(path))) == VALID


# kind, lines that do not belong to it, and lines that do: written by R's e1071, and read and ignored by LIBSVM
FOREIGN = [
    ("epsilon_svr", "label 0 0\nnr_sv 0 0\n", ""),
    ("epsilon_svr", "label 0 0\n", ""),
    ("epsilon_svr", "nr_sv 0 0\n", ""),
    ("nu_svr", "label 0 0\nprobB 0\nnr_sv 0 0\n", "probA 0\n"),
    ("nu_svr", "prob_density_marks 1 2 3 4 5 6 7 8 9 10\n", ""),
    ("one_class", "label 0 0\nnr_sv 0 0\n", ""),
    ("one_class", "label 1 -1\nprobA 1\nprobB 0\nnr_sv 2 1\n", "prob_density_marks 1 2 3 4 5 6 7 8 9 10\n"),
]


@pytest.mark.parametrize(("kind", "foreign", "own"), FOREIGN)
def test_fault_61_lines_of_another_formulation_are_read_as_by_libsvm(folder, kind, foreign, own):
    head = f"svm_type {kind}\nkernel_type rbf\ngamma 0.5\nnr_class 2\ntotal_sv 3\nrho -0.25\n"
    vectors = "SV\n1 1:-0.5 2:1 \n-1 1:0.25 2:0.75 \n0.5 1:1 2:-1 \n"
    name = folder.put("model", head + foreign + own + vectors)
    model, theirs = libsvmx.load_model(name), libsvm.load(name)
    assert model_text(model).decode() == head + own + vectors
    assert svmutil.svm_load_model(name).l == 3
    folder.put("tests", TESTS)
    matrix, _ = svmlight_rows(folder)
    labels, values = libsvm.predict(theirs, matrix)
    assert labels == list(libsvmx.predict(model, matrix))
    assert values == libsvmx.decision_values(model, matrix).tolist()
    assert folder.call("svmx-predict", "-q", "tests", "model", "output") == (0, "", "")
    assert [float(line) for line in folder.get("output").split()] == labels


@pytest.mark.parametrize(("key", "words"), [("label", "0"), ("nr_sv", "0 0 0"), ("label", "0 x"), ("probB", "nan")])
def test_fault_61_lines_of_another_formulation_have_its_form(folder, key, words):
    """Otherwise LIBSVM would read on in the next line."""
    head = "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0.25\n"
    name = folder.put("model", f"{head}{key} {words}\nSV\n1 1:0.5 \n")
    with pytest.raises(FormatError, match=f"model:6: {key}: "):
        libsvmx.load_model(name)


def test_fault_63_a_vector_without_features_is_valid(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(VALID.replace(b"0.5 1:-0.5 \n", b"0.5 \n"))
    assert load_model(str(path)).vectors.row(1) == []


# row, rows to predict, line, cause
UNREADABLE = [
    (66, "1 0:1 1:1 2:0\n", 1, "the row ends at column 2, but the model needs column 3"),
    (67, "1 0:1 1:1 2:0 3:1\n1 0:2 1:1\n", 2, "the row ends at column 1, but the model needs column 3"),
    (67, "1 0:1 1:1 2:0 3:1\n1 1:1 2:0 3:1\n", 2, "a row must be 0:serial"),
    (67, "1 0:1 1:1 2:0 3:1\n1 0:1 1:1 3:1\n", 2, "with no column left out"),
    (67, "1 0:1 1:1 2:0 3:1\n1\n", 2, "precomputed kernel"),
]


@pytest.mark.parametrize("case", UNREADABLE, ids=[f"fault-{c[0]}-{i}" for i, c in enumerate(UNREADABLE)])
def test_rows_a_precomputed_model_cannot_read(folder, case):
    _, text, line, cause = case
    folder.put("model", PRECOMPUTED)
    folder.put("tests", text)
    folder.put("output", folder.KEPT)
    err, out = folder.refuses("svmx-predict", "tests", "model", "output")
    assert f"tests:{line}: " in err and cause in err
    assert out == ""


def test_fault_66_a_serial_number_beyond_every_row_reads_nothing(folder):
    folder.put("tests", "1 0:1 1:1 2:0 3:1\n")
    folder.put("output", folder.KEPT)
    err, _ = folder.refuses("svmx-predict", "tests", INVALID / "serial_2000000000.txt", "output")
    assert "tests:1: precomputed kernel: the row ends at column 3, but the model needs column 2000000000" in err


def test_fault_69_models_of_old_versions(folder):
    """Before 3.17 classes -1, 1 kept their order, coefficients were %.8g, and one-class had no density marks."""
    folder.put("tests", TESTS)
    folder.put("new", VALID)
    old = VALID.replace(b"label 1 -1\nnr_sv 2 1", b"label -1 1\nnr_sv 1 2").replace(b"rho 0.25", b"rho -0.25")
    head, vectors = old.split(b"SV\n")
    first, second, third = vectors.splitlines(keepends=True)
    assert third.startswith(b"-1.5 ")
    folder.put("old", head + b"SV\n" + b"1.5" + third[4:] + b"-" + first + b"-" + second)
    folder.accepts("svmx-predict", "tests", "new", "output.new")
    folder.accepts("svmx-predict", "tests", "old", "output.old")
    assert folder.get("output.old") == folder.get("output.new")
    assert len(set(folder.get("output.new").split())) == 2
    folder.put("one", "svm_type one_class\nkernel_type linear\nnr_class 2\ntotal_sv 1\nrho 0.33333333\nSV\n1 1:0.5 \n")
    folder.accepts("svmx-predict", "tests", "one", "output.one")
    assert folder.get("output.one") == b"-1\n-1\n-1\n"
    err, _ = folder.refuses("svmx-predict", "-b", "1", "tests", "one", "output.one")
    assert "one: the model has no probability estimates" in err


OTHERS = {
    "a data file": [b"1 1:0.5 3:1\n-1 2:1\n", b"# made by a library\n+1 0:3 1:5\n", b"\xef\xbb\xbf1,2 1:8\n"],
    "a file of OpenCV": [
        b"%YAML:1.0\n---\nopencv_ml_svm:\n   format: 3\n   svmType: C_SVC\n",
        b'<?xml version="1.0"?>\n<opencv_storage>\n<opencv_ml_svm>\n',
        b'{\n "opencv_ml_svm": {\n  "format": 3,\n',
    ],
    "a model of SVM-light": [b"SVM-light Version V6.02\n2 # kernel type\n3 # kernel parameter -d \n"],
    "a model of LIBLINEAR": [b"solver_type L2R_LR\nnr_class 2\nlabel 1 -1\nnr_feature 3\nbias -1\nw\n0.1 \n"],
    "a file of ranges, of svm-scale": [b"x\n-1 1\n1 0 5\n", b"y\n-1 1\n1 2\nx\n-1 1\n1 0 5\n"],
    "a pickle of Python": [pickle.dumps([1, 2]), pickle.dumps({"a": 1}, 2)],
}


@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_model_is_named(folder, kind):
    folder.put("rows", TESTS)
    for content in OTHERS[kind]:
        folder.put("model", content)
        err, _ = folder.refuses("svmx-predict", "rows", "model", "out")
        assert err == f"svmx-predict: error: model: not a model of LIBSVM, but {kind}\n"
        with pytest.raises(FormatError, match=f"not a model of LIBSVM, but {kind}"):
            load_model("model")


def test_a_state_is_no_model(folder):
    folder.put("rows", TESTS)
    libsvmx.train([{1: 1.0}, {1: 2.0}], [1, -1], keep_state=True).save("state")
    err, _ = folder.refuses("svmx-predict", "rows", "state", "out")
    assert err == "svmx-predict: error: state: not a model of LIBSVM, but a state of svmx-update\n"


@pytest.mark.parametrize("content", [b"svm_type c_svc\n1 1:1\n", b"colour red\n1 1:1\n", b"1\n", b"1 2 3\n", b"x\n"])
def test_a_model_that_is_damaged_is_not_taken_for_something_else(folder, content):
    folder.put("rows", TESTS)
    folder.put("model", content)
    err, _ = folder.refuses("svmx-predict", "rows", "model", "out")
    assert "not a model of LIBSVM" not in err


LOST = {kind: contents[0] for kind, contents in OTHERS.items()}
LOST |= {"a compressed file": gzip.compress(VALID), "no model": b"notes to keep\n"}


@pytest.mark.parametrize("kind", LOST)
def test_training_warns_of_what_its_model_replaces_and_is_no_model(folder, kind):
    """LIBSVM overwrites it, so scripts continue: `svmx-train train test` instead of `svm-predict test …`."""
    folder.put("rows", TESTS)
    folder.put("test", LOST[kind])
    err, _ = folder.accepts("svmx-train", "rows", "test")
    assert err == f"warning: test is {kind}, and the model is going to replace it\n"
    assert folder.accepts("svmx-train", "rows", "test")[0] == ""  # now it is a model
    folder.put("test", LOST[kind])
    assert folder.accepts("svmx-train", "-q", "rows", "test")[0] == ""
    assert folder.get("test").startswith(b"svm_type")


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xef\xbb\xbfsvm_type c_svc\n", b"nr_class 2\n"])
def test_training_replaces_models_and_empty_files_without_a_word(folder, content):
    folder.put("rows", TESTS)
    folder.put("model", content)
    assert folder.accepts("svmx-train", "rows", "model")[0] == ""
