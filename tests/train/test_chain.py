"""Chains of folds in a queue: SIR, MIR and ATO, each fold from the one before."""

import numpy as np
import pytest
from support import data

import libsvmx

QUEUED = ("sir", "mir", "ato")


def validated(name, n_folds, seeder, **options):
    matrix, y = data.load(name)
    return libsvmx.cross_validate(matrix, y, n_folds, seeder=seeder, **options)


@pytest.mark.parametrize("C", [1.0, 1000.0])
@pytest.mark.parametrize("seeder", QUEUED)
def test_folds_end_at_their_optimum(seeder, C):
    """The gap is that of the dual problem; objectives are those of folds from nothing, to eps."""
    found = validated("heart_scale", 20, seeder, C=C, eps=1e-3, threads=1)
    exact = validated("heart_scale", 20, "none", C=C, eps=1e-5, threads=1)
    assert [fold.seeder for fold in found.folds] == ["none"] + [seeder] * 19
    for own, other in zip(found.folds, exact.folds, strict=True):
        assert own.gap <= 1e-3
        assert own.objective == pytest.approx(other.objective, rel=1e-5 * C**0.5)
    assert found.iterations < validated("heart_scale", 20, "none", C=C, threads=1).iterations


def test_a_path_that_pays_leaves_nothing_to_the_solver():
    found = validated("heart_scale", 100, "ato", C=1000.0, threads=1)
    followed = [fold for fold in found.folds[2:] if fold.iterations == 0]
    assert len(followed) > 40
    assert found.iterations < 0.3 * validated("heart_scale", 100, "sir", C=1000.0, threads=1).iterations


@pytest.mark.parametrize("seeder", QUEUED)
def test_threads_change_nothing(seeder):
    """Each pair of classes is a chain of its own."""
    one, two = (validated("vowel.scale.xz", 5, seeder, C=10.0, gamma=0.5, threads=n) for n in (1, 3))
    assert np.array_equal(one.decision_values, two.decision_values)
    assert [fold.iterations for fold in one.folds] == [fold.iterations for fold in two.folds]
    other = validated("vowel.scale.xz", 5, "none", C=10.0, gamma=0.5, threads=1)
    assert np.mean(np.asarray(one.predictions) == np.asarray(other.predictions)) > 0.99


@pytest.mark.parametrize("seeder", QUEUED)
def test_a_class_that_changes_its_side(seeder):
    """Where the first row of a fold is of the other class, the dual problem has its classes the other way round."""
    matrix, y = data.load("heart_scale")
    y = np.where(np.asarray(y) > 0, 1.0, 2.0)
    found = libsvmx.cross_validate(matrix, y, 10, seeder=seeder, C=10.0, threads=1)
    exact = libsvmx.cross_validate(matrix, y, 10, seeder="none", C=10.0, threads=1)
    assert np.asarray(found.decision_values) == pytest.approx(np.asarray(exact.decision_values), abs=0.02)
