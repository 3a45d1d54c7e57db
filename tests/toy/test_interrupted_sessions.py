"""Ctrl-C, or an error, at every bytecode of code that changes a session: it is entirely old or entirely new."""

import json

import pytest
from support.interrupts import fail, interrupted, points_of, press
from support.toy import VIEW, begun

FUNCTIONS = ("built_apart", "at_once", "_change", "_show", "_turn", "_remember", "following", "_follow_path", "_put")
ROWS = [(-0.5, 0.1, 1), (0.4, 0.2, 2), (-0.3, -0.4, 1), (0.5, -0.1, 2), (0.1, 0.0, 1), (0.0, 0.3, 2)]
CHANGES = {
    "move": lambda s: s.change([{"do": "move", "row": 1, "x": -0.2, "y": 0.1}]),
    "dragged": lambda s: s.change([{"do": "move", "row": 4, "x": 0.3, "y": 0.1}], continued=True),
    "add and remove": lambda s: s.change([{"do": "add", "x": 0.2, "y": 0.3, "label": 1}, {"do": "remove", "row": 2}]),
    "C": lambda s: s.change([{"do": "set", "C": 2.0}]),
    "gamma": lambda s: s.change([{"do": "set", "gamma": 0.5}]),
    "undo": lambda s: s.undo(),
    "data": lambda s: s.open_data(b"-1 1:0.1 2:0.3\n1 1:0.2 2:-0.1\n-1 1:0.3\n", "rows.txt"),
}


def session():
    made = begun(ROWS)
    made.change([{"do": "move", "row": 4, "x": 0.2, "y": 0.1}])
    return made


def images_of(session):
    """The page's view of a session, and its view after two more changes."""
    found = [picture_of(session)]
    session.change([{"do": "add", "x": -0.1, "y": -0.3, "label": 2}, {"do": "set", "C": 5.0}])
    found.append(picture_of(session))
    session.undo()
    return [*found, picture_of(session)]


def picture_of(session):
    head, values = session.picture(VIEW)
    model = head["model"]
    # except how the model was found, which may be by a training after an interrupt
    told = {**model, "seconds": 0, "breakpoints": 0, "way": "", "objective": round(model["objective"], 6)}
    return json.dumps({**head, "model": told}), values.round(4).tolist()


@pytest.mark.parametrize("name", CHANGES)
def test_at_every_bytecode(name, exhaustive):
    change = CHANGES[name]
    changed = session()
    change(changed)
    outcomes, raised = [images_of(session()), images_of(changed)], 0
    for at in points_of(session, change, exhaustive, FUNCTIONS):
        found = session()
        raised += interrupted(lambda found=found: change(found), at, press if at % 2 else fail)
        assert images_of(found) in outcomes, at
    assert raised > 20
