"""Command lines of svmx-train and svmx-predict. Ids contain the number of the fault in
tests/io/invalid/README.md."""

import pytest
from libsvmx._version import VERSION
from support import data
from support.commands import process
from support.oracle import Oracle

from libsvmx.cli import predict, train

HEART = str(data.DATA / "heart_scale")
TINY = "1 1:1 2:0.5\n-1 1:-1\n1 1:0.75\n-1 1:-0.5 2:-1\n"

# fault, options, cause
REFUSED = [
    *(
        (41, f"-{o} {v}", f"option -{o} needs a finite number, not '{v}'")
        for o in "cgrenmp"
        for v in ("nan", "inf", "-inf")
        if (o, v) != ("c", "inf")  # a hard margin
    ),
    (41, "-c -1e400", "option -c needs a finite number, not '-1e400'"),
    (41, "-g 1e400", "option -g needs a finite number, not '1e400'"),
    (41, "-w1 nan", "option -w1 needs a finite number, not 'nan'"),
    (41, "--time-limit inf", "option --time-limit needs a finite number, not 'inf'"),
    (42, "-s abc", "option -s needs a number, not 'abc'"),
    (42, "-s 1.5", "option -s needs a whole number, not '1.5'"),
    (42, "-s 6", "unknown svm_type 6: choose one of 0 C_SVC"),
    (42, "-s -1", "unknown svm_type -1"),
    (42, "-t x", "option -t: unknown kernel 'x': choose one of 0 linear"),
    (42, "-t 5", "option -t: unknown kernel '5': choose one of 0 linear"),
    (42, "-h x", "option -h needs 0 or 1, not 'x'"),
    (42, "-h 2", "option -h needs 0 or 1, not '2'"),
    (42, "-b yes", "option -b needs 0 or 1, not 'yes'"),
    (42, "-c 1_0", "option -c needs a number, not '1_0'"),
    (42, "-c 1,5", "option -c needs a number, not '1,5'"),
    (42, "-d 2.5", "option -d needs a whole number, not '2.5'"),
    (42, "-c 0", "C must be > 0, not 0.0"),
    (42, "-c -1", "C must be > 0, not -1.0"),
    (42, "-g -1", "gamma must be >= 0, not -1.0"),
    (42, "-e 0", "eps must be > 0, not 0.0"),
    (42, "-m 0", "cache_size must be > 0 MB, not 0.0"),
    (42, "-s 3 -p -1", "p must be >= 0, not -1.0"),
    (42, "-s 1 -n 0", "nu must be > 0 and <= 1, not 0.0"),
    (42, "-s 2 -n 1.5", "nu must be > 0 and <= 1, not 1.5"),
    (42, "-t 1 -d -1", "degree must be between 0 and 1000000, not -1"),
    (42, "--max-iter -1", "max_iter must be between 0 and 2^63 - 1, not -1"),
    (42, "--max-iter 1e30", "max_iter must be between 0 and 2^63 - 1"),
    (42, "--time-limit -1", "time_limit must be >= 0, not -1.0"),
    (42, "--on-interrupt maybe", "option --on-interrupt needs die, save or accept, not 'maybe'"),
    (43, "-w1 -3", "the weight of class 1 must be >= 0, not -3.0"),
    (43, "-wx 3", "option -wx needs a number, not 'x'"),
    (45, "-v 1", "option -v: cross-validation needs at least 2 folds, not 1"),
    (45, "-v 0", "option -v: cross-validation needs at least 2 folds, not 0"),
    (45, "-v -5", "option -v: cross-validation needs at least 2 folds, not -5"),
    (45, "-v abc", "option -v needs a number, not 'abc'"),
    (50, "-d 1e12", "degree 1000000000000 does not fit 32 bits"),
    (50, "-t 1 -d 1000000000", "degree must be between 0 and 1000000, not 1000000000"),
    (52, "-x 1", "unknown option -x"),
    (52, "--verbose", "unknown option --verbose"),
    (52, "--lenient=1", "option --lenient takes no value"),
]


