"""libsvmx.grid_search, the Python function."""

import dataclasses

import numpy as np
import pytest
from support import data
from support.commands import Folder

import libsvmx

AXES = {"log2c": (-1, 3, 2), "log2g": (-5, -1, 2)}


@pytest.fixture(scope="module")
def heart():
    return libsvmx.read_problem(str(data.DATA / "heart_scale"))


def same(a, b):
    for field in dataclasses.fields(a):
        if field.name != "seconds":
            np.testing.assert_array_equal(getattr(a, field.name), getattr(b, field.name))


def test_table_is_that_of_the_command(heart, folder: Folder):
    _, out = folder.accepts(
        "svmx-grid", "-log2c", "-1,3,2", "-log2g", "-5,-1,2", "--csv", "t", data.DATA / "heart_scale"
    )
    table = np.genfromtxt(folder.path / "t", delimiter=",", names=True)
    found = libsvmx.grid_search(*heart, **AXES)
    for name in ("log2c", "log2g", "C", "gamma", "rate", "iterations"):
        np.testing.assert_array_equal(getattr(found, name), table[name])
    assert f"{found.best_C} {found.best_gamma} {found.best_rate}" == out.splitlines()[-1]
    assert np.isnan(found.squared_correlation).all()
    assert (found.seconds > 0).all()


def test_regression():
    X, y = libsvmx.read_problem(str(data.DATA / "mpg"))
    found = libsvmx.grid_search(
        X, y, seeder=None, svm_type=libsvmx.SvmType.EPSILON_SVR, log2c=(-1, 3, 2), log2g=(-9, -5, 2)
    )
    single = libsvmx.cross_validate(
        X, y, 5, svm_type=libsvmx.SvmType.EPSILON_SVR, C=found.best_C, gamma=found.best_gamma
    )
    assert found.best_rate == float(f"{single.mean_squared_error:g}") == found.rate.min()
    assert found.squared_correlation[found.best] == float(f"{single.squared_correlation:g}")


def test_one_axis_and_arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.sign(X[:, 0] + 0.1)
    found = libsvmx.grid_search(X, y, log2c=(0, 2, 1), log2g=None, kernel_type=libsvmx.KernelType.LINEAR)
    assert np.isnan(found.log2g).all()
    assert (found.gamma == 1 / 3).all()
    assert list(found.log2c) == [1, 0, 2]


def test_workers_and_clusters_change_nothing(heart):
    alone = libsvmx.grid_search(*heart, **AXES)
    pytest.importorskip("joblib")
    same(libsvmx.grid_search(*heart, workers=2, **AXES), alone)
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    ) as cluster:
        same(libsvmx.grid_search(*heart, dask=cluster.scheduler_address, **AXES), alone)
        with distributed.Client(cluster) as client:
            same(libsvmx.grid_search(*heart, dask=client, **AXES), alone)


def test_data_that_a_network_does_not_align():
    """Rows of many lengths: scattered arrays may start at any address."""
    distributed = pytest.importorskip("distributed")
    X, y = libsvmx.read_problem(str(data.DATA / "a1a.xz"))
    axes = {"log2c": (0, 1, 1), "log2g": (-4, -4, 1), "n_folds": 2}
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=True, dashboard_address="127.0.0.1:0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        same(libsvmx.grid_search(X, y, dask=client, **axes), libsvmx.grid_search(X, y, **axes))


def test_progress_is_reported(heart):
    seen = []
    found = libsvmx.grid_search(*heart, progress=seen.append, **AXES)
    assert sorted(point.rate for point in seen) == sorted(found.rate)


def test_auto_does_not_seed_where_it_is_unsupported(heart):
    axes = {"log2c": (0, 0, 1), "log2g": (-3, -3, 1), "probability": True}
    same(libsvmx.grid_search(*heart, **axes), libsvmx.grid_search(*heart, seeder=None, **axes))


def test_the_result_is_frozen(heart):
    found = libsvmx.grid_search(*heart, log2c=(0, 0, 1), log2g=None)
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.best = 3
