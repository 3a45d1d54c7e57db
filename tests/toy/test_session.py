"""The session behind the page: after any changes its model equals a fresh training on the present rows."""

import json

import numpy as np
import pytest
from libsvmx.io.textwrite import data_text
from support import data
from support.toy import VIEW, begun

import libsvmx
from libsvmx.api.arrays import as_matrix
from libsvmx.enums import KernelType, SvmType
from libsvmx.exceptions import DataError, ParameterError, SvmxError
from libsvmx.io.modelfile import parse_model
from libsvmx.toy import session as session_module
from libsvmx.toy.examples import EXAMPLES, ROWS
from libsvmx.toy.picture import View, grid_values, marks_of
from libsvmx.toy.rows import MOST_ROWS, columns_of, rows_of
from libsvmx.toy.session import SETTINGS, Session, saved_model

POINTS = np.stack(np.meshgrid(VIEW.x, VIEW.y), axis=-1).reshape(-1, 2)


def arrays_of(session):
    """X and y of its rows, built here from the data sent to the page."""
    rows = session.picture(VIEW)[0]["rows"]
    x, y = np.array(rows["x"]), np.array(rows["y"])
    if session.scene.param.svm_type.is_regression:
        return x[:, None], y
    return np.column_stack([x, y]), np.array(rows["label"], dtype=float)


def fresh(session, **others):
    """A cold start on the rows of a session."""
    settings = {name: getattr(session.scene.param, name) for name in SETTINGS}
    return libsvmx.train(*arrays_of(session), **settings, **others)


def values_at_points(model):
    if model.param.svm_type.is_regression:
        return libsvmx.decision_values(model, VIEW.x[:, None]).T[:, None, :]
    return libsvmx.decision_values(model, POINTS).T.reshape(len(model.offsets), len(VIEW.y), len(VIEW.x))


def random_change(r, session):
    """Of all kinds that a page sends, with any values."""
    keys = list(session.scene.rows)
    kind = r.choice(["add", "move", "move", "move", "remove", "label", "C", "gamma", "undo", "redo"])
    x, y = r.uniform(-1, 1, size=2).round(3).tolist()
    label = int(r.integers(1, 4))
    if kind == "undo":
        session.undo()
    elif kind == "redo":
        session.redo()
    elif kind in ("C", "gamma"):
        session.change([{"do": "set", kind: float(10 ** r.uniform(-1, 2 if kind == "C" else 1))}])
    elif kind == "add" or len(keys) < 4:
        session.change([{"do": "add", "x": x, "y": y, "label": label}])
    elif kind == "move":
        # a row being dragged: some steps, the last of which belong to the first
        key = int(r.choice(keys))
        for k in range(3):
            x, y = (np.array([x, y]) + r.normal(scale=0.05, size=2)).tolist()
            session.change([{"do": "move", "row": key, "x": x, "y": y}], continued=k > 0)
    else:
        change = {"do": kind, "row": int(r.choice(keys))}
        session.change([{**change, "label": label} if kind == "label" else change])


@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf"])
@pytest.mark.parametrize("formulation", ["c_svc", "one_class", "epsilon_svr", "nu_svc", "nu_svr"])
@pytest.mark.parametrize("seed", range(3))
def test_the_model_is_that_of_a_fresh_training(formulation, kernel, seed):
    r = np.random.default_rng([seed, 7])
    rows = [(*r.uniform(-1, 1, size=2).round(3).tolist(), k % 3 + 1) for k in range(30)]
    session = begun(rows, svm_type=formulation, kernel_type=kernel, coef0=1.0, degree=2, nu=0.2, C=2.0)
    ways = set()
    for _ in range(25):
        random_change(r, session)
        follower = session.follower
        if follower.model is None:  # nu is infeasible for these classes
            with pytest.raises(SvmxError) as refused:
                fresh(session)
            assert str(refused.value) == follower.error
            continue
        ways.add(follower.way)
        values = session.picture(VIEW)[1]
        if follower.state is None:
            expected = values_at_points(fresh(session))
            assert np.array_equal(follower.model.sv_coef, fresh(session).sv_coef)
        else:
            expected = values_at_points(fresh(session, keep_state=True).model)
            assert follower.state.gap < 1e-8
        scale = max(1, abs(expected).max(initial=0))
        assert values.dtype == np.float32
        np.testing.assert_allclose(grid_values(follower.model, VIEW), expected, rtol=0, atol=1e-7 * scale)
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-6 * scale)
    assert ways == ({"training"} if formulation.startswith("nu") else {"path", "training"})


