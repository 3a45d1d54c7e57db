"""Inner folds of probability estimates started from the optimum over all their rows: the same sigmoids, faster."""

import numpy as np
import pytest
from support import data
from support.injected import put_around
from support.policies import BY_CLASSES, IN_TURN, KernelPolicy

import libsvmx
from libsvmx._train import prediction
from libsvmx._train.folds import Rand
from libsvmx._train.kernel_provider import KernelProvider
from libsvmx._train.observer import Observer, Remark
from libsvmx._train.queue.solve_queue import SolveQueue
from libsvmx.io.modelfile import model_text

EPS = 1e-6
SETS = ["heart_scale", "iris.scale", "glass.scale"]
# where the solves are done
PLACES = {"queue": KernelPolicy(), "by pairs of classes": BY_CLASSES, "in turn": IN_TURN}


class Counting(Observer):
    """Counts iterations."""

    def __init__(self):
        self.iterations = self.solves = 0

    def solved(self, report):
        self.iterations += report.iterations
        self.solves += 1


@pytest.fixture(params=PLACES)
def policy(request):
    return PLACES[request.param]


def arrays(name, n=None):
    matrix, targets = data.load(name, n)
    return matrix.toarray(), np.asarray(targets)


def trained(X, y, seeder, **options):
    """The model, and the number of iterations."""
    counted = Counting()
    options = {"eps": EPS, "probability": True, **options}
    return libsvmx.train(X, y, seeder=seeder, observer=counted, **options), counted


def without_sigmoids(model):
    """The model file without its probability estimates."""
    lines = model_text(model).decode().splitlines()
    return [line for line in lines if not line.startswith(("probA", "probB"))]


def agree(seeded, plain, X, most=1e-4):
    """The same except sigmoids, which agree to ``most``."""
    assert without_sigmoids(seeded) == without_sigmoids(plain)
    for name in ("sigmoid_a", "sigmoid_b"):
        ours, theirs = (np.asarray(getattr(model, name)) for model in (seeded, plain))
        assert np.abs(ours - theirs).max() < most * (1 + np.abs(theirs).max())
    ours, theirs = (libsvmx.predict_probability(model, X)[1] for model in (seeded, plain))
    assert np.abs(ours - theirs).max() < most


@pytest.mark.parametrize("C", [0.5, 20.0])
@pytest.mark.parametrize("name", SETS)
def test_the_same_sigmoids_by_fewer_iterations(name, C, policy):
    X, y = arrays(name)
    options = {"C": C, "gamma": 0.2, "policy": policy}
    (seeded, fewer), (plain, more) = (trained(X, y, seeder, **options) for seeder in ("near", None))
    agree(seeded, plain, X, 1e-4 if C > 1 else 3e-3)  # a fold without free rows has its rho in an interval
    assert model_text(seeded) != model_text(plain)  # otherwise nothing was seeded
    assert fewer.solves == more.solves
    assert fewer.iterations < (1.05 if (name, C) == ("iris.scale", 20.0) else 0.99) * more.iterations  # few rows


@pytest.mark.parametrize("seeder", [*libsvmx.SEEDERS, "path"])
@pytest.mark.parametrize("scheme", ["", "star", "chain"])
def test_every_seeder_and_scheme(seeder, scheme):
    if (seeder, scheme) == ("path", "chain"):
        with pytest.raises(libsvmx.ParameterError, match="choose star"):
            libsvmx.train(*arrays("heart_scale"), probability=True, seeder=seeder, scheme=scheme)
        return
    X, y = arrays("glass.scale")
    (seeded, _), (plain, _) = (trained(X, y, one, C=4.0, gamma=0.5, scheme=scheme) for one in (seeder, None))
    agree(seeded, plain, X)


@pytest.mark.parametrize("name", SETS)
def test_weights_of_classes_and_rows(name, policy):
    X, y = arrays(name)
    labels = sorted(set(y))
    draw = np.random.default_rng(4)
    weight = draw.choice([0.0, 0.5, 1.0, 2.5], len(y))
    options = {"C": 5.0, "gamma": 0.3, "sample_weight": weight, "policy": policy}
    options["weights"] = {int(labels[0]): 3.0, int(labels[1]): 0.25}
    (seeded, fewer), (plain, more) = (trained(X, y, seeder, **options) for seeder in ("near", None))
    agree(seeded, plain, X)
    assert fewer.iterations < more.iterations
    if len(labels) > 2:
        options["weights"] = {int(labels[0]): 0.0}
        (seeded, _), (plain, _) = (trained(X, y, seeder, **options) for seeder in ("near", None))
        assert seeded.class_labels == plain.class_labels
        agree(seeded, plain, X)


