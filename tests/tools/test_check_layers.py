"""The layer checker finds each wrong import in a tree made for it."""

import pytest

from tools.check_layers import problems

LAYERS = {"house": ("floor", "_rooms", "_rooms/attic", "roof __init__")}
GOOD = {
    "__init__.py": "from house.roof import top\n",
    "floor.py": "import sys\n",
    "_rooms/kitchen.pyx": "from house.floor cimport board\ncimport house.floor\n",
    "_rooms/kitchen.pxd": "from house._rooms.hall cimport door\n",
    "_rooms/hall.py": "from house import floor  # the floor\n",
    "_rooms/attic/box.py": "from house._rooms import (\n    hall,\n    kitchen,\n)\n",
    "_rooms/stairs.py": "if TYPE_CHECKING:\n    from house import (\n        roof,\n    )\n\n    import house.roof\n",
    "roof.py": "def top():\n    from house._rooms.attic.box import lid\n",
}


def found(folder, **change):
    """Lines about the good tree with some files changed; "__" stands for "/"."""
    changed = {name.replace("__", "/") + ".py": text for name, text in change.items()}
    for name, text in {**GOOD, **changed}.items():
        path = folder / "house" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return list(problems(folder, LAYERS))


def test_arrows_that_point_down_are_right(tmp_path):
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"floor": "from house._rooms import hall\n"}, "house/floor: imports _rooms/hall, which is above it"),
        ({"floor": "import house.roof as r\n"}, "house/floor: imports roof, which is above it"),
        ({"floor": "if True:\n    from house.roof import top\n"}, "house/floor: imports roof, which is above it"),
        (
            {"floor": "if TYPE_CHECKING:\n    import sys\n\nimport house.roof\n"},
            "house/floor: imports roof, which is above it",
        ),
        (
            {"floor": "if TYPE_CHECKING:\n    import sys\nelse:\n    import house.roof\n"},
            "house/floor: imports roof, which is above it",
        ),
        ({"floor": "from house import (\n    roof,\n)\n"}, "house/floor: imports roof, which is above it"),
        (
            {"_rooms__hall": "from house._rooms.attic import box\n"},
            "house/_rooms/hall: imports _rooms/attic/box, which is above it",
        ),
        ({"_rooms__hall": "from . import kitchen\n"}, "house/_rooms/hall: relative import"),
        ({"_rooms__attic__box": "from ..hall import door\n"}, "house/_rooms/attic/box: relative import"),
        (
            {"_rooms__hall": "from house._rooms import kitchen\n"},
            "house: circle: _rooms/hall -> _rooms/kitchen -> _rooms/hall",
        ),
        ({"cellar": "import sys\n"}, "house/cellar: has no chapter; add it to LAYERS"),
    ],
)
def test_wrong_arrows_are_told(change, line, tmp_path):
    assert line in found(tmp_path, **change)


def test_of_this_repository_no_arrow_is_wrong():
    assert list(problems()) == []
