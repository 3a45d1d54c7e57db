"""svmx-train -W: a file with a weight for each row."""

import gzip
import tracemalloc

import pytest
from support import data

import libsvmx
from libsvmx.io.modelfile import model_text

HEART = str(data.DATA / "heart_scale")
N = 270
WEIGHTS = [(7 * i % 5) / 2 for i in range(N)]
TEXT = "".join(f"{w:g}\n" for w in WEIGHTS)


@pytest.mark.parametrize("options", [{}, {"svm_type": 1, "nu": 0.2}, {"svm_type": 2}, {"svm_type": 3}, {"svm_type": 4}])
def test_a_model_is_that_of_the_python_interface(folder, options):
    folder.put("weights", TEXT)
    letters = [text for name, value in options.items() for text in (f"-{name[0]}", value)]
    folder.accepts("svmx-train", "-q", *letters, "-W", "weights", HEART, "model")
    X, y = libsvmx.read_problem(HEART)
    assert folder.get("model") == model_text(libsvmx.train(X, y, sample_weight=WEIGHTS, **options))


FORMS = {
    "no newline at the end": TEXT.rstrip("\n").encode(),
    "blank lines at the end": TEXT.encode() + b"\n \n",
    "carriage returns": TEXT.replace("\n", "\r\n").encode(),
    "blanks": "".join(f" {line}\t\n" for line in TEXT.split()).encode(),
    "exponents": "".join(f"{w:e}\n" for w in WEIGHTS).encode(),
    "compressed": gzip.compress(TEXT.encode()),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_file_of_weights_may_look_like_this(folder, form):
    folder.put("plain", TEXT)
    folder.put("weights", FORMS[form])
    folder.accepts("svmx-train", "-q", "-W", "plain", HEART, "expected")
    folder.accepts("svmx-train", "-q", "-W", "weights", HEART, "model")
    assert folder.get("model") == folder.get("expected")


def test_weights_of_1_are_none_and_weights_of_0_leave_rows_out(folder):
    folder.put("ones", "1\n" * N)
    folder.accepts("svmx-train", "-q", HEART, "expected")
    folder.accepts("svmx-train", "-q", "-W", "ones", HEART, "model")
    assert folder.get("model") == folder.get("expected")
    lines = (data.DATA / "heart_scale").read_bytes().splitlines(keepends=True)
    folder.put("half", b"".join(lines[::2]))
    folder.put("marks", "1\n0\n" * (N // 2))
    folder.accepts("svmx-train", "-q", "-g", "0.1", "half", "expected")
    folder.accepts("svmx-train", "-q", "-g", "0.1", "-W", "marks", HEART, "model")
    assert folder.get("model") == folder.get("expected")


def lines_with(number, text):
    lines = TEXT.splitlines()
    lines[number - 1] = text
    return "\n".join(lines) + "\n"


FAULTS = {
    "negative": (lines_with(17, "-1"), "weights:17: a weight must be finite and >= 0, not -1"),
    "nan": (lines_with(17, "nan"), "weights:17: a weight must be finite and >= 0, not nan"),
    "infinite": (lines_with(17, "1e400"), "weights:17: a weight must be finite and >= 0, not 1e400"),
    "two": (lines_with(17, "1 2"), "weights:17: a line must be one weight, not '1 2'"),
    "text": (lines_with(17, "one"), "weights:17: a line must be one weight, not 'one'"),
    "underscore": (lines_with(17, "1_0"), "weights:17: a line must be one weight, not '1_0'"),
    "bytes": (TEXT.encode() + b"\xff\x00", "weights:271: a line must be one weight, not '\\xff\\x00'"),
    "other digits": (lines_with(17, "\u0661").encode(), "weights:17: a line must be one weight, not '\\xd9\\xa1'"),
    "blank": (lines_with(17, ""), "weights:17: a line must be one weight, not ''"),
    "few": ("1\n" * 269, "weights: 269 weights for 270 rows"),
    "many": ("1\n" * 271, "weights:271: a weight for more than 270 rows"),
    "none": ("", "weights: 0 weights for 270 rows"),
    "all 0": ("0\n" * N, "every row has weight 0"),
    "damaged": (gzip.compress(TEXT.encode())[:-9], "weights"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_file_of_weights_is_refused(folder, fault):
    content, message = FAULTS[fault]
    folder.put("model", folder.KEPT)
    folder.put("weights", content)
    err, _ = folder.refuses("svmx-train", "-q", "-W", "weights", HEART, "model")
    assert message in err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"1\n" * 20_000_000, "weights:271: a weight for more than 270 rows"),
        (b"1" * 40_000_000, "weights:1: a line must be one weight, not '1111"),
        (b"#" + b"x" * 40_000_000, "weights:1: a line must be one weight, not '#xxx"),
    ],
    ids=["lines", "one line", "a comment"],
)
def test_a_file_of_weights_that_is_too_long_is_not_read_to_its_end(folder, content, message):
    """The 40 MB are neither kept nor split into lines."""
    folder.put("weights", content)
    tracemalloc.start()
    try:
        code, _, err = folder.call("svmx-train", "-q", "-W", "weights", HEART, "model")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert code == 1 and message in err
    assert peak < len(content) / 8


@pytest.mark.parametrize("end", ["", "\n", "\n" * 100_000, "\r\n \n\t\n"])
def test_blank_lines_end_a_file_of_weights(folder, end):
    folder.put("weights", TEXT.rstrip("\n") + end)
    folder.put("plain", TEXT)
    for name in ("weights", "plain"):
        folder.accepts("svmx-train", "-q", "-W", name, HEART, f"{name}.model")
    assert folder.get("weights.model") == folder.get("plain.model")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-W", "missing", HEART, "model"], "missing: No such file or directory"),
        (["-W", "-", "-", "model"], "rows and weights cannot both come from standard input"),
        (["-W", "weights", HEART, "weights"], "the model file is the same as weights, which would be lost"),
        (["-W"], "option -W needs a value"),
    ],
)
def test_what_does_not_go_together_is_refused(folder, options, message):
    folder.put("weights", TEXT)
    err, _ = folder.refuses("svmx-train", *options)
    assert message in err


