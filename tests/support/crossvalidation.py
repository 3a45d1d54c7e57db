"""Data sets with options for cross-validations, LIBSVM's answers to them, and folds trained one by one by LIBSVM."""

from functools import cache
from itertools import pairwise

import numpy as np

from libsvmx._train.drawn_folds import draw_folds
from libsvmx._train.folds import Rand
from libsvmx._train.observer import Observer
from libsvmx._train.parameter import Parameter
from libsvmx._train.problem import Problem
from libsvmx._train.training import default_gamma
from libsvmx._train.validation.cross_validation import cross_validate
from libsvmx._train.validation.scheme import Seeding

from . import data
from .oracle import Oracle

FIELDS = {"s": "svm_type", "t": "kernel_type", "d": "degree", "g": "gamma", "r": "coef0", "c": "C", "n": "nu", "p": "p"}
WHOLE = ("s", "t", "d")

# name -> (arguments of support.data.load, options, folds). The nu formulations have a nu for which nu l / 2 is no whole
# number in any fold: then some coefficient of either sign is free, and rho is unique.
SETS = {
    "heart": (("heart_scale",), "-c 4", 5),
    "heart, linear": (("heart_scale",), "-t 0 -c 0.5", 3),
    "iris": (("iris.scale",), "-c 8 -g 0.5", 5),
    "wine": (("wine.scale",), "-c 0.5", 6),
    "glass": (("glass.scale",), "-c 32 -g 0.3", 4),
    "a1a": (("a1a.xz", 160), "-c 2 -g 0.05", 5),
    "ionosphere": (("ionosphere_scale.xz", 175), "-c 10 -g 0.1", 5),
    "breast-cancer, weights": (("breast-cancer.xz", 228, None, 1, 0.1), "-c 2 -w2 3 -w4 0.5", 5),
    "splice, polynomial": (("splice.xz", 166), "-t 1 -d 2 -g 0.02 -r 1", 5),
    "vowel": (("vowel.scale.xz", 176), "-c 4 -g 1", 4),
    "mushrooms, sigmoid": (("mushrooms.xz", 200), "-t 3 -g 0.01 -r -0.1 -c 4", 5),
    "ionosphere, precomputed": (("ionosphere_scale.xz", 117), "-t 4 -c 0.3", 5),
    "mpg": (("mpg", 130), "-s 3 -c 10 -g 0.001 -p 0.5", 5),
    "abalone": (("abalone_scale.xz", 200), "-s 3 -c 5 -p 0.5 -g 0.3", 5),
    "abalone, nu-SVR": (("abalone_scale.xz", 200), "-s 4 -c 5 -n 0.413 -g 0.3", 5),
    "pyrim, nu-SVR": (("pyrim",), "-s 4 -c 1 -n 0.371", 8),
    "heart, one-class": (("heart_scale",), "-s 2 -n 0.313", 5),
    "wine, one-class": (("wine.scale",), "-s 2 -n 0.217 -t 0", 4),
    "heart, nu-SVC": (("heart_scale",), "-s 1 -n 0.413", 5),
    "iris, nu-SVC": (("iris.scale",), "-s 1 -n 0.213 -g 0.5", 5),
}


def parameter(options, eps):
    """A Parameter of an option string, whose -e does not count."""
    words, values, weights = options.split(), {}, []
    for option, value in zip(words[::2], words[1::2], strict=True):
        if option.startswith("-w"):
            weights.append((int(option[2:]), float(value)))
        elif option != "-e":
            values[FIELDS[option[1]]] = int(value) if option[1] in WHOLE else float(value)
    return Parameter(weights=tuple(weights), eps=eps, **values)


def posed(matrix, targets, options, eps):
    """(Problem, Parameter)"""
    return Problem(matrix, data.filled("d", targets)), default_gamma(parameter(options, eps), matrix.max_index)


@cache
def setting(name, eps):
    """(Problem, Parameter, folds) of one of SETS."""
    arguments, options, n_folds = SETS[name]
    matrix, targets = data.load(*arguments)
    if "-t 4" in options:
        matrix = data.precomputed(matrix)
    return *posed(matrix, targets, options, eps), n_folds


@cache
def libsvms_predictions(name, eps):
    """What LIBSVM's cross-validation says."""
    problem, _, n_folds = setting(name, eps)
    oracle = Oracle(problem.matrix, problem.targets, f"{SETS[name][1]} -e {eps}")
    return np.array(oracle.cross_validate(n_folds))


@cache
def unseeded(name, eps):
    """The cross-validation along LIBSVM's path."""
    problem, param, n_folds = setting(name, eps)
    return validated(problem, param, n_folds)


def validated(problem, param, n_folds, seeder="none", scheme="", observer=None, **more):
    """A cross-validation with LIBSVM's folds."""
    return cross_validate(problem, param, n_folds, Rand(1), observer or Observer(), Seeding(seeder, scheme), **more)


def table(found):
    """Decision values, a row for each row."""
    return np.asarray(found.values).reshape(len(found.predicted), -1)


def classes_in_order(targets):
    """As they come first, but +1 before -1 if these are all: the order of the decision functions."""
    labels = list(dict.fromkeys(int(y) for y in targets))
    return [1, -1] if labels == [-1, 1] else labels


def fold_by_fold(matrix, targets, options, n_folds):
    """(predictions, decision values) by LIBSVM, one model for each fold; values by the pairs of the classes of all
    rows, nan where the model lacks a class. ``options`` need -g, which otherwise depends on the rows."""
    problem, param = posed(matrix, targets, options, 0.001)
    order, bounds = draw_folds(problem, param, n_folds, Rand(1), Observer())
    rows = [matrix.row(i) for i in range(matrix.n_rows)]
    labels = classes_in_order(targets) if param.svm_type.is_classification else []
    pairs = [(a, b) for k, a in enumerate(labels) for b in labels[k + 1 :]] if labels else [None]
    predicted, values = np.zeros(len(rows)), np.full((len(rows), len(pairs)), np.nan)
    for begin, end in pairwise(bounds):
        rest, held_out = [*order[:begin], *order[end:]], [*order[begin:end]]
        oracle = Oracle(data.from_rows([rows[i] for i in rest]), [targets[i] for i in rest], options).train()
        found, decided = oracle.predict(data.from_rows([rows[i] for i in held_out]))
        own = oracle.model.get_labels() if labels else []
        for row, label, value in zip(held_out, found, decided, strict=True):
            predicted[row] = label
            if not labels:
                values[row] = value if value else label
            functions = iter(value)
            for k, a in enumerate(own):
                for b in own[k + 1 :]:
                    v = next(functions)
                    pair, sign = ((a, b), 1) if (a, b) in pairs else ((b, a), -1)
                    values[row, pairs.index(pair)] = sign * v
    return predicted, values
