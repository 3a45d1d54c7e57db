"""Programs not written for this library: Debian's, LIBSVM's Python module, plugins; and wrong input."""

import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest
from support import clibrary
from support.data import DATA

FOLDER = clibrary.folder()
OURS = {"LD_LIBRARY_PATH": str(FOLDER)}
HEART = DATA / "heart_scale"


def debians(program):
    """The path of a program linked with libsvm.so.3."""
    found = shutil.which(program)
    if found is None or "libsvm.so.3" not in clibrary.run("ldd", found).stdout:
        pytest.skip(f"no {program} here that is linked with libsvm.so.3")
    return Path(found)


@pytest.mark.parametrize("options", ["", "-s 3 -b 1", "-v 5"])
def test_debians_commands(tmp_path, options):
    train, predict = debians("svm-train"), debians("svm-predict")
    ours = clibrary.run("svmx-train", *options.split(), HEART, "ours", cwd=tmp_path)
    done = clibrary.run(train, *options.split(), HEART, "theirs", cwd=tmp_path, **OURS)
    assert (done.returncode, done.stdout, done.stderr) == (0, ours.stdout, "")
    if options != "-v 5":
        assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
        for command, model in ((["svmx-predict"], "ours"), ([predict], "theirs")):
            done = clibrary.run(*command, HEART, model, f"{model}.out", cwd=tmp_path, **OURS)
            assert done.returncode == 0
        assert (tmp_path / "ours.out").read_bytes() == (tmp_path / "theirs.out").read_bytes()


PERL = """
use Algorithm::SVM; use Algorithm::SVM::DataSet;
my @rows;
open(my $file, $ARGV[0]);
while (<$file>) {
    my ($label, @pairs) = split;
    my @values = (0) x 13;
    for (@pairs) { my ($i, $x) = split /:/; $values[$i - 1] = $x; }
    push @rows, Algorithm::SVM::DataSet->new(Label => $label, Data => \\@values);
}
my $svm = Algorithm::SVM->new(Type => 'C-SVC', Kernel => 'radial', Gamma => 1 / 13, C => 1);
$svm->train(@rows) or die;
print join(" ", $svm->getNRClass, $svm->getLabels, scalar(grep { $svm->predict($_) == $_->label } @rows)), "\\n";
print $svm->validate(5), "\\n";
$svm->save("perl.model");
print Algorithm::SVM->new(Model => "perl.model")->predict($rows[0]), "\\n";
"""


def test_perls_module(tmp_path):
    if shutil.which("perl") is None or clibrary.run("perl", "-MAlgorithm::SVM", "-e", "1").returncode:
        pytest.skip("no Algorithm::SVM here")
    theirs = clibrary.run("perl", "-e", PERL, HEART, cwd=tmp_path)
    done = clibrary.run("perl", "-e", PERL, HEART, cwd=tmp_path, **OURS)
    assert (done.returncode, done.stdout, done.stderr) == (0, theirs.stdout, "")
    assert "\n2 1 -1 234\n" in done.stdout


PYTHON = """
import ctypes, sys, threading
if sys.argv[1:]:
    real = ctypes.CDLL
    ctypes.CDLL = lambda path: real(sys.argv[1])
from libsvm.svmutil import *
y, x = svm_read_problem(%r)
out = [None] * 4
def work(k):
    model = svm_train(y, x, f"-q -c {k + 1} -s {[0, 1, 3, 4][k]}")
    out[k] = model.get_nr_sv(), model.get_sv_indices()[:9], svm_predict(y, x, model, "-q")[2][:3]
threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(out)
model = svm_train(y, x, "-b 1")
print(svm_predict(y, x, model, "-b 1")[2][:3], svm_train(y, x, "-v 4"))
"""


def test_libsvms_python_module_in_the_same_interpreter():
    clibrary.libsvms()
    script = PYTHON % str(HEART)
    theirs, ours = clibrary.python(script), clibrary.python(script, FOLDER / "libsvm.so.4")
    assert ours.returncode == 0, ours.stderr
    assert (ours.stdout, ours.stderr) == (theirs.stdout, "")


@pytest.mark.parametrize("environment", [{}, {"PYTHONHOME": "/nowhere", "PYTHONPATH": "/nowhere", "LC_ALL": "C"}])
def test_a_plugin_and_its_child(tmp_path, environment):
    host = clibrary.compiled(clibrary.SOURCES / "host.c", FOLDER / "libsvm.so.4", tmp_path / "host", "-ldl")
    clibrary.run("svmx-train", "-q", HEART, tmp_path / "mödel")
    done = clibrary.run(host, FOLDER / "libsvm.so.4", tmp_path / "mödel", **environment)
    said = "parent 132\nhandlers and locale as before 1\nchild 132\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, said, "")


def test_the_folder_is_printed():
    done = clibrary.run(sys.executable, "-m", "libsvmx.clibrary")
    assert done.stdout == f"{FOLDER}\n"


# In each, ``m`` is the library; ``problem`` and ``param`` can be trained.
CTYPES = """
import ctypes, sys
from ctypes import POINTER, byref, c_char_p, c_double, c_int, c_void_p
import libsvm.svm as binding
problem = binding.svm_problem([1, -1, 1, -1], [{1: 1}, {1: -1}, {1: 0.5}, {1: -2}])
param = binding.svm_parameter("-q -t 0")
m = ctypes.CDLL(sys.argv[1])
m.svm_train.restype = POINTER(binding.svm_model)
m.svm_load_model.restype = POINTER(binding.svm_model)
m.svm_predict.restype = c_double
m.svm_check_parameter.restype = c_char_p
null = binding.PRINT_STRING_FUN(lambda text: None)
m.svm_set_print_string_function(null)
"""