@pytest.mark.parametrize("formulation", ["c_svc", "epsilon_svr", "one_class"])
def test_the_path_leads_to_libsvms_optimum(formulation):
    """The same with the default solver, which shares no code with the path: to its tolerance."""
    r = np.random.default_rng(5)
    session = begun([(*r.uniform(-1, 1, size=2).tolist(), k % 2 + 1) for k in range(40)], svm_type=formulation, nu=0.2)
    for key in range(10):
        session.change([{"do": "move", "row": key, "x": 0.1 * key - 0.5, "y": 0.3}])
    assert session.follower.way == "path"
    expected = values_at_points(fresh(session, eps=1e-8))
    np.testing.assert_allclose(session.picture(VIEW)[1], expected, rtol=0, atol=1e-4 * abs(expected).max())


def told_accuracy(session):
    """The page's accuracy, and that of svmx-predict with the saved model."""
    X, y = arrays_of(session)
    predicted = libsvmx.predict(parse_model(saved_model(session.scene), "saved", lambda remark: None), X)
    return session.picture(VIEW)[0]["model"]["score"]["value"], 100.0 * (predicted == y).mean()


@pytest.mark.parametrize("pair", [(-1, 1), (0, 1), (1, 2), (-1, 0), (-2, -1), (1, 3)], ids=str)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("first", [0, 1])
def test_classes_are_the_right_way_round(pair, turned, first):
    """Whichever label and whichever row comes first; LIBSVM has its own order for -1 and +1."""
    r = np.random.default_rng(4)
    labels = np.concatenate([[first], 1 - first, r.permutation(np.arange(38) % 2)], axis=None)
    places = r.normal(size=(40, 2), scale=0.3) + np.where(labels, 0.4, -0.4)[:, None]
    names = np.array(pair[::-1] if turned else pair)[labels]
    text = "".join(f"{name} 1:{x:.6g} 2:{y:.6g}\n" for name, (x, y) in zip(names, places, strict=True))
    session = Session()
    session.open_data(text.encode(), "rows.txt")
    session.change([{"do": "set", "kernel_type": "linear", "C": 1.0}])
    keys = list(session.scene.rows)
    for change in (
        [],
        [{"do": "move", "row": keys[0], "x": 0.3, "y": 0.1}],
        [{"do": "set", "C": 3.0}],
        [{"do": "label", "row": keys[0], "label": int(names[1])}, {"do": "remove", "row": keys[1]}],
    ):
        session.change(change)
        page, command = told_accuracy(session)
        assert 80 < command < 100
        assert page == command
    assert session.follower.way == "path"


def test_a_kernel_that_is_not_positive_semidefinite_is_followed_all_the_same():
    r = np.random.default_rng(3)
    rows = [(*r.uniform(-1, 1, size=2).tolist(), k % 2 + 1) for k in range(40)]
    session = begun(rows, kernel_type="sigmoid", gamma=3.0, coef0=1.0)
    for key in range(10):
        session.change([{"do": "move", "row": key, "x": 0.0, "y": 0.1 * key - 0.5}])
        assert session.follower.model is not None
        assert "need not be positive semidefinite" in session.picture(VIEW)[0]["note"]
    for kernel, coef0, told in (("poly", -0.5, True), ("poly", 0.0, False), ("rbf", -0.5, False)):
        session.change([{"do": "set", "kernel_type": kernel, "coef0": coef0, "degree": 2, "gamma": 1.0}])
        assert ("need not be positive semidefinite" in session.picture(VIEW)[0]["note"]) == told


