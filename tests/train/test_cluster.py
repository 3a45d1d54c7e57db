"""Rows on a Dask cluster: the results of one process, with any blocks, and after losing a worker."""

import os
import signal

import numpy as np
import pytest
from support.data import load
from support.optional import optional
from support.recorder import Recorder
from support.sequential import SequentialClient

import libsvmx
import libsvmx.dask
from libsvmx import DataError, FormatError, KernelType, ParameterError, SvmxError
from libsvmx._train.observer import Remark
from libsvmx.io.svmlight import write_data

distributed = optional("distributed")
da = optional("dask.array")

pytestmark = pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")

EXACT = 1e-8


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes; other tests would not notice if nothing left this one."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(request, exhaustive):
    """For many short tasks in sequence, a cluster takes a hundred times as long as this process."""
    return request.getfixturevalue("cluster") if exhaustive else SequentialClient()


def files_of(folder, matrix, targets, sizes):
    """Data files with ``sizes`` rows."""
    paths, begin = [], 0
    for k, size in enumerate(sizes):
        rows = np.arange(begin, begin + size, dtype=np.int32)
        paths.append(str(folder / f"part-{k}.svm"))
        write_data(paths[-1], matrix.take(rows), np.asarray(targets)[begin : begin + size].copy())
        begin += size
    assert begin == matrix.n_rows
    return paths


def trace_left(X, pivots, gamma):
    """The trace of K - K[:, P] K[P, P]^-1 K[P, :] of an RBF kernel."""
    width = max(X.shape[1], pivots.shape[1])
    X, pivots = (np.pad(rows, ((0, 0), (0, width - rows.shape[1]))) for rows in (X, pivots))

    def kernel(a, b):
        return np.exp(-gamma * ((a * a).sum(1)[:, None] + (b * b).sum(1)[None, :] - 2 * a @ b.T))

    columns = kernel(X, pivots)
    return len(X) - np.einsum("ij,ji->", columns, np.linalg.lstsq(kernel(pivots, pivots), columns.T, rcond=1e-12)[0])


def alone(X, y, **options):
    return libsvmx.train(X, y, solver="crsvm", **options)


def assert_same(model, other, X, within=EXACT):
    values, others = libsvmx.decision_values(model, X), libsvmx.decision_values(other, X)
    np.testing.assert_allclose(values, others, rtol=0, atol=within * abs(others).max())


@pytest.mark.filterwarnings("ignore:a weight is given for class:UserWarning")
@pytest.mark.parametrize("sizes", [(1605,), (5, 800, 800), (401, 401, 401, 402)])
def test_files_give_the_model_of_one_process(client, tmp_path, sizes):
    X, y = load("a1a.xz")
    problem = libsvmx.dask.read_problem(files_of(tmp_path, X, y, sizes), client)
    assert (problem.m, problem.labels) == (1605, [1, -1])
    recorder = Recorder()
    weights = ((1, 3.0), (1, 0.5), (7, 2.0))
    model = libsvmx.dask.train(problem, C=2.0, weights=weights, observer=recorder)
    single = Recorder()
    other = alone(X, y, kernel_type=KernelType.LINEAR, C=2.0, weights=weights, observer=single)
    assert recorder.remarks == single.remarks == ["weight without class"]
    assert_same(model, other, X)
    (report,), (expected,) = recorder.reports, single.reports
    assert report.objective == pytest.approx(expected.objective, rel=1e-10)
    assert (report.n_sv, report.n_bsv, report.status) == (expected.n_sv, expected.n_bsv, "converged")
    assert report.gap <= 1e-8
    assert model.n_sv == len(problem.features)
    assert recorder.lines[-1].number == report.iterations


