"""--solver crsvm with limits, interrupts, and refused or unusual data."""

import os
import re
import signal
import subprocess

import numpy as np
import pytest
from support.commands import PATIENCE, arguments
from support.crsvm_command import CRSVM, HEADER, HEART, LINEAR, RBF, STOPPED, lines, numbers

from libsvmx.io.modelfile import load_model

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals")


@pytest.mark.parametrize(
    ("limit", "remark"),
    [
        (["--time-limit", "0.000001"], "the time limit was reached before the tolerance"),
        (["--max-iter", "4"], "the iteration limit was reached before the tolerance"),
    ],
)
@pytest.mark.parametrize("options", [LINEAR, RBF, [*RBF, "--predict-with", "factor"]])
def test_limits(limit, remark, options, folder):
    err, out = folder.accepts("svmx-train", *options, *limit, HEART, "model")
    assert err == f"warning: {remark}: {STOPPED}"
    assert len(lines(out)[0]) <= 5
    assert numbers(out)["obj"] <= 0  # no worse than alpha = 0
    folder.accepts("svmx-predict", "-q", HEART, "model", "out")


def test_at_the_optimum_a_limit_is_no_matter(folder):
    """Crossover finds it some iterations before the interior point gets there."""
    _, out = folder.accepts("svmx-train", *LINEAR, HEART, "usual")
    n = int(numbers(out)["#iter"])
    err, _ = folder.accepts("svmx-train", *LINEAR, "--max-iter", n - 1, HEART, "model")
    assert err == ""
    np.testing.assert_allclose(load_model("model").w, load_model("usual").w, rtol=0, atol=1e-9)


@pytest.fixture
def slow():
    """Starts svmx-train with slow iterations, and waits for the first line of the log."""
    children = []
    before = (
        "import signal, time; from libsvmx._solvers.interior_point import predictor_corrector as crsvm; "
        "true = crsvm.PredictorCorrector.advance; "
        "signal.signal(signal.SIGHUP, signal.SIG_DFL); "
        "crsvm.PredictorCorrector.advance = lambda *given: (time.sleep(0.2), true(*given))[1]"
    )

    def start(*args):
        command = arguments("svmx-train", *args, before=before)
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        children.append(child)
        assert child.stdout.readline() == HEADER.encode() + b"\n"
        assert child.stdout.readline().startswith(b"   0 ")
        return child

    yield start
    for child in children:
        child.kill()
        child.wait()
        child.stdout.close()
        child.stderr.close()


@posix
def test_an_interrupt_ends_it(folder, slow):
    folder.put("model", folder.KEPT)
    before = folder.snapshot()
    child = slow(*LINEAR, HEART, "model")
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=PATIENCE)
    assert (child.returncode, err) == (-signal.SIGINT, b"svmx-train: interrupted: model is as it was\n")
    assert folder.snapshot() == before


@posix
def test_an_interrupt_may_save_the_model_as_it_is(folder, slow):
    child = slow("--on-interrupt", "save", *LINEAR, HEART, "model")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=PATIENCE)
    assert child.returncode == 3
    assert err == f"warning: interrupted before the tolerance was reached: {STOPPED}".encode()
    assert b"optimization finished" in out
    folder.accepts("svmx-predict", "-q", HEART, "model", "output")


# ---- data ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "data: no data: there is not a single row"),
        ("1 1:1\n-1 1:nan\n", "data:2:6: "),
        ("1 1:1\n0.5 1:2\n", "data:2: "),
        ("1 1:1e150\n-1 1:2\n", "data: kernel values of rows with themselves overflow: scale the data"),
    ],
)
def test_data_that_are_refused(rows, message, folder):
    folder.put("data", rows)
    folder.put("model", folder.KEPT)
    err, _ = folder.refuses("svmx-train", *LINEAR, "data", "model")
    assert err.startswith(f"svmx-train: error: {message}")


@pytest.mark.parametrize(
    ("rows", "objective"),
    [
        ("1 \n-1 \n1 \n", -2.0),  # no features
        ("1 1:1\n-1 1:2\n", -1.5),  # every row at its bound
        ("1 0:1 1:1\n-1 0:1 1:2\n", -1.5),  # a feature with index 0 counts as a further feature
        ("1 1:1e-200\n-1 1:-1e-200\n", -2.0),
        ("1 1:3 5000000:1\n-1 9:2\n", None),  # more features than rows
        ("1 1:1\n1 1:1\n-1 1:1\n", -2.0),  # contradictions
    ],
)
@pytest.mark.parametrize("options", [LINEAR, ["-t", "0", *CRSVM, "--rank", "2"]])
def test_odd_data(rows, objective, options, folder):
    folder.put("data", rows)
    remarks, out = folder.accepts("svmx-train", *options, "data", "model")
    assert "optimal" not in remarks
    _, exact = folder.accepts("svmx-train", "-t", "0", "-e", "1e-6", "data", "exact")
    assert numbers(out)["obj"] == pytest.approx(numbers(exact)["obj"], abs=2e-6)
    if objective is not None:
        assert numbers(out)["obj"] == pytest.approx(objective, abs=2e-6)


@pytest.mark.parametrize("cost", ["1e-300", "1e-10", "1e10", "1e150", "1e300"])
@pytest.mark.parametrize("options", [LINEAR, RBF])
def test_extreme_costs(cost, options, folder):
    """An optimum, a warning or an error; never a traceback or a NumPy warning."""
    code, out, err = folder.call("svmx-train", *options, "-c", cost, HEART, "model")
    assert code in (0, 1)
    result = out.partition("optimization finished")[2]  # the log may contain the reason for stopping
    assert "nan" not in result if code == 0 else "the solution degenerates" in err
    assert all(line.startswith(("warning: ", "svmx-train: error: ")) for line in err.splitlines())
    if cost in ("1e-10", "1e10"):
        assert err == ""


def test_one_class(folder):
    folder.put("data", "1 1:1\n1 1:2\n")
    err, out = folder.accepts("svmx-train", *LINEAR, "data", "model")
    assert err == "warning: the training data has only one class, so there is nothing to separate\n"
    assert out == "Total nSV = 0\n"


def test_too_many_features(folder):
    """Of second order: n (n + 3) / 2 of n, no more than the rows, but more than a normal matrix may have."""
    folder.put("data", "".join(f"{1 - 2 * (i % 2)} {i % 200 + 1}:1\n" for i in range(20_400)))
    err, _ = folder.refuses("svmx-train", *CRSVM, "-t", "1", "-d", "2", "-r", "1", "data", "model")
    assert re.search(
        r"\d{5} features are too many for solver crsvm, whose matrix .* take a low-rank approximation", err
    )
    folder.accepts("svmx-train", "-q", *CRSVM, "-t", "1", "-d", "2", "-r", "1", "--rank", "50", "data", "model")