@pytest.mark.parametrize("formulation", list(SvmType))
def test_marks_are_those_of_the_coefficients(formulation):
    r = np.random.default_rng(2)
    places = r.uniform(-1, 1, size=(40, 2)).tolist()
    rows = [(x, y, 2 if x + 0.3 * (k % 3) > 0.3 else 1) for k, (x, y) in enumerate(places)]
    session = begun(rows, svm_type=formulation, nu=0.4, C=2.0, p=0.2)
    keys = list(session.scene.rows)
    session.change([{"do": "move", "row": keys[0], "x": 0.5, "y": 0.5}])  # this makes it the last one in a state
    model = session.follower.model
    marks = marks_of(model, session.follower.order)
    assert {1, 2} == set(marks.values())
    X, y = arrays_of(session)
    values = libsvmx.decision_values(model, X)[:, 0]
    signs = np.where(y == model.labels[0], 1, -1) if formulation.is_classification else np.ones(len(y))
    for place, key in enumerate(keys):
        if formulation.is_regression:
            tube = session.picture(VIEW)[0]["model"]["tube"]
            assert (tube is None) == (formulation == SvmType.QUANTILE_SVR)
            inner = (tube or 0.0) - abs(values[place] - y[place])
        else:
            edge = 0 if formulation == SvmType.ONE_CLASS else 1
            inner = signs[place] * values[place] - edge
        # inside, at the edge, or beyond it: the KKT conditions for a row with this mark
        assert {0: inner > -0.02, 1: abs(inner) < 0.02, 2: inner < 0.02}[marks.get(key, 0)]


@pytest.mark.parametrize(
    "change, cause",
    [
        ({"do": "fly"}, "there is no change 'fly'"),
        ({}, "there is no change None"),
        ({"do": "add", "x": 0.0, "y": 0.0}, "label"),
        ({"do": "add", "x": 0.0, "y": 0.0, "label": 1, "z": 1}, "unexpected"),
        ({"do": "add", "x": "0", "y": 0.0, "label": 1}, "x must be a number"),
        ({"do": "add", "x": True, "y": 0.0, "label": 1}, "x must be a number"),
        ({"do": "add", "x": 0.0, "y": 1e7, "label": 1}, "y must be a number between -1e+06 and 1e+06"),
        ({"do": "add", "x": float("nan"), "y": 0.0, "label": 1}, "x must be a number"),
        ({"do": "add", "x": 0.0, "y": 0.0, "label": 7}, "the class must be one of 1, 2, 3, 4, 5, 6, not 7"),
        ({"do": "move", "row": 9, "x": 0.0, "y": 0.0}, "there is no row 9"),
        ({"do": "remove", "row": [0]}, "there is no row"),
        ({"do": "set", "solver": "smo"}, "there is no setting 'solver'"),
        ({"do": "set", "C": -1}, "C must be > 0"),
        ({"do": "set", "C": float("inf")}, "C must be finite"),
        ({"do": "set", "gamma": "wide"}, "gamma"),
        ({"do": "set", "degree": 11}, "degree must be between 1 and 10"),
        ({"do": "set", "degree": 10**400}, "degree must be a whole number between -1.8e308 and 1.8e308"),
        ({"do": "set", "gamma": 10**400}, "gamma must be a number between -1.8e308 and 1.8e308"),
        ({"do": "set", "kernel_type": 4}, "no precomputed kernel"),
        ({"do": "example", "name": "spiral"}, "there is no example 'spiral'"),
    ],
)
def test_a_wrong_change_changes_nothing(change, cause):
    session = begun([(0.1, 0.2, 1), (0.5, -0.2, 2)])
    before, model = session.scene, session.follower.model
    with pytest.raises((DataError, ParameterError)) as error:
        session.change([{"do": "add", "x": 0.9, "y": 0.9, "label": 1}, change])
    assert cause in str(error.value)
    assert (session.scene, session.follower.model) == (before, model)
    assert session.change([{"do": "add", "x": 0.9, "y": 0.9, "label": 1}]) == [2]


def test_no_more_rows_than_the_page_takes():
    session = begun()
    some = [{"do": "add", "x": 0.0, "y": 0.0, "label": 1}]
    rows = {-1 - key: session_module.Row(0.0, 0.0, 1) for key in range(MOST_ROWS - 1)}
    session.scene = session_module.replace(session.scene, rows=rows)
    assert session.change(some) == [0] and len(session.scene.rows) == MOST_ROWS
    with pytest.raises(DataError, match="the page takes no more"):
        session.change(some)


