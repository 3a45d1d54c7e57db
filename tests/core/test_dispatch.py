"""The CPU targets of the hot loops: the choice, and that all give the same bits."""

import ctypes
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from support.other_systems import SYSTEMS, output_with_loops

import libsvmx
from libsvmx._core import dispatch
from libsvmx.exceptions import ParameterError

ROOT = Path(__file__).parents[2]
LOOPS = ROOT / "libsvmx" / "_core" / "loops"
USABLE = [name for name in dispatch.BUILT if dispatch.BUILT[name] and dispatch.RUNNABLE[name]]
ALL = {"avx512": True, "avx2": True, "baseline": True}


def under(target, *command, **settings):
    """A finished Python process with that LIBSVMX_CPU."""
    environment = {**os.environ, dispatch.VARIABLE: target}
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, check=False, **settings
    )


# ---- the choice ------------------------------------------------------------------------------------


def test_the_baseline_is_always_there():
    assert list(dispatch.BUILT) == list(dispatch.RUNNABLE) == list(ALL)
    assert USABLE[-1] == "baseline"
    assert dispatch.CHOSEN in USABLE


@pytest.mark.parametrize(
    ("wanted", "built", "runnable", "expected"),
    [
        ("", {}, {}, "avx512"),
        ("", {}, {"avx512": False}, "avx2"),
        ("", {"avx512": False, "avx2": False}, {}, "baseline"),
        ("baseline", {}, {}, "baseline"),
        ("avx2", {}, {"avx512": False}, "avx2"),
    ],
)
def test_the_fastest_is_chosen_or_the_one_that_is_named(wanted, built, runnable, expected):
    assert dispatch.fitting(wanted, ALL | built, ALL | runnable) == expected


@pytest.mark.parametrize(
    ("wanted", "built", "runnable", "cause"),
    [
        ("sse9", {}, {}, "no such CPU target, only avx512, avx2, baseline. Unset LIBSVMX_CPU, or set it to avx512 or"),
        ("AVX2", {}, {}, "no such CPU target"),
        ("avx2", {"avx512": False, "avx2": False}, {}, "-Dsimd=enabled.*set it to baseline$"),
        ("avx512", {}, {"avx512": False}, "this CPU, or its operating system.*set it to avx2 or baseline$"),
    ],
)
def test_what_cannot_run_is_refused(wanted, built, runnable, cause):
    with pytest.raises(ParameterError, match=rf"^LIBSVMX_CPU={wanted}: .*{cause}"):
        dispatch.fitting(wanted, ALL | built, ALL | runnable)


@pytest.mark.parametrize("target", USABLE)
def test_the_environment_names_it(target):
    done = under(target, "-c", "from libsvmx._core.dispatch import CHOSEN; print(CHOSEN)")
    assert (done.stdout, done.stderr) == (f"{target}\n", "")


def test_a_wrong_name_is_an_error_at_the_first_import():
    done = under("sse9", "-c", "import libsvmx; print('so far'); libsvmx.train")
    assert done.returncode == 1
    assert done.stdout == "so far\n"
    assert "ParameterError: LIBSVMX_CPU=sse9: " in done.stderr


@pytest.mark.parametrize("command", ["train", "predict", "scale", "grid", "update"])
def test_a_command_says_it_in_a_line(command):
    done = under("sse9", "-c", f"from libsvmx.cli.start import {command}; {command}()", "--help")
    if command == "scale":  # calls no loop
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"svmx-{command}: error: LIBSVMX_CPU=sse9: there is no such CPU target")
    assert done.stderr.count("\n") == 1


# ---- equal bits ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checksums(tmp_path_factory):
    """A function of a CPU target's name: checksums from loops_agree.c by loop name."""
    compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None or not LOOPS.exists():
        pytest.skip("needs a C compiler and the sources")
    built = tmp_path_factory.mktemp("loops") / "agree.so"
    source = Path(__file__).with_name("loops_agree.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-I", LOOPS, source, "-o", built, "-lm"], check=True)
    library = ctypes.CDLL(str(built))
    library.loops_name.restype = ctypes.c_char_p
    names = []
    while (name := library.loops_name(len(names))) is not None:
        names.append(name.decode())

    def of(target):
        sums = (ctypes.c_uint64 * len(names))()
        library.loops_checksums(ctypes.c_void_p(dispatch.address(target)), sums)
        return dict(zip(names, sums, strict=True))

    return of


