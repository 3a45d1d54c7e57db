"""The figures of docs/: their numbers equal those of today's code, and they are drawn from their numbers."""

import json
import re

import numpy as np
import pytest
from support.optional import optional
from support.selection import quick_first

import libsvmx
from tools.figures import left_out, sets, smo, solver_map
from tools.figures.__main__ import FIGURES, main
from tools.figures.figure import FOLDER, Figure, unlike

optional("matplotlib")

DOCS = FOLDER.parent
MOST_BYTES = 100_000
MEASURED = [name for name, figure in FIGURES.items() if figure.saved() or figure.numbers]  # growth: once measured
QUICK = ("overview", "support_vectors", "smo", "paths", "folds", "left_out", "solver_map")


def drawn_by_this_matplotlib(path):
    import matplotlib

    found = re.search(r"Matplotlib v([\w.]+),", path.read_text(encoding="utf-8"))
    assert found, f"{path.name} does not name its matplotlib"
    return found[1] == matplotlib.__version__


@pytest.mark.parametrize("name", QUICK)
def test_numbers_are_those_of_the_code(name):
    assert FIGURES[name].differences(FIGURES[name].numbers()) == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in FIGURES if name not in QUICK and FIGURES[name].numbers])
def test_numbers_that_take_longer_are_those_of_the_code(name):
    assert FIGURES[name].differences(FIGURES[name].numbers()) == []


@pytest.mark.parametrize("name", quick_first(sorted(MEASURED, key=["left_out", "smo"].__contains__, reverse=True), 2))
def test_pictures_are_drawn_from_their_numbers(name, tmp_path):
    figure, path = FIGURES[name], FOLDER / f"{name}.svg"
    numbers = figure.saved()
    assert numbers is not None
    again = figure.write(numbers, tmp_path).read_bytes()
    assert (tmp_path / f"{name}.json").read_bytes() == (FOLDER / f"{name}.json").read_bytes()
    assert len(path.read_bytes()) < MOST_BYTES
    if drawn_by_this_matplotlib(path):
        assert again == path.read_bytes(), f"python -m tools.figures {name} --saved draws it again"


def test_every_picture_is_shown_and_every_one_that_is_shown_is_there():
    shown = {name for page in DOCS.glob("*.md") for name in re.findall(r"\]\(figures/(\w+)\.svg\)", page.read_text())}
    assert shown | {"overview"} == set(MEASURED) == {path.stem for path in FOLDER.glob("*.svg")}


def test_numbers_that_a_page_tells_of_a_picture_are_its_own():
    page = (DOCS / "howitworks.md").read_text(encoding="utf-8").replace("\n", " ")
    for name, counts in FIGURES["left_out"].saved().items():
        total = sum(counts[kind] for kind in left_out.KINDS)
        assert re.search(rf"{counts['solved']:,} of {total:,}( rows)? of {re.split('[._]', name)[0]}", page), name
    folds = FIGURES["folds"].saved()
    for way, first in (("nothing", 0), ("chain", 1), ("star", 0)):
        of_way = folds[way]["iterations"][first:]
        assert f"{min(of_way)} to {max(of_way)}" in page
    assert f"{folds['star']['full']} for the training over all rows" in page
    assert {f"{folds[way]['accuracy']:.2f}" for way in ("nothing", "chain", "star")} == {"82.93"}
    assert f"{FIGURES['smo'].saved()['iterations']:,} iterations" in page
    crsvm = FIGURES["crsvm"].saved()
    assert f"from all {crsvm['rows']:,} rows of mushrooms down to {crsvm['Q'][-1]}" in page
    assert f"in {len(crsvm['Q'])} iterations" in page


def test_the_solver_map_says_what_its_page_says():
    page = " ".join((DOCS / "solvers.md").read_text(encoding="utf-8").split())
    for k, (question, solver, _, _) in enumerate(solver_map.QUESTIONS, 1):
        assert f"{k}. {' '.join(question.split())} `{solver}`" in page
    own = [str(k) for k, (_, _, _, asked) in enumerate(solver_map.QUESTIONS, 1) if asked]
    assert f"asks questions {', '.join(own[:-1])} and {own[-1]} itself" in page