def test_what_cannot_be_trained_is_told_and_can_be_mended():
    session = begun([(0.0, 0.0, 1), (0.5, 0.5, 1), (0.7, 0.5, 1), (0.9, 0.1, 2)], svm_type="nu_svc", nu=0.9)
    head, values = session.picture(VIEW)
    assert head["model"] is None and values.size == 0
    assert "nu" in head["error"]
    session.change([{"do": "set", "nu": 0.3}])
    assert session.picture(VIEW)[0]["error"] == "" and session.follower.model is not None


def test_without_rows_and_with_one_class_there_is_nothing_to_draw():
    session = begun()
    assert session.picture(VIEW)[0]["model"] is None and session.picture(VIEW)[0]["error"] == ""
    session.change([{"do": "add", "x": 0.0, "y": 0.0, "label": 3}])
    head, values = session.picture(VIEW)
    assert (head["model"]["classes"], values.shape[0]) == ((3,), 0)
    assert "only one class" in head["note"]
    session.change([{"do": "remove", "row": 0}])
    assert session.picture(VIEW)[0]["model"] is None


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_drawn_anew_each_time(name):
    session = begun()
    session.change([{"do": "example", "name": name}])
    first = session.scene
    session.change([{"do": "example", "name": name}])
    assert len(first.rows) == len(session.scene.rows) == ROWS
    assert set(first.rows.values()) != set(session.scene.rows.values())
    assert all(abs(row.x) < 1 and abs(row.y) < 1 for row in first.rows.values())
    assert first.param.svm_type.is_regression == (name == "sine")
    score = session.picture(VIEW)[0]["model"]["score"]
    assert score["value"] < 0.02 if name == "sine" else score["value"] > 90


# --- files ---


@pytest.mark.parametrize("formulation", ["c_svc", "nu_svc", "one_class", "epsilon_svr", "nu_svr"])
@pytest.mark.parametrize("kernel", ["linear", "polynomial", "rbf", "sigmoid"])
def test_saved_files_are_those_of_the_command(folder, formulation, kernel):
    r = np.random.default_rng(1)
    rows = [(*r.uniform(-1, 1, size=2).round(3).tolist(), k % 3 + 1) for k in range(25)]
    settings = {"svm_type": formulation, "kernel_type": kernel, "nu": 0.25, "C": 3.3, "p": 0.07, "gamma": 0.7}
    session = begun([*rows, (0.0, 0.5, 1)], **settings, coef0=0.5, degree=2)
    session.change([{"do": "move", "row": 3, "x": 0.123, "y": 0.0}])
    folder.put("rows.txt", session.data_text())
    command, *words = session.command().split()
    folder.accepts(command, *words)
    assert folder.get("rows.txt.model") == saved_model(session.scene)
    again, regression = rows_of(session.data_text(), "rows.txt")
    if regression:
        assert [(row.x, row.y) for row in again] == [(row.x, row.y) for row in session.scene.rows.values()]
    else:
        assert again == list(session.scene.rows.values())


def test_data_are_opened_with_their_classes_and_in_their_box():
    session = begun()
    session.open_data(b"-1 1:100 2:7\n+5 1:200\n-1 2:3\n", "d")
    head = session.picture(VIEW)[0]
    assert head["labels"] == (-1, 5, 1, 2, 3, 4)
    assert head["rows"]["label"] == [-1, 5, -1]
    assert head["rows"]["x"] == [100, 200, 0] and head["rows"]["y"] == [7, 0, 3]
    x0, x1, y0, y1 = head["box"]
    assert x0 < 0 and 200 < x1 < 230 and y0 < 0 and 7 < y1 < 8
    session.change([{"do": "add", "x": 50.0, "y": 1.0, "label": 5}])
    session.open_data(b"0.5 1:0.1\n0.7 1:-0.3\n", "d")
    assert session.scene.param.svm_type == SvmType.EPSILON_SVR
    session.open_data(b"1 1:0.1 2:1\n2 1:-0.3\n", "d")
    assert session.scene.param.svm_type == SvmType.C_SVC


