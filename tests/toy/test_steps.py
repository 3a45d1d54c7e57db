"""Undo and redo: the extent of a step, and the restored state."""

import numpy as np
import pytest
from support.toy import VIEW, begun

from libsvmx.toy.session import MOST_UNDONE, saved_model


def test_undo_brings_back_rows_parameters_and_model():
    session = begun([(0.1, 0.2, 1), (0.5, -0.2, 2), (-0.3, 0.4, 1)])
    scenes, values = [session.scene], [session.picture(VIEW)[1]]
    for change in (
        [{"do": "move", "row": 0, "x": 0.7, "y": 0.7}],
        [{"do": "set", "kernel_type": 0}],
        [{"do": "remove", "row": 2}],
        [{"do": "clear"}],
        [{"do": "example", "name": "blobs"}],
    ):
        session.change(change)
        scenes.append(session.scene)
        values.append(session.picture(VIEW)[1])
    for k in reversed(range(len(scenes) - 1)):
        session.undo()
        assert session.scene == scenes[k]
        np.testing.assert_allclose(session.picture(VIEW)[1], values[k], atol=1e-6)
    for k in range(1, len(scenes)):
        session.redo()
        assert session.scene == scenes[k]
    assert session.picture(VIEW)[0]["can"] == {"undo": True, "redo": False}
    session.redo()
    assert session.scene == scenes[-1]
    session.undo()
    session.change([{"do": "set", "C": 3.0}])
    assert session.picture(VIEW)[0]["can"] == {"undo": True, "redo": False}  # the new step drops the undone one


def test_a_drag_is_one_step_and_old_steps_are_forgotten():
    session = begun([(0.0, 0.0, 1), (0.5, 0.5, 2)])
    before = session.scene
    for k in range(5):
        session.change([{"do": "move", "row": 0, "x": 0.1 * k, "y": 0.1}], continued=k > 0)
    session.undo()
    assert session.scene == before and session.picture(VIEW)[0]["can"]["redo"]
    for k in range(MOST_UNDONE + 5):
        session.change([{"do": "set", "C": 1.0 + k}])
    for _ in range(MOST_UNDONE):
        session.undo()
    assert not session.picture(VIEW)[0]["can"]["undo"]
    assert session.scene.param.C == 5.0


def moved_to(x, row=0):
    return [{"do": "move", "row": row, "x": x, "y": 0.0}]


@pytest.mark.parametrize("name", ["undo", "redo", "another row", "a setting", "data", "model", "nothing"])
def test_only_the_last_step_is_continued_and_only_by_its_like(name):
    session = begun([(0.0, 0.0, 1), (0.5, 0.5, 2)])
    session.change(moved_to(0.1))
    between = {
        "undo": session.undo,
        "redo": lambda: (session.undo(), session.redo()),
        "another row": lambda: session.change(moved_to(0.7, row=1)),
        "a setting": lambda: session.change([{"do": "set", "C": 3.0}]),
        "data": lambda: session.open_data(b"1 1:1 2:1\n2 1:0.5 2:-1\n", "d"),
        "model": lambda: session.open_model(saved_model(session.scene), "m"),
        "nothing": lambda: None,
    }
    begin = session.scene
    between[name]()
    before = begun([(0.0, 0.0, 1), (0.5, 0.5, 2)]).scene if name == "nothing" else session.scene
    row = min(session.scene.rows)
    for x in (0.2, 0.3):
        session.change(moved_to(x, row), continued=True)
    assert session.scene.rows[row].x == 0.3 and not session.picture(VIEW)[0]["can"]["redo"]
    session.undo()
    assert session.scene == before != begin or name == "redo"


def test_what_continues_an_undone_step_does_not_take_rows_away():
    session = begun([(0.0, 0.0, 1)])
    session.change([{"do": "set", "C": 3.0}])
    session.undo()
    session.change(moved_to(0.2), continued=True)
    session.undo()
    assert list(session.scene.rows) == [0]