def test_lenient_skips_comments_in_weights_too(folder):
    folder.put("plain", TEXT)
    folder.put("weights", "# weights\n\n" + TEXT)
    folder.accepts("svmx-train", "-q", "-W", "plain", HEART, "expected")
    folder.accepts("svmx-train", "-q", "--lenient", "-W", "weights", HEART, "model")
    assert folder.get("model") == folder.get("expected")


def test_cross_validation_trains_with_weights_and_counts_rows(folder):
    folder.put("weights", TEXT)
    _, out = folder.accepts("svmx-train", "-q", "-v", "5", "-W", "weights", HEART)
    X, y = libsvmx.read_problem(HEART)
    found = libsvmx.cross_validate(X, y, 5, sample_weight=WEIGHTS)
    assert out == f"Cross Validation Accuracy = {found.accuracy:g}%\n"


@pytest.mark.parametrize(
    "options", [["-v", "5", "--seeder", "sir"], ["--loo"], ["-v", N], ["-v", "5", "-s", "3"], ["-v", "3", "-b", "1"]]
)
def test_every_validation_takes_weights(folder, options):
    folder.put("weights", TEXT)
    folder.put("ones", "1\n" * N)
    _, plain = folder.accepts("svmx-train", "-q", *options, HEART)
    _, ones = folder.accepts("svmx-train", "-q", *options, "-W", "ones", HEART)
    _, weighted = folder.accepts("svmx-train", "-q", *options, "-W", "weights", HEART)
    assert ones == plain
    assert weighted != plain


def test_leave_one_out_is_a_cross_validation_of_as_many_folds(folder):
    folder.put("weights", TEXT)
    _, left = folder.accepts("svmx-train", "-q", "-v", N, "-W", "weights", HEART)
    _, plain = folder.accepts("svmx-train", "-q", "-v", N, "--seeder", "none", "-W", "weights", HEART)
    assert left == plain


AXES = ["-log2c", "-1,3,2", "-log2g", "-3,-5,-2", "-v", "3", "-png", "null"]


def test_a_grid_takes_weights(folder):
    folder.put("weights", TEXT)
    folder.accepts("svmx-grid", *AXES, "-W", "weights", "-out", "out", HEART)
    X, y = libsvmx.read_problem(HEART)
    search = libsvmx.grid_search(X, y, (-1, 3, 2), (-3, -5, -2), 3, sample_weight=WEIGHTS)
    rates = [line.split()[2] for line in folder.get("out").decode().splitlines() if line.startswith("log2c")]
    found = [line for line in folder.get("out").decode().splitlines() if "rate=" in line]
    assert rates or found
    assert sorted(line.split("rate=")[1].split()[0] for line in found) == sorted(f"{rate:g}" for rate in search.rate)


