"""libsvmx.plot: the content drawn (data of lines, levels of contours, labels), not its pixels."""

import subprocess
import sys

import numpy as np
import pytest
from support.data import dense_rows, load
from support.optional import optional

import libsvmx
import libsvmx.plot
from libsvmx import DataError, ParameterError, SvmxError
from libsvmx._train.updating.cost_curve import middle
from libsvmx.plot import regions, surface

matplotlib = optional("matplotlib")
figure = optional("matplotlib.figure")

HEART, LABELS = dense_rows("heart_scale")
IRIS, KINDS = load("iris.scale")
PETALS, KINDS = np.asarray(IRIS.toarray())[:, 2:], np.asarray(KINDS)
PAIR = KINDS > 1
X = np.linspace(-1, 1, 40)[:, None]
Y = np.sin(3 * X[:, 0]) + 0.2 * np.cos(40 * X[:, 0])


@pytest.fixture
def ax():
    return figure.Figure().add_subplot()


def contours(ax):
    """Filled contours, and lines."""
    sets = [artist for artist in ax.collections if hasattr(artist, "levels")]
    return [one for one in sets if one.filled], [one for one in sets if not one.filled]


def points(ax):
    """Points of each scatter with a label."""
    named = [artist for artist in ax.collections if not artist.get_label().startswith("_")]
    return {artist.get_label(): np.asarray(artist.get_offsets()) for artist in named}


def lines(ax):
    return {line.get_label(): np.column_stack(line.get_data()) for line in ax.lines}


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# ---- target axes -------------------------------------------------------------------------------


def draw_grid(ax):
    return libsvmx.plot.grid(libsvmx.grid_search(HEART, LABELS, (-1, 3, 2), (-5, -1, 2), 3), ax=ax)


def draw_path(ax):
    return libsvmx.plot.path(libsvmx.c_path(HEART, LABELS, 0.1, 1, 3), ax=ax)


CALLS = {
    "boundary": lambda ax: libsvmx.plot.boundary(libsvmx.train(PETALS, KINDS), PETALS, KINDS, ax=ax),
    "calibration": lambda ax: libsvmx.plot.calibration([True, False], [0.9, 0.2], ax=ax),
    "convergence": lambda ax: libsvmx.plot.convergence(libsvmx.train(HEART, LABELS).reports, ax=ax),
    "grid": draw_grid,
    "path": draw_path,
}


def test_every_function_is_here():
    assert sorted(CALLS) == [name for name in libsvmx.plot.__all__ if callable(getattr(libsvmx.plot, name))]


@pytest.mark.parametrize("name", CALLS)
def test_it_draws_into_the_given_axes_or_new_ones_and_changes_no_setting(name, ax, monkeypatch):
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    monkeypatch.setenv("DISPLAY", ":0")  # otherwise that backend, which has no windows, shows nothing and does not warn
    before, open_figures = dict(matplotlib.rcParams), pyplot.get_fignums()
    assert CALLS[name](ax) is ax and ax.has_data()
    assert pyplot.get_fignums() == open_figures
    new = CALLS[name](None)
    try:
        assert new.has_data() and new is not ax
        assert len(pyplot.get_fignums()) == len(open_figures) + 1
        new.figure.canvas.draw()
    finally:
        pyplot.close(new.figure)
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("name", CALLS)
def test_no_axes(name):
    with pytest.raises(TypeError, match="ax must be an Axes of matplotlib, not a Figure"):
        CALLS[name](figure.Figure())


@pytest.mark.parametrize("name", CALLS)
def test_without_matplotlib_the_error_says_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(SvmxError, match=r"libsvmx\.plot needs matplotlib: pip install 'matplotlib>="):
        CALLS[name](None)


@pytest.mark.parametrize("package", ["matplotlib", "scipy"])
def test_without_a_picture_it_is_not_imported(package):
    code = f"import sys, libsvmx.plot; sys.exit({package!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- boundary ----------------------------------------------------------------------------------