@pytest.mark.parametrize("given, number", [(["", "model"], 1), (["data", ""], 2), (["data", "model", ""], 3)])
def test_an_empty_argument_is_named(folder, given, number):
    """As from an unset shell variable."""
    folder.put("data", TINY)
    err, _ = folder.refuses("svmx-train", "-c", "4", *given)
    assert err.splitlines()[0] == f"svmx-train: error: argument {number} after the options is empty"
    err, _ = folder.refuses("svmx-train", "-W", "", "data", "model")
    assert err == "svmx-train: error: '': No such file or directory\n"


@pytest.mark.parametrize(
    "options, cause", [c[1:] for c in REFUSED], ids=[f"fault-{c[0]}{c[1].replace(' ', '')}" for c in REFUSED]
)
def test_bad_options_are_refused_in_two_lines(folder, options, cause):
    folder.put("data", TINY)
    folder.put("model", folder.KEPT)
    err, out = folder.refuses("svmx-train", *options.split(), "data", "model")
    assert err.startswith(f"svmx-train: error: {cause}")
    assert err.splitlines()[1:] == ["see svmx-train --help"]
    assert out == ""


# fault, options, limitation of the kernel or the data
INFEASIBLE = [
    (
        49,
        "-s 1 -n 0.9",
        "nu = 0.9 is infeasible: classes 1 and -1 have 120 and 150 rows, which allows at most 0.888888",
    ),
    (49, "-s 1 -n 0.9 -v 3", "which allows at most 0.888888"),
    (50, "-t 1 -d 1000 -g 1 -r 5", "overflows"),
    (50, "-t 1 -g 1e300", "overflows"),
    (50, "-t 1 -r 1e300", "overflows"),
    (48, "-w1 0 -w-1 0", "every class has weight 0"),
]


@pytest.mark.parametrize(
    "options, cause", [c[1:] for c in INFEASIBLE], ids=[f"fault-{c[0]}{c[1].replace(' ', '')}" for c in INFEASIBLE]
)
def test_parameters_that_do_not_suit_the_data_are_refused(folder, options, cause):
    folder.put("model", folder.KEPT)
    err, out = folder.refuses("svmx-train", *options.split(), HEART, "model")
    assert cause in err
    assert "optimization finished" not in out


@pytest.mark.parametrize(
    "options", ["-t 3 -g 1e300", "-t 3 -r 1e300", "-t 3 -r -1e300", "-g 1e300", "-g 1e-300", "-c 1e300", "-c 1e-300"]
)
def test_fault_50_extreme_but_bounded_kernels_stay_finite(folder, options):
    code, out, err = folder.call("svmx-train", *options.split(), "--max-iter", "2000", HEART, "model")
    assert "nan" not in out and "inf" not in out.replace("\ninf", "")
    if code:
        assert "model" not in folder.snapshot() and err
    else:
        assert b"nan" not in folder.get("model") and b"inf" not in folder.get("model")


# ---------------------------------------------------------------- grammar

SAME = [
    ("-c 5", "-cost 5"),
    ("-c 5", "-c1 5"),
    ("-c 5", "-c 1 -c 5"),
    ("-c 5", "-c 5.0e0"),
    ("-g 0.5 -c 5", "-c 5 -g .5"),
    ("-q -c 5", "-quiet -c 5"),
    ("-w1 2 -w-1 3", "-w-1 3 -w+1 2"),
    ("-w1 6", "-w1 2 -w1 3"),
    ("-d 7 -c 5", "-c 5"),
    ("--max-iter 7", "--max-iter=7"),
    ("-s 0 -t 2", "-type 0 -t 2 -s 0"),
]


@pytest.mark.parametrize("one, other", SAME)
def test_equal_command_lines_give_equal_models(folder, one, other):
    folder.accepts("svmx-train", "-q", *one.split(), HEART, "one")
    folder.accepts("svmx-train", "-q", *other.split(), HEART, "other")
    folder.accepts("svmx-train", "-q", HEART, "default")
    assert folder.get("one") == folder.get("other")
    if "-s" not in one:
        assert folder.get("one") != folder.get("default")