@pytest.mark.parametrize("formulation", ["c_svc", "one_class"])
def test_rows_on_the_horizontal_axis_are_opened_as_what_they_were(folder, formulation):
    session = begun([(-0.5, 0.0, 1), (0.0, 0.0, 1), (0.5, 0.0, 2)], svm_type=formulation)
    text = session.data_text()
    assert text == b"1 1:-0.5 2:0\n1\n2 1:0.5\n"
    again = begun(svm_type=formulation)
    again.open_data(text, "d")
    assert again.scene.param.svm_type == session.scene.param.svm_type
    assert list(again.scene.rows.values()) == list(session.scene.rows.values())
    folder.put("rows.txt", text)
    folder.accepts(*session.command().split())
    assert folder.get("rows.txt.model") == saved_model(session.scene)


@pytest.mark.parametrize(
    "first, second",
    [(0.3, 0.30000000000000004), (1e6, 1e6 - 1e-10), (-1e-300, 1e-300), (5e-324, 0.0), (2.0, 2.0)],
)
def test_a_box_is_wide_enough_to_have_places_in_it(first, second):
    for line in ("{} 1:{} 2:{other}\n", "{} 1:{other} 2:{}\n"):
        session = begun()
        session.open_data((line.format(1, first, other=1) + line.format(2, second, other=5)).encode(), "d")
        x0, x1, y0, y1 = session.scene.box
        for low, high in ((x0, x1), (y0, y1)):
            assert high - low > 1e-3 * max(1, abs(high))


def test_of_more_features_the_plane_has_principal_components():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 4)) * [3, 1, 0.1, 0.1] + [5, 1e5, 0, 0]  # an offset does not enter the products
    text = data_text(as_matrix(X), np.where(X[:, 0] > 5, 1.0, 2.0).data)
    session = begun()
    session.open_data(text, "d")
    x, y, labels = columns_of(session.scene.rows.values())
    centred = X - X.mean(axis=0)
    expected = centred @ np.linalg.svd(centred)[2][:2].T
    expected *= np.where(expected[abs(expected).argmax(axis=0), [0, 1]] > 0, 1, -1)
    np.testing.assert_allclose(np.column_stack([x, y]), expected, atol=1e-5)
    assert sorted(set(labels)) == [1, 2]
    session.open_data(text, "d", (4, 2))
    x, y, _ = columns_of(session.scene.rows.values())
    np.testing.assert_allclose(np.column_stack([x, y]), X[:, [3, 1]], atol=1e-7)
    session.open_data(b"1 0:1 5:2\n2 0:3\n", "d", (0, 5))
    assert columns_of(session.scene.rows.values())[0].tolist() == [1, 3]


@pytest.mark.parametrize(
    "text, cause",
    [
        (b"", "d has no rows"),
        (b"1 1:0.5 2:x\n", "d:1:"),
        (b"1 1:1e200 3:1\n2 1:1\n", "scale them"),
        (b"1.5 1:1 2:1\n", "1.5 is no class"),
        (b"1 1:1e9 2:1\n", "numbers above 1e+06"),
        (b"".join(b"%d 1:1 2:1\n" % k for k in range(7)), "7 classes: the page has colours for 6"),
        (b"1 1:1 2:1\n" * (MOST_ROWS + 1), f"the page takes at most {MOST_ROWS}"),
        (b"\x1f\x8b\x00\xff", "d:1:"),
    ],
)
def test_data_that_the_page_cannot_show_are_refused(text, cause):
    session = begun([(0.1, 0.2, 1), (0.5, -0.2, 2)])
    before, model = session.scene, session.follower.model
    with pytest.raises(SvmxError) as error:
        session.open_data(text, "d")
    assert cause in str(error.value)
    assert (session.scene, session.follower.model) == (before, model)


