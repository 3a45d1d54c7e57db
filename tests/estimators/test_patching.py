"""libsvmx's estimators in place of scikit-learn's."""

import pickle
import subprocess
import sys

import pytest
from support.optional import optional

import libsvmx

svm = optional("sklearn.svm")

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR")
X, Y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]


@pytest.fixture
def patched():
    libsvmx.patch_sklearn()
    yield
    libsvmx.unpatch_sklearn()


def test_names(patched):
    for name in NAMES:
        assert getattr(svm, name) is getattr(libsvmx, name)
    libsvmx.patch_sklearn()
    libsvmx.unpatch_sklearn()
    for name in NAMES:
        assert getattr(svm, name).__module__ == "sklearn.svm._classes"
    libsvmx.unpatch_sklearn()


def test_names_that_scikit_learn_has_imported_already():
    import sklearn

    theirs = svm.SVC
    sklearn.a_name_for_it = theirs
    try:
        libsvmx.patch_sklearn()
        assert sklearn.a_name_for_it is libsvmx.SVC
        libsvmx.unpatch_sklearn()
        assert sklearn.a_name_for_it is theirs
    finally:
        del sklearn.a_name_for_it


def test_pickles_of_scikit_learn_stay_its_own():
    theirs = svm.SVC().fit(X, Y)
    pickled = pickle.dumps(theirs)
    libsvmx.patch_sklearn()
    try:
        again = pickle.loads(pickled)
        assert type(again) is type(theirs)
        assert list(again.predict(X)) == Y
    finally:
        libsvmx.unpatch_sklearn()


WORKER = """\
import pickle, sys
from sklearn.base import clone
estimator = pickle.loads(sys.stdin.buffer.read())
print(clone(estimator).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]).predict([[3.0]]))
"""


def test_a_process_that_is_not_patched_trains_what_a_patched_one_has_pickled():
    libsvmx.patch_sklearn()
    try:
        pickled = pickle.dumps(svm.LinearSVC(penalty="l1", dual=False))
    finally:
        libsvmx.unpatch_sklearn()
    done = subprocess.run([sys.executable, "-P", "-c", WORKER], input=pickled, capture_output=True, check=True)
    assert done.stdout.strip() == b"[1]"
    with pytest.raises(ValueError, match="penalty='l1'"):
        pickle.loads(pickle.dumps(libsvmx.LinearSVC(penalty="l1", dual=False))).fit(X, Y)


def test_nothing_is_left_of_a_fit_before(patched):
    frame = optional("pandas").DataFrame(X, columns=["a"])
    fitted = svm.LinearSVC(dual=False).fit(frame, Y)
    assert fitted.feature_names_in_ == ["a"]
    fitted.set_params(penalty="l1").fit(X, Y)
    assert {"feature_names_in_", "dual_gap_", "fit_status_"}.isdisjoint(vars(fitted))


def test_what_is_replaced_is_logged(caplog):
    with caplog.at_level("INFO", logger="libsvmx.sklearn"):
        libsvmx.patch_sklearn()
        libsvmx.unpatch_sklearn()
    told = caplog.text
    assert "sklearn.svm.SVC is libsvmx's" in told
    assert "sklearn.svm.l1_min_c stays scikit-learn's" in told


SCRIPT = """\
import sys
from sklearn.svm import SVC
print(SVC.__module__, sys.argv, __name__, SVC().fit([[0.0], [1.0]], [3, 4]).predict([[0.9]]))
"""


def run(*arguments, cwd):
    command = [sys.executable, "-P", "-m", "libsvmx.sklearn", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_a_script_unchanged(tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT)
    expected = "libsvmx.sklearn.classifiers ['script.py', '-x', 'y'] __main__ [4]\n"
    done = run("script.py", "-x", "y", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, expected, "")
    done = run("--verbose", "-m", "script", "1", cwd=tmp_path)
    assert "sklearn.svm.SVC is libsvmx's" in done.stderr
    assert done.stdout.startswith("libsvmx.sklearn.classifiers") and done.stdout.endswith("'1'] __main__ [4]\n")


def test_usage(capsys):
    from libsvmx.sklearn.__main__ import main

    assert main(["--help"]) == 0
    assert capsys.readouterr().out.startswith("Run a script")
    for arguments in ([], ["--nonsense"], ["-m"]):
        assert main(arguments) == 1
        assert "Usage:" in capsys.readouterr().err


def test_without_scikit_learn_the_error_says_what_to_do():
    code = (
        "import sys; sys.modules['sklearn'] = None\n"
        "import libsvmx\n"
        "assert 'SVC' not in libsvmx.__all__\n"
        "try:\n    libsvmx.SVC\n"
        "except ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'scikit-learn>=" in done.stdout
