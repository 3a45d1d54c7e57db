"""Each script of the gallery runs as by a reader, and draws something."""

import ast
import subprocess
import sys

import pytest
from support import documents
from support.optional import optional

optional("matplotlib")

GALLERY = documents.ROOT / "docs" / "gallery"
SCRIPTS = sorted(path.name for path in GALLERY.glob("plot_*.py"))
FIRST = ("plot_boundary.py",)
NEEDS = {"plot_dask.py": "distributed"}

# Draw, too, so that a layout that does not fit, or a missing glyph, is a warning.
RUN = """
import runpy, sys
from matplotlib import pyplot
runpy.run_path(sys.argv[1], run_name="__main__")
figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
for figure in figures:
    figure.canvas.draw()
    empty = [axes for axes in figure.axes if not axes.has_data()]
    assert figure.axes and not empty, empty
assert figures, "no figure"
"""


def run(script, folder):
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, script],
        cwd=folder,
        env={**documents.environment(), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
        timeout=documents.PATIENCE,
    )


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.exhaustive] if name not in FIRST else []) for name in SCRIPTS]
)
def test_a_script_draws(name):
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    done = run(f"docs/gallery/{name}", documents.ROOT)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_script_runs_from_its_own_folder():
    """As sphinx-gallery runs it."""
    done = run(FIRST[0], GALLERY)
    assert (done.returncode, done.stderr) == (0, "")


def test_outside_of_a_clone_a_script_names_the_missing_data(tmp_path):
    (tmp_path / "data").mkdir()
    done = run(GALLERY / FIRST[0], tmp_path)
    assert (done.returncode, done.stderr) == (1, "run this in a clone of the repository: data/ is needed\n")


@pytest.mark.parametrize(
    "text, message",
    [
        ("import warnings; warnings.warn('a letter is missing')", "a letter is missing"),
        pytest.param("", "no figure", marks=pytest.mark.exhaustive),
        pytest.param("import matplotlib.pyplot as plt; plt.subplots()", "<Axes: >", marks=pytest.mark.exhaustive),
    ],
)
def test_a_script_that_draws_nothing_is_reported(text, message, tmp_path):
    (tmp_path / "script.py").write_text(text)
    done = run("script.py", tmp_path)
    assert done.returncode == 1 and message in done.stderr


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_has_the_form_of_the_gallery(name):
    """A title, underlined, and a text about the picture; then cells, the last of which shows it."""
    text = (GALLERY / name).read_text(encoding="utf-8")
    lines = (ast.get_docstring(ast.parse(text)) or "").splitlines()
    assert lines[1] == "=" * len(lines[0]) and lines[2] == "" and len(lines) > 5
    assert "\n# %%\n" in text
    assert text.endswith("\nplt.show()\n")


def test_there_are_scripts():
    assert len(SCRIPTS) >= 10
    assert set(FIRST) <= set(SCRIPTS)