def test_a_model_is_shown_over_the_rows_until_they_change():
    rows = [(0.1, 0.2, 1), (0.5, -0.2, 2), (-0.5, 0.4, 2)]
    one = begun(rows, C=7.0, gamma=3.0, kernel_type="polynomial", degree=2)
    text = saved_model(one.scene)
    session = begun([(0.3, 0.3, 1), (0.9, 0.3, 2)])
    session.open_model(text, "m")
    head, values = session.picture(VIEW)
    assert head["model"]["way"] == "file" and head["model"]["n_sv"] == len(head["model"]["vectors"])
    assert (head["settings"]["kernel_type"], head["settings"]["gamma"], head["settings"]["degree"]) == (1, 3.0, 2)
    assert set(head["rows"]["mark"]) == {0}
    np.testing.assert_allclose(values, one.picture(VIEW)[1], atol=1e-2)  # that is the optimum, this LIBSVM's to -e
    session.change([{"do": "move", "row": 0, "x": 0.2, "y": 0.3}])
    assert session.follower.way == "training"
    session.undo()
    again, same = session.picture(VIEW)
    assert again["model"]["way"] == "file" and np.array_equal(same, values)
    session.undo()
    assert session.scene.param.kernel_type == KernelType.RBF and session.follower.way == "training"
    session.redo()
    again, same = session.picture(VIEW)
    assert again["model"] == head["model"] and np.array_equal(same, values)
    session.redo()
    assert session.follower.way == "training"


def model_file(kind, coefficient, vector):
    """A model with one decision function and two support vectors."""
    classes = "label 1 2\nnr_sv 1 1\n" if kind == "c_svc" else ""
    head = f"svm_type {kind}\nkernel_type rbf\ngamma 1\nnr_class 2\ntotal_sv 2\nrho 0\n{classes}SV\n"
    return f"{head}{coefficient} {vector}\n-1 1:0\n".encode()


@pytest.mark.parametrize("kind, vector", [("c_svc", "1:0.5 2:0.5"), ("epsilon_svr", "1:0.5")])
@pytest.mark.parametrize("coefficient", ["1e60", "1e300"])
def test_a_model_whose_values_are_beyond_single_precision_is_not_drawn(kind, vector, coefficient):
    session = begun([(0.5, 0.5, 1), (0.9, 0.3, 2)])
    session.open_model(model_file(kind, coefficient, vector), "m")
    head, values = session.picture(VIEW)
    assert values.size == 0 and head["note"] == "values of this model are too large to be drawn"
    json.dumps(head, allow_nan=False)  # as the server does


def test_models_that_the_page_cannot_show_are_refused(tmp_path):
    X, y = libsvmx.read_problem(str(data.DATA / "heart_scale"))
    session = begun()

    def text_of(model):
        libsvmx.save_model(str(tmp_path / "m"), model)
        return (tmp_path / "m").read_bytes()

    r = np.random.default_rng(0)
    plane = r.uniform(size=(20, 2))
    cases = [
        (text_of(libsvmx.train(X, y)), "have a feature 13"),
        (text_of(libsvmx.train(plane, plane[:, 0], svm_type="epsilon_svr", p=0.01)), "regression on two features"),
        (text_of(libsvmx.train(plane, np.arange(20) % 8)), "8 classes"),
        (text_of(libsvmx.train(plane, np.arange(20) % 2, kernel_type="poly", degree=12)), "degree must be"),
        (b"svm_type c_svc\n", "m"),
        (model_file("c_svc", 1, "1:1e308 2:1"), "support vectors with numbers above 1e+06"),
    ]
    for text, cause in cases:
        with pytest.raises(SvmxError) as error:
            session.open_model(text, "m")
        assert cause in str(error.value)
        assert session.follower.model is None and session.scene.param == session_module.START


def test_nothing_to_save():
    with pytest.raises(DataError, match="no rows to save"):
        begun().data_text()
    with pytest.raises(DataError, match="no rows to train on"):
        saved_model(begun().scene)


@pytest.mark.parametrize(
    "view", [(0, 0, 0, 1, 3, 3), (0, 1, 0, 1, 1, 3), (0, 1, 0, 1, 1000, 1000), (0, float("inf"), 0, 1, 3, 3)]
)
def test_a_view_must_be_a_rectangle_of_some_nodes(view):
    with pytest.raises(DataError):
        View(*view)