@pytest.mark.parametrize("svm_type", ["c_svc", "nu_svc"])
def test_two_classes(svm_type, ax):
    """Lines at decision values 0, and -1 and 1; rings around the support vectors; rows by label."""
    rows, kinds = PETALS[PAIR], KINDS[PAIR]
    model = libsvmx.train(rows, kinds, svm_type=svm_type, gamma=2)
    libsvmx.plot.boundary(model, rows, kinds, ax=ax)
    (shades,), found = contours(ax)
    assert [list(one.levels) for one in found] == [[0.0], [-1.0, 1.0]]
    assert shades.levels[0] == -shades.levels[-1]
    for one in found:
        for level, part in zip(one.levels, one.get_paths(), strict=True):
            values = libsvmx.decision_values(model, part.vertices)[:, 0]
            assert len(values) > 20 and abs(values - level).max() < 0.02
    drawn = points(ax)
    np.testing.assert_array_equal(drawn["support vectors"], model.support_vectors.toarray())
    for label in (2, 3):
        np.testing.assert_array_equal(drawn[f"label {label}"], rows[kinds == label])
    assert legend(ax) == ["label 2", "label 3", "support vectors"]
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    assert left < rows[:, 0].min() and right > rows[:, 0].max() and low < rows[:, 1].min() and high > rows[:, 1].max()


def test_the_colour_of_a_class_is_that_of_its_side(ax):
    rows, kinds = PETALS[PAIR], KINDS[PAIR]
    model = libsvmx.train(rows, kinds, gamma=2)
    libsvmx.plot.boundary(model, rows, kinds, ax=ax)
    (shades,), _ = contours(ax)
    first, second = (one.get_facecolor()[0] for one in ax.collections if one.get_label() in ("label 2", "label 3"))
    for end, colour in ((1.0, first), (0.0, second)):  # positive values favour the first class
        white = 1 - np.array(shades.cmap(end)[:3])
        assert white.max() > 0.3
        np.testing.assert_allclose(white / white.max(), (1 - colour[:3]) / (1 - colour[:3]).max(), atol=0.01)


def test_several_classes(ax):
    model = libsvmx.train(PETALS, KINDS, gamma=1)
    libsvmx.plot.boundary(model, PETALS, KINDS, ax=ax, resolution=150)
    filled, edges = contours(ax)
    assert len(filled) == len(edges) == 3 and all(list(one.levels) == [0.0] for one in edges)
    step = max((b - a) / 149 for a, b in (ax.get_xlim(), ax.get_ylim()))
    for one in edges:  # each point of a line has two labels near it
        at = one.get_paths()[0].vertices
        around = [libsvmx.predict(model, at + np.array([dx, dy])) for dx in (-step, step) for dy in (-step, step)]
        assert (np.max(around, axis=0) > np.min(around, axis=0)).all()
        values = abs(libsvmx.decision_values(model, at)).min(axis=1)  # no stairs: on the line of a pair
        assert np.quantile(values, 0.9) < 2e-3 and values.max() < 0.05


