"""One against one of very many classes: refused at once where its pairs find no room."""

import gc

import numpy as np
import pytest
from support.machine import machine_with, too_little_memory
from support.policies import KernelPolicy
from support.recorder import Recorder

import libsvmx

K = 1200
ROWS = [{1: float(i % 7), 2: float(i % 11)} for i in range(K)]
PAIRS = K * (K - 1) // 2
TOO_FEW = 400 * PAIRS
SAYS = rf"a model of {PAIRS} pairs of {K} classes needs about \d+ MB, and \d+ MB are left; targets of a regression\?"


def dense():
    return [[row[1], row[2]] for row in ROWS]


CALLS = {
    "train": lambda: libsvmx.train(ROWS, range(K)),
    "nu": lambda: libsvmx.train(ROWS, range(K), svm_type="nu_svc"),
    "a state": lambda: libsvmx.train(ROWS, range(K), keep_state=True),
    "folds": lambda: libsvmx.cross_validate(ROWS, range(K), 3),
    "a grid": lambda: libsvmx.grid_search(ROWS, range(K), log2c=(0, 1, 1), log2g=None, n_folds=3),
    "SVC": lambda: libsvmx.SVC().fit(dense(), range(K)),
    "NuSVC": lambda: libsvmx.NuSVC().fit(dense(), range(K)),
}


@pytest.mark.filterwarnings("ignore:The number of unique classes")
@pytest.mark.parametrize("call", CALLS)
def test_pairs_without_room_are_refused_before_the_first(call):
    if call in ("SVC", "NuSVC"):
        pytest.importorskip("sklearn")
    with too_little_memory(TOO_FEW, SAYS):
        CALLS[call]()


def test_the_command_says_so_too(folder):
    folder.put("data", "".join(f"{i} 1:{i % 7}\n" for i in range(K)))
    with machine_with(free_bytes=TOO_FEW):
        err, _ = folder.refuses("svmx-train", "data", "model")
    assert err.startswith(f"svmx-train: error: out of memory: a model of {PAIRS} pairs of {K} classes needs")
    assert "targets of a regression? they are for epsilon-SVR and nu-SVR" in err


def test_a_window_of_very_many_classes_is_refused_before_the_first(folder):
    folder.put("data", "".join(f"{i} 1:{i % 7}\n" for i in range(K + 1)))
    with machine_with(free_bytes=TOO_FEW):
        err, _ = folder.refuses("svmx-update", "--window", str(K), "data", "model")
    assert f"out of memory: a model of {PAIRS} pairs of {K} classes needs" in err


def test_new_classes_of_a_state_are_counted_without_those_that_are_there():
    state = libsvmx.train(ROWS[:3], range(3), keep_state=True)
    with too_little_memory(TOO_FEW, SAYS):
        state.add(ROWS[3:], range(3, K))
    assert len(state) == 3


def test_regressions_and_few_classes_are_not_asked():
    with machine_with(free_bytes=TOO_FEW):
        libsvmx.train(ROWS, range(K), svm_type="epsilon_svr", C=1e-3)
        libsvmx.train(ROWS, [i % 3 for i in range(K)])


def test_a_state_of_many_classes_is_of_few_objects_for_each_pair():
    """The garbage collector looks at all of them again and again: of 200 classes that took half of the time."""
    k = 24
    X, y = np.random.default_rng(0).normal(size=(3 * k, 4)), np.repeat(np.arange(k), 3)
    libsvmx.train(X[:9], y[:9], keep_state=True)  # what is loaded, once
    gc.collect()
    before = len(gc.get_objects())
    state = libsvmx.train(X, y, keep_state=True)
    gc.collect()
    assert (len(gc.get_objects()) - before) / (k * (k - 1) // 2) < 50
    assert len(state) == len(y)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_state_is_the_same_whether_its_pairs_were_trained_in_a_queue(weighted):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 6
    weights = rng.choice([0.0, 0.5, 1.0, 2.0], 60) if weighted else None
    found = []
    for queue in (True, False):
        told = Recorder()
        state = libsvmx.train(
            X, y, keep_state=True, sample_weight=weights, C=3.0, policy=KernelPolicy(queue=queue), observer=told
        )
        assert not told.reports  # a state has a report of its own
        state.update(add=(X[:4] + 0.1, y[:4]), remove=[0, 7])
        found.append((state.model.sv_coef.tobytes(), np.asarray(state.model.rho).tobytes(), state.report))
    assert found[0] == found[1]