def test_options_are_those_of_libsvm(folder):
    matrix, targets = data.load("heart_scale")
    for options in ("-c 5 -g 0.25", "-w1 2 -w-1 0.5", "-s 3 -p 0.2 -h 0", "-t 1 -d 2 -r 1 -e 0.01"):
        folder.accepts("svmx-train", *options.split(), HEART, "model")
        assert folder.get("model") == Oracle(matrix, targets, options).train().model_bytes(folder.path)


def test_a_bare_w_is_the_weight_of_class_0(folder):
    folder.put("data", "0 1:1\n1 1:0.9\n0 1:-1\n1 1:0.2\n")
    folder.accepts("svmx-train", "-q", "-w", "3", "data", "one")
    folder.accepts("svmx-train", "-q", "-w0", "3", "data", "other")
    assert folder.get("one") == folder.get("other")


def test_the_default_model_stands_in_the_current_folder(folder):
    (folder.path / "there").mkdir()
    folder.put("there/data.txt", TINY)
    folder.accepts("svmx-train", "-q", "there/data.txt")
    assert [*folder.snapshot()] == ["data.txt.model"]
    assert [p.name for p in (folder.path / "there").iterdir()] == ["data.txt"]


def test_more_arguments_than_needed_are_ignored(folder):
    folder.put("data", TINY)
    folder.accepts("svmx-train", "-q", "data", "model", "more", "-c", "-x")
    folder.accepts("svmx-predict", "-q", "data", "model", "output", "more", "-x")
    assert sorted(folder.snapshot()) == ["data", "model", "output"]


@pytest.mark.parametrize("option", ["-c", "-wx", "-v", "--max-iter", "-b"])
def test_options_without_their_value(folder, option):
    err, out = folder.refuses("svmx-train", option)
    assert (err, out) == (f"svmx-train: error: option {option} needs a value\nsee svmx-train --help\n", "")


def test_fault_51_predict_with_nothing_behind_b(folder):
    err, out = folder.refuses("svmx-predict", "-b")
    assert (err, out) == ("svmx-predict: error: option -b needs a value\nsee svmx-predict --help\n", "")
    for args in (["-b", "1"], ["-b", "1", "a"], ["a", "b"], ["-q"]):
        err, out = folder.refuses("svmx-predict", *args)
        assert (err, out) == (
            "svmx-predict: error: a test file, a model file and an output file are needed\nsee svmx-predict --help\n",
            "",
        )
    for args in (["-b", "2", "a", "b", "c"], ["-x", "a", "b", "c"], ["-b", "nan", "a", "b", "c"]):
        err, out = folder.refuses("svmx-predict", *args)
        assert (err.splitlines()[1:], out) == (["see svmx-predict --help"], "")


@pytest.mark.parametrize("command, usage", [("svmx-train", train.USAGE), ("svmx-predict", predict.USAGE)])
def test_fault_52_usage_help_and_version(command, usage):
    asked = process(command, "-q", "--help") if command == "svmx-train" else process(command, "--help")
    assert (asked.returncode, asked.stdout.decode(), asked.stderr) == (0, usage, b"")
    version = process(command, "--version")
    assert version.stdout.decode() == f"{command} {VERSION} (libsvmx; compatible with LIBSVM 3.37)\n"
    assert (version.returncode, version.stderr) == (0, b"")


def test_every_option_of_the_usage_is_known(folder):
    folder.put("data", TINY)
    options = {
        line.split()[0].rstrip("L")
        for line in train.USAGE.splitlines()
        if line.startswith("  -") and "--help" not in line
    }
    assert len(options) == 43
    for option in options - {"-q", "--lenient", "--loo", "--explain", "--unbalanced"}:
        _, _, err = folder.call("svmx-train", option)
        assert err == f"svmx-train: error: option {option} needs a value\nsee svmx-train --help\n"


# ---------------------------------------------------------------- weights, folds, probability


def test_fault_43_weight_0_drops_the_class(folder):
    folder.put("data", "1 1:1\n2 1:2\n3 1:3\n1 1:1.5\n2 1:2.5\n3 1:3.5\n")
    folder.put("rest", "1 1:1\n3 1:3\n1 1:1.5\n3 1:3.5\n")
    err, _ = folder.accepts("svmx-train", "-g", "1", "-w2", "0", "data", "model")
    assert err == "warning: class 2 has weight 0 and is left out\n"
    folder.accepts("svmx-train", "-g", "1", "rest", "expected")
    assert folder.get("model") == folder.get("expected")


