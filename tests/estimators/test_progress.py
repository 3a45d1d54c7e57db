"""Progress of a fit, and ways to end it: callbacks, bars, time limits, Ctrl-C."""

import io
import signal
import sys
from contextlib import nullcontext, redirect_stderr
from itertools import pairwise

import numpy as np
import pytest
from support.data import sparse_rows
from support.optional import optional

import libsvmx
from libsvmx._train.updating.state import State

base = optional("sklearn.base")
exceptions = optional("sklearn.exceptions")

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")


X, Y = sparse_rows("heart_scale")
IRIS, SPECIES = sparse_rows("iris.scale", 150)


def values(model, rows):
    return model.decision_function(rows) if hasattr(model, "decision_function") else model.predict(rows)


class Told(list):
    """A callback that records its calls, and ends the fit once ``until`` says so."""

    def __init__(self, until=lambda progress: False):
        super().__init__()
        self.until = until

    def __call__(self, progress):
        self.append(progress)
        return self.until(progress)


# ---- callbacks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_callback_is_told_of_the_beginning_and_the_end(name):
    told = Told()
    found = getattr(libsvmx, name)(gamma=0.1, callback=told).fit(X, Y)
    assert (told[0].done, told[0].total, told[0].iterations) == (0, 1, 0)
    assert (told[-1].done, told[-1].total) == (1, 1)
    assert told[-1].iterations == np.sum(found.n_iter_)
    assert all(a.seconds <= b.seconds for a, b in pairwise(told))
    expected = getattr(libsvmx, name)(gamma=0.1).fit(X, Y)
    np.testing.assert_array_equal(values(found, X), values(expected, X))


def test_a_callback_is_told_of_all_pairs_of_classes():
    told = Told()
    found = libsvmx.SVC(callback=told).fit(IRIS, SPECIES)
    assert [progress.done for progress in told if progress.done] == [1, 2, 3]
    assert {progress.total for progress in told} == {3}
    assert told[-1].iterations == found.n_iter_.sum()
    told.clear()
    libsvmx.SVC(callback=told, probability=True, random_state=0).fit(IRIS, SPECIES)
    assert told[-1].done == told[-1].total == 18


@pytest.mark.parametrize("name", NAMES)
def test_a_callback_ends_a_fit_with_what_it_has(name):
    found = getattr(libsvmx, name)(gamma=0.1, callback=Told(lambda progress: True))
    with pytest.warns(exceptions.ConvergenceWarning, match="interrupted"):
        found.fit(X, Y)
    assert found.fit_status_ == 1
    assert found.optimality_ > found.tol
    assert np.isfinite(values(found, X)).all()


def test_a_fit_that_is_ended_between_pairs_says_so():
    """With a warm start small problems, too, are solved one after the other, not all at once."""
    found = libsvmx.SVC(tol=1e-5, warm_start=True, callback=Told(lambda progress: progress.done == 1))
    with pytest.warns(exceptions.ConvergenceWarning, match="interrupted"):
        found.fit(IRIS, SPECIES)
    expected = libsvmx.SVC(tol=1e-5).fit(IRIS, SPECIES)
    assert found.fit_status_ == 1
    assert found.n_iter_[0] == expected.n_iter_[0]
    assert list(found.n_iter_[1:]) == [0, 0]


@pytest.mark.parametrize("name", NAMES)
def test_what_a_callback_raises_leaves_the_estimator_as_it_was(name):
    found = getattr(libsvmx, name)(gamma=0.1).fit(X, Y)
    before = values(found, X)

    def callback(progress):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        found.set_params(callback=callback).fit(X[:150], Y[:150])
    np.testing.assert_array_equal(values(found, X), before)


def test_callbacks_of_updates_and_leave_one_out():
    told = Told()
    found = libsvmx.SVC(gamma=0.1, callback=told).partial_fit(X[:100], Y[:100])
    told.clear()
    result = found.loo_decision_function()
    assert (told[-1].done, told[-1].total) == (100, 100)
    found.set_params(callback=lambda progress: True)
    with pytest.raises(ValueError, match="interrupted"):
        found.partial_fit(X[100:], Y[100:])
    with pytest.raises(ValueError, match="interrupted"):
        found.loo_decision_function()
    np.testing.assert_array_equal(found.set_params(callback=None).loo_decision_function(), result)


def test_parameters_of_a_callback():
    with pytest.raises(ValueError, match="callback"):
        libsvmx.SVC(callback=3).fit(X, Y)
    told = Told()
    assert base.clone(libsvmx.SVC(callback=told)).get_params()["callback"] is not None