def test_rows_are_shrunk_when_the_solver_brings_them_back():
    """LIBSVM's marks: '.' each time rows are shrunk, '*' if all were restored before that."""

    class Marks(libsvmx.Observer):
        marks = ""

        def mark(self, mark):
            self.marks += mark if mark in ".*" else ""

    X, y = sets.problem(smo.SET)
    told = Marks()
    libsvmx.train(X, y, observer=told, **smo.OPTIONS)
    found = FIGURES["smo"].saved()
    assert told.marks.index("*") == found["shrink_at"].index(found["unshrunk_at"])
    rows = np.array([list(row) for row in found["shrunk"]]) == "1"
    assert 0 < rows[:, 0].sum() < rows[:, -1].sum() < len(y)


@pytest.mark.parametrize("name", ["heart_scale", "ionosphere_scale.xz"])
def test_rows_that_are_solved_again_are_those_of_leave_one_out(name):
    X, y = sets.problem(name)
    options = left_out.TRAININGS[name]
    found = libsvmx.leave_one_out(X, y, values=False, **options)
    assert len(found.retrained) == FIGURES["left_out"].saved()[name]["solved"]


def test_the_row_that_joins_ends_where_a_training_with_it_ends():
    paths = FIGURES["paths"].saved()
    from tools.figures import paths as module

    X, y = sets.problem(paths["set"])
    rows = [*range(module.ROWS), module.JOINS]
    model = libsvmx.train(X[rows], y[rows], C=module.JOIN_C, gamma=module.GAMMA, keep_state=True).model
    assert module.alphas_of(model, len(rows))[-1] == pytest.approx(paths["joins"][-1], abs=1e-5)


# --- the tools themselves ---


def test_differences_are_told():
    assert list(unlike({"a": [1, 2.0]}, {"a": [1, 2.0000001]}, 1e-6)) == []
    assert list(unlike({"a": [1, 2.0]}, {"a": [1, 2.1]}, 1e-6)) == ["a[1]: 2.0 was written, 2.1 is found"]
    assert list(unlike({"a": "x"}, {"a": "y"}, 1)) == ['a: "x" was written, "y" is found']
    assert len(list(unlike({"a": [1]}, {"a": [1, 1]}, 1e-6))) == 1
    assert len(list(unlike({"a": 1}, {"b": 1}, 1e-6))) == 1
    assert len(list(unlike({"a": True}, {"a": 1}, 1e-6))) == 0
    assert list(unlike({"a": {"b": [1, 2]}, "c": 1}, {"a": {"b": [9]}, "c": 1}, 1e-6, ("a",))) == []


def test_command(tmp_path, capsys, monkeypatch):
    numbers = {"set": [1.0, 2.0]}
    figure = Figure("toy", lambda: numbers, solver_map.FIGURES[0].draw)
    monkeypatch.setitem(FIGURES, "toy", figure)
    assert main(["toy", "--check", "--folder", str(tmp_path)]) == 1
    (tmp_path / "toy.json").write_text(json.dumps(numbers))
    assert main(["toy", "--check", "--folder", str(tmp_path)]) == 0
    numbers["set"][0] = 3.0
    assert main(["toy", "--check", "--folder", str(tmp_path)]) == 1
    assert "toy: set[0]: 1.0 was written, 3.0 is found" in capsys.readouterr().out
    assert main(["solver_map", "--folder", str(tmp_path), "--png", str(tmp_path / "png")]) == 0
    assert {path.name for path in tmp_path.glob("solver_map.*")} == {"solver_map.json", "solver_map.svg"}
    assert (tmp_path / "png" / "solver_map.png").stat().st_size > 10_000
    with pytest.raises(SystemExit):
        main(["nothing"])