def test_a_cluster_gives_the_results_of_one_process(cluster, tmp_path):
    X, y = load("heart_scale", 90)
    X, y = X.toarray(), np.asarray(y)
    for options in ({"max_iter": 8}, {"low_rank": "cholesky", "rank": 5, "gamma": 0.1, "max_iter": 3}):
        clients = (cluster, SequentialClient())
        problems = (libsvmx.dask.from_arrays(da.from_array(X, chunks=(40, 7)), y, client) for client in clients)
        model, expected = (libsvmx.dask.train(problem, **options) for problem in problems)
        assert_same(model, expected, X, 1e-12)
    with cluster.as_current():
        found = libsvmx.dask.decision_values(model, da.from_array(X, chunks=(40, 7))).compute()
    np.testing.assert_array_equal(found, libsvmx.decision_values(model, X))
    (tmp_path / "bad").write_text("1 1:2\n1 2:x\n")
    with pytest.raises(FormatError, match="bad:2"):
        libsvmx.dask.read_problem([str(tmp_path / "bad")], cluster)


def test_a_pattern_of_names(client, tmp_path):
    X, y = load("heart_scale")
    files_of(tmp_path, X, y, (100, 170))
    problem = libsvmx.dask.read_problem(str(tmp_path / "part-*.svm"), client)
    assert_same(libsvmx.dask.train(problem), alone(X, y, kernel_type=KernelType.LINEAR), X)


