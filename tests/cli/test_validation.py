"""svmx-train -v with --seeder and --seeder-scheme, and --loo: output and refusals."""

import statistics

import pytest
from support import data
from support.oracle import Oracle
from support.selection import quick_first

from libsvmx._train.validation.scheme import CHOICES, SCHEMES

HEART = str(data.DATA / "heart_scale")
IRIS = str(data.DATA / "iris.scale")
PYRIM = str(data.DATA / "pyrim")


def accuracy(name, options, n_folds):
    """LIBSVM's line."""
    matrix, y = data.load(name)
    predicted = Oracle(matrix, y, options).cross_validate(n_folds or len(y))
    right = sum(a == b for a, b in zip(predicted, y, strict=True))
    return f"Cross Validation Accuracy = {100 * right / len(y):g}%\n"


@pytest.mark.parametrize(
    ("method", "scheme"),
    [(m, s) for m in CHOICES for s in ["", *SCHEMES] if (m, s) != ("path", "chain")],
)
def test_seeded_folds_print_libsvms_line(method, scheme, folder):
    options = ["--seeder-scheme", scheme] if scheme else []
    expected = accuracy("iris.scale", "-c 8 -g 0.5", 5)
    seeded = ["-v", "5", "-c", "8", "-g", "0.5", "--seeder", method, *options, IRIS]
    assert folder.accepts("svmx-train", "-q", *seeded) == ("", expected)
    assert folder.snapshot() == {}
    _, out = folder.accepts("svmx-train", *seeded)
    assert out.endswith(expected)
    star = scheme == "star" and method != "none"  # with few folds a training over all rows is dear
    assert out.count("optimization finished") == 3 * (5 + star)


def test_a_scheme_alone_is_of_auto(folder):
    _, out = folder.accepts("svmx-train", "-v", "3", "--seeder-scheme", "star", HEART)
    assert out.count("optimization finished") == 4
    assert out.endswith(accuracy("heart_scale", "", 3))


def test_repeats(folder):
    """The first is the output of -v without repeats; the mean has LIBSVM's words before it."""
    expected = accuracy("heart_scale", "-c 4", 5)
    _, out = folder.accepts("svmx-train", "-q", "-c", "4", "-v", "5", "--repeats", "3", HEART)
    *repeats, mean = out.splitlines()
    assert repeats[0] == "Repeat 1: " + expected.removeprefix("Cross Validation ").rstrip("\n")
    assert [line.split(":")[0] for line in repeats] == ["Repeat 1", "Repeat 2", "Repeat 3"]
    n_rows = 270  # numbers are printed to six digits
    figures = [round(float(line.split()[-1].rstrip("%")) * n_rows / 100) * 100 / n_rows for line in repeats]
    assert mean == (
        f"Cross Validation Accuracy = {statistics.mean(figures):.6g}% +/- {statistics.stdev(figures):.6g}% (3 repeats)"
    )
    _, out = folder.accepts("svmx-train", "-c", "4", "-v", "5", "--repeats", "3", "--seeder-scheme", "star", HEART)
    assert out.count("optimization finished") == 3 * 5 + 1


def test_regression(folder):
    rates = []
    for options in (["-v", "74"], ["-v", "74", "--seeder", "sir"], ["--loo"]):
        _, out = folder.accepts("svmx-train", "-q", "-s", "3", "-e", "1e-7", *options, PYRIM)
        assert out.startswith("Cross Validation Mean squared error = ")
        assert out.count("\n") == 2
        rates.append([float(line.split()[-1]) for line in out.splitlines()])
    assert rates[1] == pytest.approx(rates[0], rel=1e-4)
    assert rates[2] == pytest.approx(rates[0], rel=1e-4)


@pytest.mark.parametrize("options", quick_first(["-c 4 -w1 2", "-s 1 -n 0.4137", "-c 4", "-s 2 -n 0.3137"], 2))
def test_leave_one_out_prints_libsvms_line(options, folder):
    expected = accuracy("heart_scale", options, None)
    for asked in (["--loo"], ["--loo", "--seeder", "top"], ["-v", "270"]):
        assert folder.accepts("svmx-train", "-q", *options.split(), *asked, HEART) == ("", expected)
    assert folder.snapshot() == {}


def test_as_many_folds_as_rows_trains_without_rows_that_matter_only(folder):
    _, out = folder.accepts("svmx-train", "-v", "270", HEART)
    assert 1 < out.count("optimization finished") < 270
    err, more = folder.accepts("svmx-train", "-q", "-v", "300", HEART)
    assert err == "warning: more folds than rows (300 270): every row becomes a fold of its own\n"
    assert out.endswith(more)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["-v", "5", "--seeder", "guess"],
            "option --seeder: unknown seeding method 'guess': choose one of none",
        ),
        (
            ["-v", "5", "--seeder-scheme", "ring"],
            "option --seeder-scheme: unknown seeding scheme 'ring': choose chain or star",
        ),
        (["--loo", "--seeder", "guess"], "option --seeder: unknown seeding method 'guess'"),
        (["--seeder", "sir"], "options --seeder and --seeder-scheme need -v, --loo or -b 1"),
        (["--seeder-scheme", "star"], "options --seeder and --seeder-scheme need -v, --loo or -b 1"),
        (["--seeder", "auto", "-b", "1", "-s", "2"], "the probability estimates of one-class have no folds"),
        (["--loo", "-v", "5"], "options -v and --loo exclude each other"),
        (["--repeats", "2"], "option --repeats needs -v"),
        (["--loo", "--repeats", "2"], "option --repeats needs -v"),
        (["-v", "5", "--repeats", "0"], "option --repeats must be at least 1, not '0'"),
        (["-v", "270", "--repeats", "2"], "270 folds of 270 rows are leave-one-out: each repeat would be the same"),
        (["--loo", "--seeder", "none"], "--loo starts from a training over all rows; for cold starts use -v"),
        (["-v", "1", "--seeder", "sir"], "cross-validation needs at least 2 folds, not 1"),
        (["--loo", "-b", "1"], "leave-one-out from one training gives no probability estimates"),
        (["-v", "5", "--seeder", "sir", "-w1", "0", "-w-1", "0"], "every class has weight 0"),
        (["--loo", "-w1", "0", "-w-1", "0"], "every class has weight 0"),
    ],
)
def test_refusals(options, message, folder):
    err, out = folder.refuses("svmx-train", *options, HEART)
    assert message in err
    assert "Cross Validation" not in out
