"""One program, compiled against LIBSVM's library and against ours, prints and writes the same."""

import pytest
from support import clibrary
from support.data import from_rows, load

FOLDER = clibrary.folder()


def precomputed():
    """The linear kernel of heart_scale."""
    matrix, targets = load("heart_scale", 80)
    rows = [dict(matrix.row(i)) for i in range(len(targets))]
    table = [[sum(v * b.get(j, 0.0) for j, v in a.items()) for b in rows] for a in rows]
    return from_rows([[(0, i + 1), *((j + 1, v) for j, v in enumerate(row))] for i, row in enumerate(table)]), targets


DATA = {
    "heart": lambda: load("heart_scale"),
    "iris": lambda: load("iris.scale"),
    "mpg": lambda: load("mpg", 130, factor=0.001),
    "precomputed": precomputed,
}
# data, and the number of a kernel
CASES = [*(f"{data} {kernel}" for data in ("heart", "iris", "mpg") for kernel in range(4)), "precomputed 4"]


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """By soname, and with LIBSVM as None."""
    folder, source = tmp_path_factory.mktemp("programs"), clibrary.SOURCES / "program.c"
    libraries = {None: clibrary.libsvms()} | {name: FOLDER / name for name in clibrary.HEADER}
    return {name: clibrary.compiled(source, path, folder / f"program{name}") for name, path in libraries.items()}


def outputs(programs, name, tmp_path, options, data):
    """(exit code, output, model file or None) of one program."""
    model = tmp_path / f"{name}.model"
    done = clibrary.run(programs[name], *options.split(), clibrary.write(tmp_path / "data", *DATA[data]()), model)
    assert done.stderr == "" or done.returncode == 1
    return done.returncode, done.stdout, model.read_bytes() if model.exists() else None


def without_marks(output):
    return "".join(line for line in output.splitlines(True) if not line.startswith("marks"))


@pytest.mark.parametrize("name", list(clibrary.HEADER))
@pytest.mark.parametrize("options", ["", "-b 1 -S 7", "-v 5", "-v 3 -b 1"])
@pytest.mark.parametrize("svm_type", range(5))
@pytest.mark.parametrize("case", CASES)
def test_same_output(programs, tmp_path, case, svm_type, options, name):
    data, kernel = case.split()
    if data == "mpg" and svm_type < 2:
        pytest.skip("its targets are no classes")
    if name == "libsvm.so.3" and svm_type == 2 and "-b 1" in options:
        pytest.skip("LIBSVM 3.24 has no probability estimates of a one-class SVM")
    options = f"-s {svm_type} -t {kernel} -n 0.3 -g 0.2 {options}"
    code, theirs, their_model = outputs(programs, None, tmp_path, options, data)
    expected = (code, theirs if name == "libsvm.so.4" else without_marks(theirs), their_model)
    assert expected == outputs(programs, name, tmp_path, options, data)
    assert "next random number" in theirs


@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("heart", "-w1 3 -w-1 0.5"),
        ("heart", "-h 0 -m 1"),
        ("heart", "-q -c 100 -e 1e-5"),
        ("heart", "-t 1 -d 2 -r 1"),
        ("precomputed", "-t 4 -v 3 -b 1 -S 9"),  # folds solved at once, each with a copy of the random state
    ],
)
def test_same_output_of_other_options(programs, tmp_path, data, options):
    theirs = outputs(programs, None, tmp_path, options, data)
    assert theirs == outputs(programs, "libsvm.so.4", tmp_path, options, data)


@pytest.mark.parametrize("options", ["-s 7", "-t 9", "-c 0", "-s 1 -n 1.5", "-e -1", "-h 2"])
def test_the_same_is_refused(programs, tmp_path, options):
    theirs = outputs(programs, None, tmp_path, options, "heart")
    assert theirs == outputs(programs, "libsvm.so.4", tmp_path, options, "heart")
    assert theirs[:2] == (1, "refused\n")


def test_old_structures_have_no_one_class_probabilities(programs, tmp_path):
    data, model = clibrary.write(tmp_path / "data", *DATA["heart"]()), tmp_path / "model"
    done = clibrary.run(programs["libsvm.so.3"], "-s", 2, "-b", 1, data, model)
    assert (done.returncode, done.stdout) == (1, "refused\n")
    assert "LIBSVM 3.31" in done.stderr
    assert clibrary.run(programs["libsvm.so.4"], "-s", 2, "-b", 1, data, model).returncode == 0
    loads = "import ctypes, sys; m = ctypes.CDLL(sys.argv[1]); m.svm_load_model.restype = ctypes.c_void_p; "
    done = clibrary.python(loads + "print(m.svm_load_model(sys.argv[2].encode()))", FOLDER / "libsvm.so.3", model)
    assert done.stdout == "None\n"
    assert "compiled for a LIBSVM before 3.31" in done.stderr


@pytest.mark.parametrize(("data", "options"), [("iris", "-b 1"), ("heart", "-s 3"), ("precomputed", "-t 4")])
def test_many_threads_predict_at_once(programs, tmp_path, data, options):
    code, output, _ = outputs(programs, "libsvm.so.4", tmp_path, f"{options} -T 8", data)
    assert code == 0
    assert "\n8 of 8 threads agree\n" in output


def test_many_threads_call_first_at_once(programs, tmp_path):
    code, output, _ = outputs(programs, "libsvm.so.4", tmp_path, "-C 8", "heart")
    assert code == 0
    assert output.startswith("8 of 8 threads agree\n")