@pytest.mark.parametrize("k", [3, 4, 5])
def test_the_lead_is_that_of_the_class_with_most_votes_of_which_the_first(k):
    """Values with many ties, and zeros, which are votes for the second class of a pair."""
    r = np.random.default_rng(k)
    values = r.integers(-1, 2, size=(3000, k * (k - 1) // 2)) * r.choice([1.0, 0.3, 1e-300], size=(3000, 1))
    values[::100, 0], values[1::100, 0] = np.inf, np.nan
    found = regions.leads(values, k)
    assert np.isfinite(found).all() and found.shape == (k, 3000)
    kinds = set()
    for row, lead in zip(values, found.T, strict=True):
        votes, pairs = np.zeros(k), iter(row)
        for i in range(k):
            for j in range(i + 1, k):
                votes[i if next(pairs) > 0 else j] += 1
        kinds.add((votes == votes.max()).sum() > 1)
        assert np.flatnonzero(lead > 0).tolist() == [votes.argmax()]
    assert kinds == {True, False}


def test_the_lead_is_continuous_where_classes_beat_each_other_in_a_circle():
    """So that lines between regions are drawn where they are: it changes by no more than the values do."""
    r = np.random.default_rng(0)
    values = r.normal(size=(3000, 6))
    moved = values + r.uniform(-0.01, 0.01, size=values.shape)
    assert (np.sign(values) != np.sign(moved)).any()
    assert abs(regions.leads(moved, 4) - regions.leads(values, 4)).max() <= 0.01


def test_margins_that_no_value_reaches_are_left_out(ax):
    model = libsvmx.train(PETALS[PAIR], KINDS[PAIR], gamma=0.01, C=0.01)
    assert abs(libsvmx.decision_values(model, PETALS)).max() < 0.9
    libsvmx.plot.boundary(model, PETALS[PAIR], KINDS[PAIR], ax=ax)
    assert all(1.0 not in one.levels for one in contours(ax)[1])


def test_one_class(ax):
    model = libsvmx.train(PETALS, KINDS, svm_type="one_class", gamma=1, nu=0.1)
    libsvmx.plot.boundary(model, PETALS, ax=ax)
    assert [list(one.levels) for one in contours(ax)[1]] == [[0.0]]
    assert legend(ax) == ["rows", "support vectors"]


def test_support_vectors_alone(ax):
    model = libsvmx.train(PETALS, KINDS)
    libsvmx.plot.boundary(model, ax=ax)
    assert list(points(ax)) == ["support vectors"]


@pytest.mark.parametrize("svm_type, epsilon", [("epsilon_svr", 0.15), ("nu_svr", None)])
def test_regression_over_one_feature(svm_type, epsilon, ax):
    model = libsvmx.train(X, Y, svm_type=svm_type, p=0.15, C=5, gamma=4)
    libsvmx.plot.boundary(model, X, Y, ax=ax)
    across, values = lines(ax)["prediction"].T
    np.testing.assert_array_equal(values, libsvmx.predict(model, across[:, None]))
    (tube,) = (one for one in ax.collections if one.get_label().startswith("tube"))
    half = epsilon or model.reports[0].value
    at = tube.get_paths()[0].vertices
    low, high = at[np.isclose(at[:, 0], across[50]), 1][[0, -1]]
    assert sorted([low, high]) == pytest.approx([values[50] - half, values[50] + half])
    own = model.sv_indices - 1
    np.testing.assert_array_equal(points(ax)["support vectors"], np.column_stack([X[own, 0], Y[own]]))
    np.testing.assert_array_equal(points(ax)["rows"], np.column_stack([X[:, 0], Y]))


def test_rows_of_which_a_model_was_not_trained_have_no_rings(ax):
    model = libsvmx.train(X, Y, svm_type="epsilon_svr")
    libsvmx.plot.boundary(model, X[::-1], Y[::-1], ax=ax)
    assert "support vectors" not in points(ax)


def test_regression_over_two_features(ax):
    model = libsvmx.train(PETALS, KINDS, svm_type="nu_svr")
    libsvmx.plot.boundary(model, PETALS, KINDS, ax=ax, resolution=30)
    (mesh,) = (one for one in ax.collections if hasattr(one, "get_coordinates"))
    at = mesh.get_coordinates().reshape(-1, 2)
    np.testing.assert_array_equal(np.ravel(mesh.get_array()), libsvmx.predict(model, at))
    assert [other.get_ylabel() for other in ax.figure.axes if other is not ax] == ["prediction"]


PLANE = libsvmx.train(PETALS, KINDS)
REGRESSION = libsvmx.train(X, Y, svm_type="epsilon_svr")


@pytest.mark.parametrize(
    "call, error, message",
    [
        (
            lambda: (libsvmx.train(HEART, LABELS),),
            ParameterError,
            "a model of two features, .* this one has 13",
        ),
        (lambda: (libsvmx.train(X, np.sign(X[:, 0])),), ParameterError, "this one has 1"),
        (lambda: (libsvmx.train(np.eye(9), LABELS[:9], kernel_type="precomputed"),), ParameterError, "precomputed"),
        (lambda: (libsvmx.train(PETALS[:9], KINDS[:9]),), ParameterError, "of one class has no boundary"),
        (lambda: (libsvmx.train(PETALS, KINDS, keep_state=True),), TypeError, "take its .model"),
        (lambda: (PLANE, None, KINDS), ParameterError, "y is given, but not X"),
        (lambda: (PLANE, PETALS, KINDS[1:]), DataError, "X has 150 rows, but y has shape"),
        (lambda: (PLANE, PETALS, [*KINDS[1:], np.nan]), DataError, "row 149: nan in y is not finite"),
        (lambda: (REGRESSION, X, [np.inf, *Y[1:]]), DataError, "row 0: inf in y is not finite"),
        (lambda: (PLANE, HEART), DataError, "X has 13 columns"),
        (lambda: (PLANE, [{3: 1.0}]), DataError, "X has 3 features, but the model has 2"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, error, message, ax):
    with pytest.raises(error, match=message):
        libsvmx.plot.boundary(*call(), ax=ax)
    assert not ax.has_data()


def test_resolution(ax):
    with pytest.raises(ParameterError, match="resolution must be at least 2, not 1"):
        libsvmx.plot.boundary(PLANE, resolution=1, ax=ax)


# ---- grid --------------------------------------------------------------------------------------


@pytest.mark.parametrize("svm_type", ["c_svc", "epsilon_svr", "quantile_svr"])
def test_grid(svm_type, ax):
    search = libsvmx.grid_search(HEART, LABELS, (-1, 5, 2), (-5, 1, 2), 3, svm_type=svm_type)
    libsvmx.plot.grid(search, ax=ax)
    (shades,), (edges,) = contours(ax)
    assert shades.levels[0] == pytest.approx(search.rate.min()) and shades.levels[-1] == pytest.approx(
        search.rate.max()
    )
    assert set(edges.levels) <= set(shades.levels)
    for point in (search.rate.argmin(), search.rate.argmax()):  # in the lowest band, in the highest
        place = search.log2c[point], search.log2g[point]
        band = shades.get_paths()[0 if search.rate[point] == search.rate.min() else -1]
        assert any(band.contains_point(place, radius=radius) for radius in (-0.05, 0.05))
    dots, star = ax.lines
    assert set(zip(*dots.get_data(), strict=True)) == set(zip(search.log2c, search.log2g, strict=True))
    assert star.get_marker() == "*"
    assert [float(part[0]) for part in star.get_data()] == [search.log2c[search.best], search.log2g[search.best]]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("log2(C)", "log2(gamma)")
    what = {"c_svc": "accuracy, %", "epsilon_svr": "mean squared error", "quantile_svr": "pinball loss"}[svm_type]
    assert [other.get_ylabel() for other in ax.figure.axes if other is not ax] == [what]


@pytest.mark.parametrize("axis", ["log2c", "log2g"])
def test_grid_over_one_axis(axis, ax):
    ranges = {"log2c": None, "log2g": None, axis: (-3, 3, 2)}
    search = libsvmx.grid_search(HEART, LABELS, n_folds=3, **ranges)
    libsvmx.plot.grid(search, ax=ax)
    order = np.argsort(getattr(search, axis))
    np.testing.assert_array_equal(ax.lines[0].get_data(), [getattr(search, axis)[order], search.rate[order]])
    assert ax.get_xlabel() == {"log2c": "log2(C)", "log2g": "log2(gamma)"}[axis]
    assert ax.lines[1].get_ydata()[0] == search.best_rate


def test_levels_are_close_near_the_best():
    for worst, best in ((50.0, 90.0), (9.0, 2.0)):
        found = np.array(surface.levels(worst, best))
        assert (np.diff(found) > 0).all() and {found[0], found[-1]} == {worst, best}
        gaps = np.diff(found) if best > worst else np.diff(found)[::-1]
        assert (np.diff(gaps) < 0).all()


def test_no_grid_search(ax):
    with pytest.raises(TypeError, match=r"a GridSearch is needed, of libsvmx\.grid_search, or a .* not a Model"):
        libsvmx.plot.grid(PLANE, ax=ax)


def test_grid_of_scikit_learns_searches(ax):
    optional("sklearn")
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    search = libsvmx.SVCCV(Cs=[1.0, 4.0, 16.0], gammas=[0.01, 0.1], cv=3).fit(HEART, LABELS)
    libsvmx.plot.grid(search, ax=ax)
    _, star = ax.lines
    best = search.best_params_
    assert [values[0] for values in star.get_data()] == [np.log2(best["C"]), np.log2(best["gamma"])]
    line = ax.figure.add_subplot()
    grid = {"svc__C": [0.5, 2.0], "svc__shrinking": [True, False]}
    search = GridSearchCV(make_pipeline(StandardScaler(), libsvmx.SVC()), grid, cv=3).fit(HEART, LABELS)
    libsvmx.plot.grid(search, ax=line)
    scores = search.cv_results_["mean_test_score"].reshape(2, 2).max(axis=1)
    np.testing.assert_array_equal(line.lines[0].get_data(), [[-1.0, 1.0], scores])
    for wrong, words in (
        ({"gamma": ["scale", "auto"]}, "cannot be drawn on an axis"),
        ({"degree": [2, 3]}, "neither C nor"),
    ):
        with pytest.raises(libsvmx.ParameterError, match=words):
            libsvmx.plot.grid(GridSearchCV(libsvmx.SVC(), wrong, cv=3).fit(HEART, LABELS))


# ---- convergence -------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::libsvmx.ConvergenceWarning")
def test_convergence(ax):
    def reports(solver):
        return [libsvmx.train(HEART, LABELS, solver=solver, max_iter=k).reports[0] for k in (1, 10, 100, 1000)]

    found = {"smo": reports("smo"), "chunked": reports("chunked")}
    libsvmx.plot.convergence(found, eps=0.001, ax=ax)
    for name, own in found.items():
        np.testing.assert_array_equal(lines(ax)[name], [(report.iterations, report.gap) for report in own])
    assert legend(ax) == ["smo", "chunked", "eps = 0.001"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("iterations", "KKT gap")
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert ax.lines[0].get_color() != ax.lines[1].get_color() and ax.lines[0].get_marker() != ax.lines[1].get_marker()
    libsvmx.plot.convergence(found["smo"], "seconds", "objective", ax=ax)
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), [report.objective for report in found["smo"]])


def test_convergence_of_the_interior_point_method(ax):
    class Log(libsvmx.Observer):
        def __init__(self):
            self.lines = []

        def iterated(self, line):
            self.lines.append(line)

    log = Log()
    libsvmx.train(HEART, LABELS, kernel_type="linear", solver="crsvm", observer=log)
    libsvmx.plot.convergence(log.lines, "number", ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_data(), [[x.number for x in log.lines], [x.gap for x in log.lines]])
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()) == ("iterations", "relative duality gap", "linear")
    assert ax.get_legend() is None
    with pytest.raises(ParameterError, match="the steps have no number 'iterations': they are of type Iteration"):
        libsvmx.plot.convergence(log.lines, ax=ax)


@pytest.mark.parametrize("steps, message", [({}, "no steps to draw"), ([], "no steps to draw"), ({"a": []}, "of 'a'")])
def test_no_steps(steps, message, ax):
    with pytest.raises(ParameterError, match=message):
        libsvmx.plot.convergence(steps, ax=ax)


def test_steps_that_are_no_sequence(ax):
    reports = libsvmx.train(HEART, LABELS).reports
    for steps, message in (
        (reports[0], r"steps must be a sequence of records, such as \[report, …\], not a SolveReport"),
        (None, "steps must be a sequence of records, .* not a NoneType"),
        ({"smo": reports[0]}, "steps of 'smo' must be a sequence of records"),
    ):
        with pytest.raises(TypeError, match=message):
            libsvmx.plot.convergence(steps, ax=ax)
    libsvmx.plot.convergence(iter(reports), ax=ax)
    np.testing.assert_array_equal(ax.lines[-1].get_data(), [[reports[0].iterations], [reports[0].gap]])


@pytest.mark.parametrize("eps", ["small", float("nan"), [0.1]])
def test_a_wrong_eps_leaves_no_figure(eps):
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    with pytest.raises(ParameterError, match="eps must be"):
        libsvmx.plot.convergence(libsvmx.train(HEART, LABELS).reports, eps=eps)
    assert pyplot.get_fignums() == before


# ---- calibration -------------------------------------------------------------------------------


def bins_of(ax, name):
    """Points on the curve, and grey ones off it, by their probabilities."""
    points = np.vstack([lines(ax)[name], lines(ax)[f"_{name}"]])
    return points[np.argsort(points[:, 0])]


def test_calibration(ax):
    outcomes = np.array([False, True, True, True, False])
    p = np.array([0.1, 0.15, 0.5, 1.0, 0.0])
    libsvmx.plot.calibration(outcomes, p, n_bins=5, ax=ax)
    np.testing.assert_allclose(bins_of(ax, "estimated"), [[0.25 / 3, 1 / 3], [0.5, 1.0], [1.0, 1.0]])
    assert not len(lines(ax)["estimated"])  # all bins have few rows
    np.testing.assert_array_equal(lines(ax)["as often as estimated"], [[0, 0], [1, 1]])
    bars = np.array(ax.collections[0].get_segments())
    np.testing.assert_allclose(bars[:, :, 0], np.repeat([[0.25 / 3], [0.5], [1.0]], 2, axis=1))
    np.testing.assert_allclose(bars[:, :, 1], [[0.0615, 0.7923], [0.2065, 1], [0.2065, 1]], atol=1e-4)
    counts, edges, _ = ax.child_axes[-1].patches[0].get_data()
    np.testing.assert_array_equal(counts, [3, 0, 1, 0, 1])
    np.testing.assert_allclose(edges, np.arange(6) / 5)
    assert ax.get_xlim() == ax.get_ylim() == (0, 1)


def test_calibration_of_a_model(ax):
    """Count-weighted shares average to the share of all rows."""
    model = libsvmx.train(HEART, LABELS, probability=True)
    p = libsvmx.predict_probability(model, HEART)[1][:, 0]
    true = model.labels[0] == LABELS
    libsvmx.plot.calibration(true, {"LIBSVM": p, "certain": (p > 0.5) * 1.0}, ax=ax)
    for k, name in enumerate(("LIBSVM", "certain")):
        counts = ax.child_axes[-1].patches[k].get_data()[0]
        points = bins_of(ax, name)
        assert counts[counts > 0] @ points[:, 1] == pytest.approx(true.sum())
        on_curve = np.isin(points[:, 0], lines(ax)[name][:, 0])
        np.testing.assert_array_equal(on_curve, counts[counts > 0] >= 10)
    assert legend(ax) == ["as often as estimated", "LIBSVM", "certain"]


@pytest.mark.parametrize(
    "outcomes, p, options, error, message",
    [
        ([True, False], [0.5], {}, DataError, "there are 2 outcomes, but the probabilities have shape"),
        ([True, False], [0.5, 1.5], {}, DataError, "row 1: 1.5 is not a probability"),
        ([True, False], [np.nan, 1], {}, DataError, "row 0: nan is not a probability"),
        ([1, -1], [0.5, 0.5], {}, DataError, "outcomes must be True or False"),
        ([], [], {}, DataError, "outcomes must be True or False"),
        ([True], [0.5], {"n_bins": 0}, ParameterError, "n_bins must be at least 1, not 0"),
    ],
)
def test_no_probabilities(outcomes, p, options, error, message, ax):
    with pytest.raises(error, match=message):
        libsvmx.plot.calibration(outcomes, p, ax=ax, **options)


# ---- path --------------------------------------------------------------------------------------


@pytest.mark.parametrize("svm_type", ["c_svc", "epsilon_svr", "quantile_svr"])
def test_path(svm_type, ax):
    path = libsvmx.c_path(HEART, LABELS, 0.1, 10, 3, svm_type=svm_type, gamma=0.05)
    assert path.param.svm_type.name.lower() == svm_type and path.param.C == 0.1
    libsvmx.plot.path(path, ax=ax)
    C, error = lines(ax)["error"].T
    assert set(path.cv_C) <= set(C)
    np.testing.assert_array_equal(error, path.cv_error(C))
    assert ax.lines[0].get_drawstyle() == ("steps-post" if svm_type == "c_svc" else "default")
    np.testing.assert_array_equal(lines(ax)["breakpoints"][:, 0], path.C)
    star = ax.lines[-1]
    chosen = path.best_C if path.param.svm_type.is_regression else middle(*path.near_interval)
    assert star.get_marker() == "*" and star.get_xydata().tolist() == [[chosen, path.cv_error(chosen)]]
    assert ax.get_xscale() == "log"
    assert (
        ax.get_ylabel()
        == {"c_svc": "error, %", "epsilon_svr": "mean squared error", "quantile_svr": "mean pinball loss"}[svm_type]
    )


def test_the_band_around_the_error_is_of_each_error(ax):
    path = libsvmx.c_path(HEART, LABELS, 0.001, 10, 3, gamma=0.05)
    libsvmx.plot.path(path, ax=ax)
    (band,) = (each for each in ax.collections if each.get_label() == "error ± 1 SE")
    across, up = band.get_paths()[0].vertices.T
    shares = path.cv_error(path.cv_C) / 100
    assert shares[0] > 1.5 * shares.min()
    expected = 100 * np.sqrt(shares * (1 - shares) / len(LABELS))
    for C, share, error in zip(path.cv_C[:-1], shares, expected, strict=False):
        here = up[across == C]
        assert here.max() >= 100 * share + error - 1e-9
        assert np.isclose(here, 100 * share + error).any() and np.isclose(here, 100 * share - error).any()


def test_the_method_of_a_path_draws_the_same(ax):
    path = libsvmx.c_path(HEART, LABELS, 0.1, 1, 3)
    assert path.plot(ax) is ax
    chosen = middle(*path.near_interval)
    np.testing.assert_array_equal(ax.lines[-1].get_xydata(), [[chosen, path.cv_error(chosen)]])


def test_the_interval_near_the_least_error():
    path = libsvmx.c_path(HEART, LABELS, 0.01, 100, 10, gamma=0.05)
    share = path.best_error / 100
    assert path.standard_error == pytest.approx(100 * np.sqrt(share * (1 - share) / len(LABELS)))
    begin, end = path.near_interval
    limit = path.best_error + path.standard_error
    inside = (begin <= path.cv_C) & (path.cv_C < end)
    assert inside.any() and not inside[:-1].all()
    assert (path.cv_error(path.cv_C[inside]) <= limit).all()
    assert path.cv_error(np.nextafter(begin, 0)) > limit
    assert end == path.C_max or path.cv_error(end) > limit
    best = path.best_interval
    assert end / begin >= best[1] / best[0]
    regression = libsvmx.c_path(HEART, LABELS, 0.1, 1, 3, svm_type="epsilon_svr")
    with pytest.raises(ParameterError, match="only a path with classes"):
        regression.standard_error  # noqa: B018


def test_no_path(ax):
    with pytest.raises(ParameterError, match="there was no cross-validation"):
        libsvmx.plot.path(libsvmx.c_path(HEART, LABELS, 0.1, 1), ax=ax)
    with pytest.raises(TypeError, match=r"a CostPath is needed, of libsvmx\.c_path, not a Model"):
        libsvmx.plot.path(PLANE, ax=ax)