@pytest.mark.filterwarnings("ignore:too few rows for reliable:UserWarning")
def test_a_class_held_out_whole(policy):
    """Its fold has no solve; LIBSVM's constants replace its values."""
    X, y = arrays("iris.scale")
    keep = [*range(50), 60, *range(100, 120)]
    options = {"C": 5.0, "gamma": 0.3, "policy": policy}
    (seeded, _), (plain, _) = (trained(X[keep], y[keep], seeder, **options) for seeder in ("near", None))
    agree(seeded, plain, X)


@pytest.mark.parametrize("name", SETS)
def test_threads_and_calls_change_nothing(name, policy):
    X, y = arrays(name)
    options = {"C": 20.0, "gamma": 0.2, "policy": policy}
    texts = {model_text(trained(X, y, "near", threads=threads, **options)[0]) for threads in (1, 1, 2, 3)}
    assert len(texts) == 1


def test_threads_of_many_rows(policy):
    """Enough rows that threads share the work."""
    X, y = arrays("vowel.scale.xz")
    options = {"C": 4.0, "gamma": 1.0, "policy": policy}
    for targets in (y, y < 6):
        texts = {model_text(trained(X, targets, "near", threads=threads, **options)[0]) for threads in (1, 2, 5)}
        assert len(texts) == 1


@pytest.mark.parametrize("seeder", ["near", "auto", "sir"])
@pytest.mark.parametrize("svm_type", ["nu_svc", "epsilon_svr", "nu_svr"])
def test_other_formulations(svm_type, seeder):
    X, y = arrays("heart_scale")
    if svm_type != "nu_svc":
        y = X[:, 0] + np.sin(3 * X[:, 1])
        X = X[:, 1:]
    options = {"svm_type": svm_type, "nu": 0.3, "p": 0.05, "gamma": 0.1, "C": 2.0}
    (seeded, _), (plain, _) = (trained(X, y, one, **options) for one in (seeder, None))
    assert without_sigmoids(seeded) == without_sigmoids(plain)
    assert np.allclose(seeded.sigmoid_a, plain.sigmoid_a, rtol=1e-4)
    if svm_type == "nu_svc":
        agree(seeded, plain, X)


@pytest.mark.parametrize("seeder", ["auto", "sir", "near"])
@pytest.mark.parametrize(("svm_type", "C"), [("epsilon_svr", 0.05), ("epsilon_svr", 20.0), ("nu_svr", 20.0)])
def test_regressions(svm_type, C, seeder, policy):
    """With few and with many free rows; all threads find the same, in the queue by fewer iterations."""
    X, _ = arrays("heart_scale")
    options = {"svm_type": svm_type, "nu": 0.3, "p": 0.05, "gamma": 0.1, "C": C, "policy": policy}
    X, y = X[:, 1:], X[:, 0] + np.sin(3 * X[:, 1])
    (seeded, fewer), (plain, more) = (trained(X, y, one, **options) for one in (seeder, None))
    assert without_sigmoids(seeded) == without_sigmoids(plain)
    assert np.allclose(seeded.sigmoid_a, plain.sigmoid_a, rtol=1e-4)
    assert fewer.solves >= more.solves == 6
    most = 0.95 if policy is PLACES["queue"] else 1.02 if seeder == "auto" else 1.3
    assert fewer.iterations <= most * more.iterations
    texts = {model_text(trained(X, y, seeder, threads=threads, **options)[0]) for threads in (1, 2, 3, 8)}
    assert texts == {model_text(seeded)}


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
def test_a_regression_ended_early_is_a_model_without_its_noise_scale():
    X, _ = arrays("heart_scale")
    for questions in (1, 2, 4):
        stopping = Stopping(questions)
        options = {"svm_type": "epsilon_svr", "C": 1e3, "gamma": 0.1, "p": 0.0, "threads": 1, "probability": True}
        model = libsvmx.train(X[:, 1:], X[:, 0], seeder="auto", observer=stopping, eps=1e-9, **options)
        assert not model.has_probability
        assert Remark.PROBABILITY_UNFINISHED in stopping.remarks