def test_a_grid_goes_on_only_with_the_same_weights(folder):
    folder.put("weights", TEXT)
    folder.put("others", TEXT.replace("2", "3"))
    folder.accepts("svmx-grid", *AXES, "-W", "weights", "-out", "out", HEART)
    folder.accepts("svmx-grid", *AXES, "-W", "weights", "-out", "again", "-resume", "out", HEART)
    for options in (["-W", "others"], []):
        err, _ = folder.refuses("svmx-grid", *AXES, *options, "-out", "again", "-resume", "out", HEART)
        assert "out" in err


def test_a_grid_refuses_what_does_not_go_together(folder):
    folder.put("weights", TEXT)
    err, _ = folder.refuses("svmx-grid", *AXES, "-W", "weights", "-out", "weights", HEART)
    assert "the output file is the same as weights, which would be lost" in err
    err, _ = folder.refuses("svmx-grid", *AXES, "-W", "-", "-out", "null", "-")
    assert "rows and weights cannot both come from standard input" in err
    folder.put("few", "1\n")
    err, _ = folder.refuses("svmx-grid", *AXES, "-W", "few", "-out", "null", HEART)
    assert f"few: 1 weights for {N} rows" in err


def rows_of(folder, name, rows):
    lines = (data.DATA / "heart_scale").read_bytes().splitlines(keepends=True)
    folder.put(name, b"".join(lines[i] for i in rows))
    folder.put(f"{name}.weights", "".join(f"{WEIGHTS[i]:g}\n" for i in rows))


def same_model(folder, one, other):
    """Models of the same optimum; rho may differ by rounding."""
    X, _ = libsvmx.read_problem(HEART)
    values = [libsvmx.decision_values(libsvmx.load_model(str(folder.path / name)), X) for name in (one, other)]
    assert abs(values[0] - values[1]).max() < 1e-5


def test_an_update_joins_rows_with_weights(folder):
    options = ["-q", "-c", "2", "-g", "0.1"]
    rows_of(folder, "first", range(200))
    rows_of(folder, "more", range(200, N))
    rows_of(folder, "rest", range(10, N))
    folder.accepts("svmx-train", *options, "-W", "first.weights", "first", "model")
    changes = ["--add", "more", "--add-weights", "more.weights", "--remove", "1-10"]
    folder.accepts("svmx-update", *options, "-W", "first.weights", *changes, "first", "model", "new")
    folder.accepts("svmx-train", *options, "-e", "1e-8", "-W", "rest.weights", "rest", "expected")
    same_model(folder, "new", "expected")
    folder.accepts("svmx-update", *options, "-W", "first.weights", "--save-state", "state", "first", "model")
    folder.accepts("svmx-update", "-q", "--state", "state", *changes, "from-state")
    same_model(folder, "from-state", "expected")
    err, _ = folder.refuses("svmx-update", *options, *changes, "first", "model", "new")  # without -W
    assert "exceeds C" in err or "is not among" in err


def test_a_window_slides_over_rows_with_weights(folder):
    rows_of(folder, "stream", range(120))
    rows_of(folder, "last", range(20, 120))
    options = ["-q", "-c", "2", "-g", "0.1"]
    folder.accepts("svmx-update", *options, "--window", "100", "--step", "7", "-W", "stream.weights", "stream", "model")
    folder.accepts("svmx-train", *options, "-e", "1e-8", "-W", "last.weights", "last", "expected")
    same_model(folder, "model", "expected")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--add-weights", "first.weights", "first", "model"], "option --add-weights needs --add"),
        (["-W", "first.weights", "--state", "state", "new"], "-W cannot be given with --state: the state file has"),
        (["-W", "-", "--add", "-", "first", "model"], "standard input can be one of the files only"),
        (["-W", "first.weights", "--add", "more", "first", "model", "first.weights"], "the model file is the same as"),
        (["--window", "50", "-W", "first.weights", "first", "first.weights"], "the model file is the same as"),
        (
            ["--add", "more", "--add-weights", "first.weights", "first", "model"],
            ":71: a weight for more than 70 rows",
        ),
        (["-W", "more.weights", "--add", "more", "first", "model"], "70 weights for 200 rows"),
    ],
)
def test_what_an_update_refuses(folder, options, message):
    rows_of(folder, "first", range(200))
    rows_of(folder, "more", range(200, N))
    folder.accepts("svmx-train", "-q", "-W", "first.weights", "first", "model")
    err, _ = folder.refuses("svmx-update", "-q", *options)
    assert message in err
