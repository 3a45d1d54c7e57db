"""One against one of very many classes: refused at once where its pairs find no room."""

import pytest
from support.machine import machine_with, too_little_memory

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


def test_regressions_and_few_classes_are_not_asked():
    with machine_with(free_bytes=TOO_FEW):
        libsvmx.train(ROWS, range(K), svm_type="epsilon_svr", C=1e-3)
        libsvmx.train(ROWS, [i % 3 for i in range(K)])
