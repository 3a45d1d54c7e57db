"""One against one with very many classes: refused at once if there is no memory for its pairs."""

import gc
import pickle
import re
import tracemalloc
import warnings

import numpy as np
import pytest
from libsvmx._kernels.sharedrows import SharedRows
from support.machine import machine_with, too_little_memory
from support.oracle import Oracle
from support.policies import ALWAYS_SHARED, BY_CLASSES, NEVER_SHARED, KernelPolicy
from support.recorder import Recorder

import libsvmx
from libsvmx._kernels.kernel_matrix import Kernel
from libsvmx._train.solve_report import NUMBERS
from libsvmx.api.arrays import as_matrix
from libsvmx.io.modelfile import model_text

K = 1200
ROWS = [{1: float(i % 7), 2: float(i % 11)} for i in range(K)]
PAIRS = K * (K - 1) // 2
TOO_FEW = 80 * PAIRS
SAYS = rf"a model of {PAIRS} pairs of {K} classes needs about \d+ MB, and \d+ MB are left; targets of a regression\?"


def few_rows(k, step):
    """k classes of two or three rows."""
    rng = np.random.default_rng(k)
    y = rng.permutation(np.concatenate([np.repeat(np.arange(k), 2), np.arange(0, k, step)])).astype(float)
    return rng.normal(size=(len(y), 4)) + 0.3 * (y % 7)[:, None], y


@pytest.mark.parametrize("svm_type", ["c_svc", "nu_svc"])
@pytest.mark.parametrize("pairs", [1, 7, 435])
def test_pairs_in_batches_are_libsvms(svm_type, pairs, tmp_path):
    """A queue of ``pairs`` pairs at a time: the same model, transcript and reports."""
    X, y = few_rows(30, 4)
    options = {"svm_type": svm_type, "nu": 0.3, "gamma": 0.5, "policy": KernelPolicy(pairs_in_queue=pairs)}
    weights = {"weights": {3: 2.0, 17: 0.5}} if svm_type == "c_svc" else {}
    silent, recorder, marks = libsvmx.train(X, y, **options, **weights), Recorder(), []
    recorder.mark = marks.append
    told = libsvmx.train(X, y, observer=recorder, **options, **weights)
    words = f"-s {int(silent.param.svm_type)} -n 0.3 -g 0.5" + (" -w3 2 -w17 0.5" if weights else "")
    oracle = Oracle(as_matrix(X), y, words).train()
    assert model_text(silent) == model_text(told) == oracle.model_bytes(tmp_path)
    assert len(silent.reports) == 435 and silent.reports == told.reports == tuple(recorder.reports)
    counts = re.findall(r"#iter = (\d+)", oracle.transcript)
    assert [report.iterations for report in silent.reports] == list(map(int, counts))
    assert marks.count("*") == oracle.transcript.count("*")


def test_pairs_that_an_end_comes_before():
    """In the first batch, or in a later one."""
    X, y = few_rows(30, 4)

    class Ends(libsvmx.Observer):
        def __init__(self, after):
            self.left = after

        def should_stop(self):
            self.left -= 1
            return self.left < 0

    policy = KernelPolicy(pairs_in_queue=100)
    whole = libsvmx.train(X, y, gamma=0.5, policy=policy)
    begun = set()
    for after in (*range(12), 25, 50, 100, 10**6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", libsvmx.ConvergenceWarning)
            model = libsvmx.train(X, y, gamma=0.5, policy=policy, observer=Ends(after))
        done = [status == "converged" for status in model.statuses]
        begun.add(sum(done))
        assert len(done) == 435 and set(model.statuses) <= {"converged", "interrupted"}
        for k in np.flatnonzero(done):
            assert model.reports[k] == whole.reports[k]
    assert len(begun) > 2 and 435 in begun


def test_reports_are_as_good_as_a_tuple():
    X, y = few_rows(5, 2)
    model = libsvmx.train(X, y, gamma=0.5)
    reports = model.reports
    assert (
        len(reports) == 10 and reports == tuple(reports) and tuple(reports) == reports and reports != tuple(reports)[1:]
    )
    assert reports[-1] == reports[9] and reports[2:8:3] == (reports[2], reports[5])
    assert {type(one) for one in reports} == {libsvmx.SolveReport}
    assert isinstance(reports[0].iterations, int) and isinstance(reports[0].n_sv, int)
    assert repr(reports) == repr(tuple(reports)) and hash(reports) == hash(tuple(reports))
    assert reports + reports == tuple(reports) * 2
    assert model.statuses == ("converged",) * 10
    assert pickle.loads(pickle.dumps(model)).reports == reports
    with pytest.raises(IndexError):
        reports[10]


def test_a_thousand_classes_take_no_object_for_each_pair():
    """Half a million pairs of two classes of two rows: Python objects for them would take hundreds of MB."""
    X, y = few_rows(1000, 2000)
    gc.collect()
    tracemalloc.start()
    model = libsvmx.train(X, y, gamma=0.5)
    held, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    n_pairs = 499_500
    arrays = 8 * (n_pairs * (len(NUMBERS) + 1) + len(model.coef))  # reports, rho, coefficients
    assert held < 1.2 * arrays
    assert most < 300 * n_pairs
    assert len(model.reports) == n_pairs


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
    """The garbage collector visits all of them repeatedly: with 200 classes that took half of the time."""
    k = 24
    X, y = np.random.default_rng(0).normal(size=(3 * k, 4)), np.repeat(np.arange(k), 3)
    libsvmx.train(X[:9], y[:9], keep_state=True)  # loads modules once
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
        assert not told.reports  # a state has its own report
        state.update(add=(X[:4] + 0.1, y[:4]), remove=[0, 7])
        found.append((state.model.sv_coef.tobytes(), np.asarray(state.model.rho).tobytes(), state.report))
    assert found[0] == found[1]


@pytest.mark.parametrize("policy", [KernelPolicy(), BY_CLASSES, NEVER_SHARED, ALWAYS_SHARED], ids=str)
def test_kernel_rows_are_gone_before_support_vectors_are_copied(policy):
    """Both may take as much memory as the rows."""

    def kernels():
        return sum(isinstance(each, Kernel | SharedRows) for each in gc.get_objects())

    class Looks(libsvmx.Observer):
        def total_sv(self, n_sv):
            self.found = kernels()

    gc.collect()
    before, observer = kernels(), Looks()
    libsvmx.train(*few_rows(6, 2), gamma=0.5, policy=policy, observer=observer)
    assert observer.found == before