@pytest.fixture(scope="module")
def expected(checksums):
    return checksums("baseline")


@pytest.mark.parametrize("target", USABLE[:-1])
def test_every_loop_gives_the_bits_of_the_baseline(checksums, expected, target):
    found = checksums(target)
    assert {name for name in expected if found[name] != expected[name]} == set()


def test_the_checksums_are_of_what_the_loops_do(expected):
    assert len(expected) > 40
    assert len(set(expected.values())) == len(expected)


@pytest.mark.parametrize("system", SYSTEMS)
def test_other_systems_give_them_too(system, expected, tmp_path):
    """On all targets; otherwise the program's exit code is 1."""
    lines = output_with_loops(system, tmp_path, "-DPROGRAM", Path(__file__).with_name("loops_agree.c")).splitlines()
    found = dict(line.split()[1:] for line in lines if line.startswith("baseline "))
    assert found == {name: f"{checksum:016x}" for name, checksum in expected.items()}


OTHERS = [name for name in USABLE if name != dispatch.CHOSEN]

# For each formulation and kernel, and for dense, float32 and sparse rows: the model, and its predictions.
TRAININGS = """
import hashlib, sys
import numpy as np
import libsvmx
from scipy.sparse import csr_array
draw, digest = np.random.default_rng(5), hashlib.sha256()
X = draw.normal(size=(120, 70)) * (draw.random((120, 70)) < 0.7)
y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * draw.normal(size=120) > 0, 1.0, -1.0)
for svm_type in ("c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"):
    for kernel_type in ("linear", "poly", "rbf", "sigmoid"):
        for rows in (X, X.astype(np.float32), csr_array(X)):
            model = libsvmx.train(rows, y, svm_type=svm_type, kernel_type=kernel_type, nu=0.3, gamma=0.05, coef0=0.5)
            for values in (model.coef, model.rho, libsvmx.decision_values(model, X)):
                digest.update(np.asarray(values).tobytes())
print(digest.hexdigest())
"""


@pytest.mark.parametrize("target", OTHERS)
def test_models_are_the_same_on_the_others(target):
    here, there = under(dispatch.CHOSEN, "-c", TRAININGS), under(target, "-c", TRAININGS)
    assert (here.returncode, here.stderr) == (there.returncode, there.stderr) == (0, "")
    assert len(here.stdout) == 65 and there.stdout == here.stdout


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", OTHERS)
def test_models_are_those_of_libsvm_on_the_others(target):
    """The matrix of formulations, kernels and data, and prediction, in a process with that target."""
    files = ["tests/train/test_against_libsvm.py", "tests/kernels/test_cross.py", "tests/kernels/test_bits.py"]
    files.append("--exhaustive")
    done = under(target, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *files, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-3000:]


def test_where_there_is_no_table_there_is_no_address():
    assert dispatch.address("sse9") == 0
    assert all(dispatch.address(name) for name in USABLE)


# ---- reports -----------------------------------------------------------------------------------------


def test_show_config_returns_or_prints(capsys):
    found = libsvmx.show_config(mode="dicts")
    assert found["version"] == libsvmx.__version__
    assert found["cpu_targets_runnable"] == USABLE
    assert set(USABLE) <= set(found["cpu_targets"]) <= set(ALL)
    assert found["cpu_target"] == dispatch.CHOSEN
    assert found["threads"] >= 1
    assert len(found["compiler"].split()) == 2
    assert capsys.readouterr().out == ""
    assert libsvmx.show_config() is None
    lines = dict(line.split(": ", 1) for line in capsys.readouterr().out.splitlines())
    assert list(lines) == list(found)
    assert lines["cpu_targets_runnable"].split() == USABLE
    with pytest.raises(ParameterError, match="mode='dict'"):
        libsvmx.show_config(mode="dict")


def test_show_config_tells_the_target_that_is_named():
    done = under("baseline", "-c", "import libsvmx; libsvmx.show_config()")
    assert "cpu_target: baseline\n" in done.stdout