@pytest.mark.parametrize(("n", "chunks"), [(100, (270, 13)), (100, (97, 5)), (12, (1, 13))])
def test_arrays_of_any_chunks(client, n, chunks):
    X, y = load("heart_scale")
    X, y = X.toarray()[:n], np.asarray(y)[:n]
    problem = libsvmx.dask.from_arrays(da.from_array(X, chunks=chunks), da.from_array(y, chunks=max(1, n // 3)), client)
    model, other = libsvmx.dask.train(problem, C=0.5), alone(X, y, kernel_type=KernelType.LINEAR, C=0.5)
    assert_same(model, other, X)
    with client.as_current():
        tests = da.from_array(X, chunks=chunks)
        np.testing.assert_array_equal(libsvmx.dask.predict(model, tests).compute(), libsvmx.predict(model, X))
        values = libsvmx.dask.decision_values(model, tests).compute()
    np.testing.assert_array_equal(values, libsvmx.decision_values(model, X))


def test_huge_indices(client, tmp_path):
    """Of 2^31 - 1 features, only those that occur count; some are in a single file."""
    (tmp_path / "0").write_text("1 2:1 2147483647:2\n-1 2:-1 7:1\n")
    (tmp_path / "1").write_text("1 2:0.5 900000000:1\n-1 7:2\n")
    problem = libsvmx.dask.read_problem([str(tmp_path / "0"), str(tmp_path / "1")], client)
    assert list(problem.features) == [2, 7, 900_000_000, 2_147_483_647]
    model = libsvmx.dask.train(problem)
    (tmp_path / "all").write_text((tmp_path / "0").read_text() + (tmp_path / "1").read_text())
    X, y = libsvmx.read_problem(str(tmp_path / "all"))
    assert_same(model, alone(X, y, kernel_type=KernelType.LINEAR), X)


def test_sparse_blocks(client):
    sparse = pytest.importorskip("scipy.sparse")
    X, y = load("a1a.xz", n=300)
    dense = X.toarray()
    blocks = da.from_array(dense, chunks=(100, -1)).map_blocks(sparse.csr_matrix)
    problem = libsvmx.dask.from_arrays(blocks, np.asarray(y), client)
    assert_same(libsvmx.dask.train(problem), alone(X, y, kernel_type=KernelType.LINEAR), X)


def test_more_classes(client):
    X, y = load("vowel.scale.xz", n=300)
    problem = libsvmx.dask.from_arrays(da.from_array(X.toarray(), chunks=(150, -1)), np.asarray(y), client)
    classes = [label for label in problem.labels if label < 3]
    keep = np.isin(y, classes)
    rows = X.toarray()[keep], np.asarray(y)[keep]
    problem = libsvmx.dask.from_arrays(da.from_array(rows[0], chunks=(40, -1)), rows[1], client)
    model, other = libsvmx.dask.train(problem), alone(*rows, kernel_type=KernelType.LINEAR)
    assert_same(model, other, rows[0])
    np.testing.assert_array_equal(libsvmx.predict(model, rows[0]), libsvmx.predict(other, rows[0]))
    assert model.n_sv == len(problem.features) * (len(classes) - 1)


def test_the_model_is_a_libsvm_model(client, tmp_path):
    X, y = load("iris.scale")
    problem = libsvmx.dask.from_arrays(da.from_array(X.toarray(), chunks=(60, -1)), np.asarray(y), client)
    model = libsvmx.dask.train(problem)
    libsvmx.save_model(str(tmp_path / "m"), model)
    again = libsvmx.load_model(str(tmp_path / "m"))
    np.testing.assert_allclose(libsvmx.decision_values(again, X), libsvmx.decision_values(model, X), rtol=1e-12)


def test_a_lost_worker_changes_nothing(cluster, tmp_path):
    X, y = load("heart_scale")
    paths = files_of(tmp_path, X, y, (70, 70, 70, 60))
    undisturbed = libsvmx.dask.train(libsvmx.dask.read_problem(paths, SequentialClient()))
    problem = libsvmx.dask.read_problem(paths, cluster)
    before = set(cluster.run(os.getpid).values())
    recorder = Recorder(5, lambda: os.kill(min(before), signal.SIGKILL))
    model = libsvmx.dask.train(problem, observer=recorder)
    cluster.wait_for_workers(2)
    assert set(cluster.run(os.getpid).values()) != before  # it was killed indeed
    assert recorder.reports[0].status == "converged"
    assert_same(model, undisturbed, X)
    assert_same(model, alone(X, y, kernel_type=KernelType.LINEAR), X)


def test_no_process_is_sent_the_rows(client):
    """Messages of steps have the length of w, independent of the rows."""
    import pickle

    from libsvmx._train.cluster.row_blocks import DistributedRowBlocks

    sizes, run = [], DistributedRowBlocks.run

    def counting(blocks, step, *common, **more):
        replies = run(blocks, step, *common, **more)
        sizes.append((step.__name__, len(pickle.dumps((common, more.get("each"), replies)))))
        return replies

    m, n = 20_000, 5
    random = np.random.default_rng(0)
    X = random.standard_normal((m, n))
    y = np.where(X[:, 0] + 0.1 * random.standard_normal(m) > 0, 1.0, -1.0)
    problem = libsvmx.dask.from_arrays(da.from_array(X, chunks=(5000, -1)), y, client)
    DistributedRowBlocks.run = counting
    try:
        libsvmx.dask.train(problem)
    finally:
        DistributedRowBlocks.run = run
    largest = max((size, name) for name, size in sizes if name != "rank_rows")
    assert largest[0] < 10_000, largest
    assert max(size for _, size in sizes) < 8 * m  # keys are sampled, see constraint_reduction.quantile_sketch


@pytest.mark.each_value
@pytest.mark.parametrize("method", ["cholesky", "rpcholesky", "nystrom"])
@pytest.mark.parametrize("chunks", [(1605,), (401, 401, 401, 402)])
def test_low_rank(client, tmp_path, method, chunks):
    X, y = load("a1a.xz")
    problem = libsvmx.dask.read_problem(files_of(tmp_path, X, y, chunks), client)
    options = {"low_rank": method, "rank": 60, "gamma": 1 / 123, "C": 4.0, "predict_with": "factor"}
    recorder = Recorder()
    model = libsvmx.dask.train(problem, observer=recorder, **options)
    ((rank, error, trace),) = recorder.factors
    assert trace == pytest.approx(1605)
    assert 0 < rank <= 60
    assert error == pytest.approx(trace_left(X.toarray(), model.vectors.toarray(), 1 / 123), rel=1e-6)
    assert model.n_sv == rank or method == "nystrom"
    if method == "cholesky":  # the others draw different pivots
        single = Recorder()
        assert_same(model, alone(X, y, observer=single, **options), X, 1e-7)
        assert error == pytest.approx(single.factors[0][1], rel=1e-9)
    accuracy = np.mean(libsvmx.predict(model, X) == np.asarray(y))
    exact = libsvmx.train(X, y, gamma=1 / 123, C=4.0)
    assert abs(accuracy - np.mean(libsvmx.predict(exact, X) == np.asarray(y))) < 0.02


@pytest.mark.each_value
@pytest.mark.parametrize("wanted", [0.5, 0.1])
@pytest.mark.parametrize("method", ["cholesky", "rpcholesky"])
def test_rank_by_error(client, method, wanted):
    X, y = load("heart_scale")
    problem = libsvmx.dask.from_arrays(da.from_array(X.toarray(), chunks=(90, -1)), np.asarray(y), client)
    recorder, single = Recorder(), Recorder()
    options = {"low_rank": method, "rank_error": wanted, "gamma": 0.1, "predict_with": "factor"}
    model = libsvmx.dask.train(problem, observer=recorder, **options)
    other = alone(X, y, observer=single, **options)
    ((rank, error, trace),), ((single_rank, _, _),) = recorder.factors, single.factors
    assert error <= wanted * trace
    if method == "cholesky":
        assert rank == single_rank
        assert_same(model, other, X, 1e-7)
    else:
        assert abs(rank - single_rank) < 0.3 * single_rank


def test_duplicates_end_the_factor(client):
    X, y = load("iris.scale")
    rows = np.tile(X.toarray()[:20], (5, 1))
    labels = np.tile(np.asarray(y)[:20], 5)
    labels[::20] = labels[0]
    if len(set(labels)) < 2:
        labels[1::20] = 99
    problem = libsvmx.dask.from_arrays(da.from_array(rows, chunks=(30, -1)), labels, client)
    recorder = Recorder()
    libsvmx.dask.train(problem, low_rank="cholesky", rank=90, gamma=1.0, observer=recorder)
    assert recorder.factors[0][0] <= 20


def test_other_formulations_are_refused(client):
    """Solver crsvm may take them, but not row by row."""
    problem = libsvmx.dask.from_arrays(da.ones((4, 2), chunks=2), da.array([1, 2, 3, 4]).rechunk(2), client=client)
    with pytest.raises(ParameterError, match=r"^rows on a cluster are trained for C_SVC, not EPSILON_SVR$"):
        libsvmx.dask.train(problem, svm_type="epsilon_svr")


def test_limits_and_interrupts(client):
    X, y = load("a1a.xz", n=400)
    problem = libsvmx.dask.from_arrays(da.from_array(X.toarray(), chunks=(200, -1)), np.asarray(y), client)
    best = Recorder()
    libsvmx.dask.train(problem, observer=best)
    recorder = Recorder()
    model = libsvmx.dask.train(problem, max_iter=3, observer=recorder)
    assert recorder.reports[0].objective < best.reports[0].objective < 0  # minus that of w, which is feasible
    assert recorder.reports[0].status == "iteration limit"
    assert model.statuses == ("iteration limit",)
    assert "iteration limit" in recorder.remarks
    recorder = Recorder()
    recorder.should_stop = lambda: len(recorder.lines) > 2
    libsvmx.dask.train(problem, observer=recorder)
    assert recorder.reports[0].status == "interrupted"
    recorder = Recorder()
    libsvmx.dask.train(problem, time_limit=1e-6, observer=recorder)
    assert recorder.reports[0].status == "time limit"


class Once(Recorder):
    """Asks once, at the n-th check, to end the call."""

    def __init__(self, n):
        super().__init__()
        self.n, self.asked = n, 0

    def should_stop(self):
        self.asked += 1
        return self.asked == self.n


def test_one_answer_ends_the_whole_call(client):
    X, y = load("iris.scale")
    problem = libsvmx.dask.from_arrays(da.from_array(X.toarray(), chunks=(60, -1)), np.asarray(y), client)
    model = libsvmx.dask.train(problem, observer=Once(2))
    assert model.statuses == ("interrupted",) * 3
    for method in ("cholesky", "rpcholesky", "nystrom"):
        with pytest.raises(libsvmx.StoppedEarly, match=r"^interrupted: the features of the rows are not finished"):
            libsvmx.dask.train(problem, low_rank=method, rank=50, gamma=1.0, observer=Once(1))
    observer = Once(2)
    model = libsvmx.dask.train(problem, low_rank="cholesky", rank=100, gamma=9.0, observer=observer)
    assert 0 < observer.factors[0][0] < 100
    assert model.statuses == ("interrupted",) * 3


def test_errors(client, tmp_path):
    X, y = load("iris.scale")
    X, y = X.toarray(), np.asarray(y)
    rows = da.from_array(X, chunks=(60, -1))
    problem = libsvmx.dask.from_arrays(rows, y, client)
    for options, text in [
        ({"kernel_type": KernelType.RBF}, "low_rank"),
        ({"solver": "smo"}, "crsvm"),
        ({"probability": True}, "probability"),
        ({"low_rank": "eigen", "rank": 3}, "eigen"),
        ({"low_rank": "nystrom", "rank_error": 0.1}, "'nystrom' on a cluster needs a rank"),
        ({"low_rank": "cholesky", "rank": 3, "predict_with": "kernel"}, "predict_with"),
        ({"low_rank": "cholesky", "rank": 3, "kernel_type": KernelType.PRECOMPUTED}, "precomputed"),
    ]:
        with pytest.raises(ParameterError, match=text):
            libsvmx.dask.train(problem, **options)
    with pytest.raises(DataError, match="one class"):
        libsvmx.dask.train(libsvmx.dask.from_arrays(rows, np.ones(150), client))
    with pytest.raises(DataError, match="finite"):
        libsvmx.dask.from_arrays(da.full((10, 2), np.nan), np.ones(10), client)
    with pytest.raises(DataError, match="block 1 of X, row 0 from 0: class label"):
        libsvmx.dask.from_arrays(rows, np.where(np.arange(150) // 60 == 1, 0.5, y), client)
    with pytest.raises(DataError, match="overflow"):
        libsvmx.dask.from_arrays(rows * 1e170, y, client)
    with pytest.raises(DataError, match=r"dask\.array"):
        libsvmx.dask.from_arrays(X, y, client)
    with pytest.raises(DataError, match=r"dask\.array"):
        libsvmx.dask.predict(libsvmx.dask.train(problem), X)
    with pytest.raises(DataError, match="one number for each row"):
        libsvmx.dask.from_arrays(rows, y[:, None], client)
    with pytest.raises(DataError, match="compute_chunk_sizes"):
        libsvmx.dask.from_arrays(rows[rows[:, 0] > 0], y, client)
    (tmp_path / "nothing").write_text("1\n-1\n")
    with pytest.raises(DataError, match="not a single feature"):
        libsvmx.dask.train(libsvmx.dask.read_problem([str(tmp_path / "nothing")], client))
    with pytest.raises(DataError, match="rows"):
        libsvmx.dask.from_arrays(rows, y[:-1], client)
    with pytest.raises(DataError, match="rows and columns"):
        libsvmx.dask.from_arrays(y, y, client)
    with pytest.raises(FileNotFoundError):
        libsvmx.dask.read_problem(str(tmp_path / "none-*"), client)
    (tmp_path / "bad").write_text("1 1:2\n1 2:x\n")
    with pytest.raises(FormatError, match="bad:2"):
        libsvmx.dask.read_problem([str(tmp_path / "bad")], client)
    (tmp_path / "empty").write_text("")
    with pytest.raises(DataError, match="no data"):
        libsvmx.dask.read_problem([str(tmp_path / "empty")], client)
    with pytest.raises(SvmxError, match="client"):
        libsvmx.dask.read_problem([str(tmp_path / "bad")])


# ---- weights ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{"kernel_type": 0}, {"low_rank": "cholesky", "rank": 40, "gamma": 0.1}])
def test_weights_of_rows_and_classes(client, tmp_path, options):
    """As in one process; also from files, and with a block without any weight."""
    X, y = load("a1a.xz")
    rng = np.random.default_rng(3)
    weights = rng.integers(0, 4, 1605) * 0.5
    weights[:100] = 0
    own = options | {"predict_with": "factor"} if "low_rank" in options else options
    expected = alone(X, y, sample_weight=weights, weights={1: 2.0}, **own)
    paths = files_of(tmp_path, X, y, (100, 705, 800))
    for k, part in enumerate(np.split(weights, [100, 805])):
        (tmp_path / f"weights-{k}").write_text("".join(f"{weight}\n" for weight in part))
    problem = libsvmx.dask.read_problem(paths, client, weight_paths=str(tmp_path / "weights-*"))
    model = libsvmx.dask.train(problem, weights={1: 2.0}, **options)
    assert_same(model, expected, X)
    dense = da.from_array(X.toarray(), chunks=(500, -1))
    problem = libsvmx.dask.from_arrays(dense, np.asarray(y), client, sample_weight=weights)
    assert_same(libsvmx.dask.train(problem, weights={1: 2.0}, **options), expected, X)


def test_a_class_of_weight_0_is_left_out(client):
    X, y = load("iris.scale")
    rows, targets = da.from_array(X.toarray(), chunks=(40, -1)), np.asarray(y)
    recorder = Recorder()
    expected = alone(X, y, kernel_type=0, weights={2: 0.0})
    problem = libsvmx.dask.from_arrays(rows, targets, client)
    model = libsvmx.dask.train(problem, weights={2: 0.0}, observer=recorder)
    assert model.class_labels == expected.class_labels == (1, 3)
    assert_same(model, expected, X)
    assert recorder.remarks.count(Remark.CLASS_DROPPED) == 1 and Remark.WEIGHT_WITHOUT_CLASS not in recorder.remarks
    with pytest.raises(DataError, match="every class has weight 0"):
        libsvmx.dask.train(problem, weights=dict.fromkeys((1, 2, 3), 0.0))
    problem = libsvmx.dask.from_arrays(rows, targets, client, sample_weight=(targets != 2).astype(float))
    assert_same(libsvmx.dask.train(problem), expected, X)


def test_weights_that_cannot_be(client):
    X, y = da.from_array(np.eye(6), chunks=(2, -1)), np.array([1, -1] * 3)
    for weights, message in (
        ([1.0] * 5, "X has 6 rows, but sample_weight has 5"),
        ([1, 1, 1, -2, 1, 1], "block 1 of X, row 1 from 0: a weight must be finite and >= 0, not -2"),
        ([1, 1, 1, 1, np.nan, 1], "block 2 of X, row 0 from 0"),
    ):
        with pytest.raises(DataError, match=message):
            libsvmx.dask.from_arrays(X, y, client, sample_weight=weights)
    problem = libsvmx.dask.from_arrays(X, y, client, sample_weight=[0.0] * 6)
    with pytest.raises(DataError, match="every row has weight 0"):
        libsvmx.dask.train(problem)
    problem = libsvmx.dask.from_arrays(X, y, client, sample_weight=[1e300] * 6)
    with pytest.raises(ParameterError, match="not finite"):
        libsvmx.dask.train(problem, C=1e300)