def with_wrong_input(script, *arguments):
    clibrary.libsvms()
    done = clibrary.python(CTYPES + script, FOLDER / "libsvm.so.4", *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


BOTH = """
trained, target = m.svm_train(byref(problem), byref(param)), (c_double * 4)(*[float("nan")] * 4)
m.svm_cross_validation(byref(problem), byref(param), 2, target)
print(bool(trained), target[:])
"""


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ("problem.x[2][0].index = 3; problem.x[2][1].index = 2", None),
        ("problem.x[1] = None", "row 1: the row is NULL"),
        ("problem.l = 0", "no data: l is 0"),
        ("problem.l = -3", "no data: l is -3"),
        ("problem.y = None", "no data"),
        ("problem.y[3] = 0.5", "class label 0.5 is not an integer"),
        ("problem.x[0][0].value = float('nan')", "row 0: a feature value is not finite"),
        ("param.C = float('nan')", "C"),
        ("param.kernel_type = 4", "row 0: precomputed kernel: a row must be 0:serial"),
        ("param.svm_type = 17", "svm_type"),
        ("param.svm_type = 5", "svm_type 5 is not one of LIBSVM's"),
    ],
)
def test_problems_that_cannot_be_trained(script, complaint):
    if complaint is None:
        script += "; problem.x[2] = (binding.svm_node * 3)((3, 1), (2, 1), (-1, 0))"
        complaint = "row 2: feature indices must be ascending and not negative, but 2 follows 3"
    stdout, stderr = with_wrong_input(f"{script}\n{BOTH}")
    assert stdout == "False [nan, nan, nan, nan]\n"
    assert [line.partition(": ")[2].partition(": ")[0] for line in stderr.splitlines()] == [
        "svm_train",
        "svm_cross_validation",
    ]
    assert stderr.count(complaint) == 2


@pytest.mark.parametrize("n_folds", [-1, 0, 1])
def test_too_few_folds(n_folds):
    script = f"t = (c_double * 4)(); m.svm_cross_validation(byref(problem), byref(param), {n_folds}, t); print(t[:])"
    stdout, stderr = with_wrong_input(script)
    assert stdout == "[nan, nan, nan, nan]\n"
    assert f"at least 2 folds, not {n_folds}" in stderr


def test_invalid_model_files(tmp_path):
    damaged = tmp_path / "damaged"
    damaged.write_text("svm_type c_svc\nkernel_type linear\nnr_class two\nSV\n")
    script = "print(bool(m.svm_load_model(sys.argv[2].encode())))"
    assert with_wrong_input(script, tmp_path / "missing") == ("False\n", "")  # as LIBSVM
    stdout, stderr = with_wrong_input(script, damaged)
    assert stdout == "False\n"
    assert stderr.startswith(f"libsvm: svm_load_model: {damaged}:3: nr_class: ")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ("model = None", "there is no model"),
        ("sys.argv[2] += '/no/folder'", "Not a directory"),
        ("model[0].kernel_type = model[0].param.kernel_type = 9", "kernel_type"),
        ("model[0].rho = None", "the model has no rho"),
        ("model[0].nSV[0] = 99", "class_sv"),
        ("model[0].SV = None", "rows at address 0"),
    ],
)
def test_models_that_cannot_be_saved(tmp_path, change, complaint):
    target = tmp_path / "model"
    target.write_text("before")
    script = f"""
model = m.svm_train(byref(problem), byref(param))
{change}
print(m.svm_save_model(sys.argv[2].encode(), model))"""
    stdout, stderr = with_wrong_input(script, target)
    assert stdout == "-1\n"
    assert stderr.startswith("libsvm: svm_save_model: ")
    assert complaint in stderr
    assert target.read_text() == "before"


def test_a_row_without_a_serial_number_for_a_precomputed_kernel():
    stdout, stderr = with_wrong_input("""
rows = [[1.0, 0.2, 0.4], [0.2, 1.0, 0.1], [0.4, 0.1, 1.0]]
rows = [{0: i + 1, **{j + 1: v for j, v in enumerate(row)}} for i, row in enumerate(rows)]
problem = binding.svm_problem([1, -1, 1], rows, True)
param.kernel_type = 4
model = m.svm_train(byref(problem), byref(param))
print(m.svm_predict(model, problem.x[0]), m.svm_predict(model, (binding.svm_node * 2)((0, 1), (-1, 0))))""")
    assert stdout == "1.0 nan\n"
    assert "the row of a precomputed kernel must be 0:serial" in stderr


def test_ctrl_c_ends_a_training_and_is_raised_in_the_program():
    script = (
        CTYPES
        + """
import random, time
random.seed(1)
n = 4000
x = [{j: random.random() for j in range(1, 30)} for _ in range(n)]
problem = binding.svm_problem([random.choice((1, -1)) for _ in x], x)
param = binding.svm_parameter("-c 1e6 -g 0.01 -e 1e-9 -m 1")  # takes minutes
model = None
print("begins", flush=True)
try:
    model = m.svm_train(byref(problem), byref(param))
    for _ in range(600):  # an end, should the test be killed
        time.sleep(0.1)
except KeyboardInterrupt:
    print("interrupted", bool(model))
"""
    )
    clibrary.libsvms()
    process = subprocess.Popen(
        [sys.executable, "-c", script, FOLDER / "libsvm.so.4"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "begins\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert output == "interrupted False\n"
    assert "libsvm: svm_train: KeyboardInterrupt" in errors


def test_built_for_this_python():
    assert sysconfig.get_config_var("INSTSONAME").encode() in (FOLDER / "libsvm.so.4").read_bytes()