def test_a_start_of_the_training_and_of_its_inner_folds():
    X, y = arrays("glass.scale")
    before = libsvmx.train(X, y, C=2.0, gamma=0.3, eps=EPS)
    options = {"C": 4.0, "gamma": 0.3, "start": before}
    (seeded, fewer), (plain, more) = (trained(X, y, seeder, **options) for seeder in ("auto", None))
    agree(seeded, plain, X)
    assert fewer.iterations < more.iterations


class Stopping(Observer):
    """Ends the call after that many checks."""

    def __init__(self, questions):
        self.left, self.remarks = questions, []

    def should_stop(self):
        self.left -= 1
        return self.left < 0

    def remark(self, kind, detail=""):
        self.remarks.append(kind)


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
def test_an_end_leaves_the_model_without_half_of_its_estimates(policy):
    X, y = arrays("glass.scale")
    options = {"C": 50.0, "gamma": 0.5, "eps": EPS, "probability": True, "threads": 1, "policy": policy}
    whole = Stopping(10**9)
    model = libsvmx.train(X, y, seeder="near", observer=whole, **options)
    asked = 10**9 - whole.left
    assert model.has_probability
    assert asked > 3
    ends = set()
    for questions in {0, 1, asked // 4, asked // 2, asked - 1}:
        stopping = Stopping(questions)
        part = libsvmx.train(X, y, seeder="near", observer=stopping, **options)
        ends.add(part.has_probability)
        if part.has_probability:
            assert model_text(part) == model_text(model)
        else:
            assert Remark.PROBABILITY_UNFINISHED in stopping.remarks
    assert False in ends


def test_folds_continue_from_an_unfinished_pair(policy):
    with pytest.warns(libsvmx.ConvergenceWarning):
        model, _ = trained(*arrays("heart_scale"), "near", C=100.0, gamma=0.5, max_iter=30, policy=policy)
    assert model.has_probability
    assert np.isfinite(model.sigmoid_a).all()


@pytest.mark.parametrize("n_folds", [2, 5, 12])
@pytest.mark.parametrize("name", SETS)
def test_cross_validation(name, n_folds, policy):
    X, y = arrays(name)

    def found(seeder):
        options = {"C": 5.0, "gamma": 0.3, "eps": EPS, "probability": True, "random_state": 3, "policy": policy}
        return libsvmx.cross_validate(X, y, n_folds, seeder=seeder, **options)

    seeded, plain = found("auto"), found("none")
    assert np.mean(seeded.predictions != plain.predictions) < 0.01
    assert np.nanmax(np.abs(seeded.decision_values - plain.decision_values)) < 1e-3
    if policy.queue:
        assert seeded.iterations < plain.iterations


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seeder", ["near", "sir", "path"])
@pytest.mark.parametrize("name", [*SETS, "few rows of the first class"])
def test_cross_validation_by_both_levels(name, seeder, weighted, monkeypatch):
    """Folds from a seeder, and their inner folds: the probabilities that decide are those without seeding."""
    X, y = arrays("iris.scale" if " " in name else name)
    if " " in name:  # it is in none of the rows held out by the first fold: others find it after the other classes
        X, y = X[47:], y[47:]
    seen = {"none": [], seeder: []}

    def told(known, labels, estimates, n):
        table = np.zeros((n, len(set(y))))  # a fold may lack a class
        table[:, np.searchsorted(sorted(set(y)), labels)] = np.asarray(estimates).reshape(n, -1)
        seen[running].append(table)
        return known(labels, estimates, n)

    put_around(monkeypatch, prediction, "most_probable", told)
    weight = np.random.default_rng(2).choice([0.0, 1.0, 2.0], len(y)) if weighted else None
    options = {"C": 5.0, "gamma": 0.3, "eps": EPS, "probability": True, "sample_weight": weight, "threads": 1}
    options["policy"] = IN_TURN
    found = {}
    for running in seen:
        found[running] = libsvmx.cross_validate(X, y, 4, seeder=running, **options)

    def rows(tables):
        return np.array(sorted(map(tuple, np.round(np.concatenate(tables), 9))))

    ours, theirs = rows(seen[seeder]), rows(seen["none"])
    assert ours.shape == theirs.shape == (len(y), len(set(y)))
    assert np.abs(ours - theirs).max() < 2e-3
    assert not np.array_equal(ours, theirs)
    assert np.mean(found[seeder].predictions != found["none"].predictions) < 0.02


def test_regressions_and_one_class_need_no_estimates_to_be_validated():
    X, y = arrays("heart_scale")
    for svm_type in ("epsilon_svr", "one_class"):
        options = {"svm_type": svm_type, "nu": 0.3, "gamma": 0.1, "eps": EPS, "seeder": "auto"}
        with_, without = (libsvmx.cross_validate(X, y, 5, probability=p, **options) for p in (True, False))
        assert with_.predictions.tobytes() == without.predictions.tobytes()
        assert with_.iterations == without.iterations


def test_folds_that_are_not_solved_at_all(policy):
    """Each class is a tight cluster, so that many inner folds leave the optimum unchanged."""
    draw = np.random.default_rng(2)
    X = np.concatenate([draw.normal(size=(60, 2)) + centre for centre in ([0, 0], [9, 0], [0, 9])])
    y = np.repeat([1.0, 2.0, 3.0], 60)
    options = {"gamma": 0.05, "C": 10.0, "policy": policy}
    (seeded, fewer), (plain, more) = (trained(X, y, seeder, **options) for seeder in ("auto", None))
    agree(seeded, plain, X)
    validated = [
        libsvmx.cross_validate(X, y, 20, seeder=seeder, probability=True, eps=EPS, threads=threads, **options)
        for seeder, threads in (("none", 1), ("auto", 1), ("auto", 2), ("auto", 3))
    ]
    assert len({found.predictions.tobytes() for found in validated}) == 1
    assert fewer.iterations < more.iterations


@pytest.mark.parametrize("seeder", ["sir", "near", "path"])
def test_in_no_queue_inner_folds_are_seeded_alone(seeder):
    """So the folds themselves are LIBSVM's to the last bit, and need fewer steps for their inner ones."""
    X, y = arrays("glass.scale")
    options = {"C": 5.0, "gamma": 0.3, "eps": EPS, "probability": True, "policy": IN_TURN}
    found, plain = (libsvmx.cross_validate(X, y, 12, seeder=name, **options) for name in (seeder, "none"))
    assert found.full is None and {fold.seeder for fold in found.folds} == {"none"}
    assert found.decision_values.tobytes() == plain.decision_values.tobytes()
    assert found.iterations < plain.iterations


def test_cross_validation_by_threads(policy):
    X, y = arrays("glass.scale")
    options = {"C": 5.0, "gamma": 0.3, "probability": True, "seeder": "auto", "policy": policy}
    one, *others = (libsvmx.cross_validate(X, y, 12, threads=threads, **options) for threads in (1, 2, 3))
    for other in others:
        assert other.decision_values.tobytes() == one.decision_values.tobytes()
        assert other.predictions.tobytes() == one.predictions.tobytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "it needs -b 1"),
        ({"probability": True, "svm_type": "one_class"}, "no folds that could be seeded"),
        ({"probability": "cv"}, "seeder is for the folds of probability=True"),
        ({"probability": True, "keep_state": True}, "a state has no folds"),
        ({"probability": True, "C": np.inf}, "C must be finite"),
        ({"probability": True, "solver": "crsvm", "kernel_type": "linear"}, "cannot start from what is known"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(libsvmx.ParameterError, match=message):
        libsvmx.train(*arrays("heart_scale"), seeder="auto", **options)


def test_a_parent_must_have_the_rows_of_its_folds():
    problem = data.load("heart_scale")
    from libsvmx._train.parameter import Parameter
    from libsvmx._train.problem import Problem

    matrix, targets = problem
    param = Parameter(gamma=0.1)
    provider = KernelProvider(Problem(matrix, data.filled("d", targets)), param, repeated=True)
    queue = provider.queue(param, Observer(), 5, False)
    assert isinstance(queue, SolveQueue)
    rows = data.filled("i", range(20))
    order, bounds = libsvmx._train.folds.plain_folds(20, 5, Rand(1))
    shorter = queue.add(rows[:19], 9, 1.0, 1.0)
    with pytest.raises(ValueError, match="is not over the 20 rows"):
        queue.add_folds(rows, 10, 1.0, 1.0, order, bounds, shorter)
    with pytest.raises(IndexError):
        queue.add_folds(rows, 10, 1.0, 1.0, order, bounds, 7)