def test_fault_44_a_weight_for_an_absent_class(folder):
    folder.put("data", TINY)
    err, _ = folder.accepts("svmx-train", "-w7", "3", "data", "model")
    assert err == "warning: a weight is given for class 7, which does not occur in the data\n"
    folder.accepts("svmx-train", "data", "expected")
    assert folder.get("model") == folder.get("expected")


def test_fault_46_more_folds_than_rows_is_leave_one_out(folder):
    folder.put("data", TINY)
    err, out = folder.accepts("svmx-train", "-v", "100", "data")
    assert err == "warning: more folds than rows (100 4): every row becomes a fold of its own\n"
    _, expected = folder.accepts("svmx-train", "-v", "4", "data")
    assert out == expected
    assert folder.accepts("svmx-train", "-v", "1e30", "data")[1] == expected


def test_fault_47_a_class_smaller_than_the_folds(folder):
    folder.put("data", TINY + "3 1:2\n1 1:3\n")
    err, _ = folder.accepts("svmx-train", "-v", "3", "data")
    assert err == "warning: there are fewer rows than folds in class -1, 3\n"


@pytest.mark.parametrize("options", ["", "-b 1"])
def test_fault_47_a_fold_that_holds_every_row_ends_cleanly(folder, options):
    folder.put("data", "1 1:1\n2 1:2\n3 1:3\n")
    code, _, err = folder.call("svmx-train", *options.split(), "-v", "2", "data")
    assert code == 1
    assert "svmx-train: error: data: one of 2 stratified folds holds all 3 rows" in err


def test_cross_validation_prints_its_line_even_when_quiet_and_writes_nothing(folder):
    err, out = folder.accepts("svmx-train", "-q", "-v", "5", HEART)
    matrix, targets = data.load("heart_scale")
    predicted = Oracle(matrix, targets, "-q").cross_validate(5)
    correct = sum(p == y for p, y in zip(predicted, targets, strict=True))
    assert (err, out) == ("", f"Cross Validation Accuracy = {100 * correct / len(targets):g}%\n")
    assert folder.snapshot() == {}


def test_fault_48_too_few_rows_for_probabilities_are_remarked(folder):
    folder.put("data", "1 1:1\n-1 1:-1\n")
    err, _ = folder.accepts("svmx-train", "-b", "1", "data", "model")
    assert err == "warning: too few rows for reliable probability estimates of class 1, -1\n"
    folder.put("data", "1 1:1\n-1 1:-1\n" * 5)
    err, _ = folder.accepts("svmx-train", "-b", "1", "data", "model")
    assert err == ""


def test_fault_49_the_greatest_feasible_nu_is_feasible(folder):
    err, _ = folder.refuses("svmx-train", "-s", "1", "-n", "0.888889", HEART, "model")
    limit = err.split()[-1]
    folder.accepts("svmx-train", "-s", "1", "-n", limit, HEART, "model")


@pytest.mark.parametrize("size", ["1e-9", "0.001", "1e300"])
def test_any_cache_size_gives_the_same_model(folder, size):
    folder.accepts("svmx-train", "-q", HEART, "expected")
    folder.accepts("svmx-train", "-q", "-m", size, HEART, "model")
    assert folder.get("model") == folder.get("expected")


def test_a_lone_dash_is_standard_input_and_no_option(folder):
    done = process("svmx-train", "-q", "-g", "2", "-", "model", input=TINY.encode())
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"gamma 2\n" in folder.get("model")


def test_fault_40_a_kernel_that_is_not_symmetric_is_remarked(folder):
    symmetric = "1 0:1 1:2 2:1\n-1 0:2 1:1 2:2\n"
    folder.put("data", symmetric)
    assert folder.accepts("svmx-train", "-q", "-t", "4", "data")[0] == ""
    folder.put("data", symmetric.replace("2:1\n-1", "2:0.5\n-1"))
    err, _ = folder.accepts("svmx-train", "-t", "4", "data")
    assert err == "warning: the precomputed kernel is not symmetric: see rows 1 and 2\n"
