"""Leave-one-out from one training over all rows, against LIBSVM's n-fold cross-validation row by row."""

import numpy as np
import pytest
from support import data
from support.against_libsvm import parameter
from support.oracle import Oracle

from libsvmx import Observer
from libsvmx._train.folds import Rand
from libsvmx._train.problem import Problem
from libsvmx._train.validation.leave_one_out import ClassOrder, leave_one_out
from libsvmx._train.validation.pair_folds import folds_of

# name -> (arguments of support.data.load, options)
CLASSIFICATION = {
    "heart": (("heart_scale",), "-c 4 -g 0.08"),
    "iris": (("iris.scale",), "-c 8 -g 0.5"),
    "glass": (("glass.scale",), "-c 32 -g 0.3"),
    "a1a": (("a1a.xz", 120), "-c 2 -g 0.05"),
    "splice": (("splice.xz", 166), "-t 0 -c 0.004"),
    "weights": (("ionosphere_scale.xz", 117), "-c 2 -g 0.1 -w1 0.37 -w-1 2"),
}


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_exact_answers_are_libsvms_at_any_eps(name):
    arguments, options = CLASSIFICATION[name]
    matrix, y = data.load(*arguments)
    problem = Problem(matrix, data.filled("d", y))
    for eps in (1e-3, 0.1):
        asked = f"{options} -e {eps}"
        found = leave_one_out(problem, parameter(asked), Rand(1), Observer(), with_values=False, exact=True)
        assert list(found.predicted) == Oracle(matrix, y, asked).cross_validate(len(y))


def test_the_order_of_classes_without_a_row():
    """It decides equal votes: classes by first appearance in the folds' order of the other rows."""
    matrix, y = data.load("glass.scale", 30)
    solver = folds_of(Problem(matrix, data.filled("d", y)), parameter("-g 0.3"), Observer())
    order = data.filled("i", np.random.default_rng(3).permutation(len(y)))
    classes = ClassOrder(solver, order)
    turned = 0
    for row in range(len(y)):
        expected = list(dict.fromkeys(solver.class_of[i] for i in order if i != row))
        assert [c for c in classes.without(row) if c in expected] == expected
        turned += expected != classes.usual
    assert turned > 0