# ---- bars and the transcript ----------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_bar_on_a_terminal(capsys):
    pytest.importorskip("tqdm")
    terminal = Terminal()
    with redirect_stderr(terminal):
        found = libsvmx.SVC(verbose=True).fit(IRIS, SPECIES)
    assert "SVC fit: 100%" in terminal.getvalue()
    assert "3/3" in terminal.getvalue()
    assert f"{found.n_iter_.sum()} iterations" in terminal.getvalue()
    assert capsys.readouterr().out == ""
    terminal.truncate(0)
    with redirect_stderr(terminal):
        libsvmx.SVC(verbose=True, keep_rows=True).fit(IRIS, SPECIES).loo_decision_function()
    assert "SVC leave-one-out: 100%" in terminal.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_the_transcript_without_a_terminal_or_tqdm(terminal, monkeypatch, capsys):
    if terminal:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with redirect_stderr(Terminal()) if terminal else nullcontext():
        libsvmx.SVC(verbose=True).fit(IRIS, SPECIES)
    printed = capsys.readouterr().out
    assert printed.startswith("[LibSVM]")
    assert printed.count("optimization finished, #iter = ") == 3


def test_updates_print_a_line(capsys):
    found = libsvmx.SVC(gamma=0.1).partial_fit(X[:100], Y[:100]).set_params(verbose=True)
    found.partial_fit(X[100:120], Y[100:120]).unlearn([3])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" rows, ")[0] for line in lines] == ["+20 -0: 120", "+0 -1: 119"]
    assert all(" breakpoints, " in line for line in lines)


def test_a_bar_is_closed_by_an_error():
    """It ends its line, and tqdm no longer draws it."""
    tqdm = pytest.importorskip("tqdm.auto").tqdm
    terminal, known = Terminal(), set(getattr(tqdm, "_instances", ()))

    def callback(progress):
        raise KeyboardInterrupt

    with redirect_stderr(terminal), pytest.raises(KeyboardInterrupt) as kept:
        libsvmx.SVC(verbose=True, callback=callback).fit(X, Y)
    assert terminal.getvalue().count("\n") == 1 and kept.tb  # whose traceback still holds the bar
    assert set(tqdm._instances) == known


# ---- time limits and Ctrl-C -----------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_a_time_limit_is_told(name):
    found = getattr(libsvmx, name)(gamma=0.1, max_time=1e-9)
    with pytest.warns(exceptions.ConvergenceWarning, match="time limit"):
        found.fit(X, Y)
    assert found.fit_status_ == 1
    assert found.optimality_ > found.tol
    assert np.isfinite(values(found, X)).all()


def test_probabilities_of_a_fit_that_was_ended():
    found = libsvmx.SVC(probability=True, max_time=1e-9)
    with pytest.warns(exceptions.ConvergenceWarning, match="time limit"):
        found.fit(X, Y)
    with pytest.raises(exceptions.NotFittedError, match="nor when the fit was ended early"):
        found.predict_proba(X)


@pytest.mark.parametrize("name", NAMES)
def test_ctrl_c_leaves_the_estimator_as_it_was(name):
    """The signal is sent from within the fit; the solver reacts at its next check, without finishing."""
    rows, targets = sparse_rows("splice.xz", 400)
    kind = getattr(libsvmx, name)
    found = kind(gamma=0.5).fit(rows, targets)
    before, seen = values(found, rows), []

    def callback(progress):
        seen.append(progress)
        if len(seen) == 1:
            signal.raise_signal(signal.SIGINT)

    found.set_params(gamma=0.05, callback=callback)
    with pytest.raises(KeyboardInterrupt):
        found.fit(rows, targets)
    assert seen[-1].done == 0
    np.testing.assert_array_equal(values(found, rows), before)
    expected = kind(gamma=0.05).fit(rows, targets)
    found.set_params(gamma=0.05, callback=None)
    np.testing.assert_array_equal(values(found.fit(rows, targets), rows), values(expected, rows))


def test_ctrl_c_in_a_path_leaves_the_rows(monkeypatch):
    found = libsvmx.SVC(gamma=0.1).partial_fit(X[:100], Y[:100])
    before = found.decision_function(X)
    change = State.change

    def interrupted(self, *arguments):
        signal.raise_signal(signal.SIGINT)
        return change(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(State, "change", interrupted)
        with pytest.raises(KeyboardInterrupt):
            found.partial_fit(X[100:], Y[100:])
    np.testing.assert_array_equal(found.decision_function(X), before)
    assert len(found.row_ids_) == 100
