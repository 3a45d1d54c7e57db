"""Which solver to choose: the questions of docs/solvers.md in order, each with the solver for the answer yes.

Sources: docs/solvers.md, and _solvers/auto.py for the questions that solver auto decides itself. The page has the same
list; a test compares them.
"""

from libsvmx._solvers.auto import ChoicePolicy
from libsvmx._solvers.linear_work import MAX_FEATURES, ROWS_PER_FEATURE
from tools.figures import style
from tools.figures.figure import Figure

# question, answer, choice, whether solver auto decides it itself
QUESTIONS = (
    (
        "Too many rows for the memory\nof one machine?",
        "libsvmx.dask",
        "crsvm on a cluster",
        False,
    ),
    (
        "Must the model file be LIBSVM's,\nbyte for byte?",
        "smo",
        "the default",
        False,
    ),
    (
        f"Linear kernel, C-SVC or epsilon-SVR,\nat most {MAX_FEATURES:,} features, and at least\n"
        f"{ROWS_PER_FEATURE} rows for each feature?",
        "crsvm",
        "interior point",
        True,
    ),
    (
        "C-SVC or epsilon-SVR, and a low-rank\napproximation of the kernel will do?",
        "crsvm --rank N",
        "low-rank factor",
        False,
    ),
    (
        f"Large C or small -e, so that SMO needs\nvery many steps; at most {ChoicePolicy.max_free:,} free rows?",
        "irwls",
        "least squares",
        True,
    ),
    (
        "The same, with more free rows?",
        "chunked",
        "working sets in cache",
        True,
    ),
)
OTHERWISE = ("smo", "all else")
LINE, GAP, ANSWER = 0.19, 0.22, 1.62  # inches: height of a line of text, space between boxes, width of an answer


def numbers():
    """The texts in the boxes."""
    questions = [dict(zip(("question", "solver", "remark", "auto"), one, strict=True)) for one in QUESTIONS]
    return {"questions": questions, "otherwise": dict(zip(("solver", "remark"), OTHERWISE, strict=True))}


def draw(found):
    heights = [LINE * (1 + max(2, one["question"].count("\n") + 1)) for one in found["questions"]]
    total = sum(heights) + GAP * (len(heights) + 1) + 0.95
    figure, axes = style.canvas(total)
    left, width, right = 0.1, style.WIDTH - ANSWER - 0.65, style.WIDTH - ANSWER - 0.1
    top = total - 0.1
    for k, (one, height) in enumerate(zip(found["questions"], heights, strict=True)):
        y = top - height
        edge = style.BLUE if one["auto"] else style.MUTED
        style.box(axes, left, y, width, height, one["question"], edge, size=9)
        middle = y + height / 2
        style.arrow(axes, (left + width, middle), (right, middle))
        axes.text(left + width + 0.19, middle + 0.05, "yes", size=8.5, ha="center", color=style.MUTED)
        answer(axes, right, middle, one)
        style.arrow(axes, (left + width / 2, y), (left + width / 2, y - GAP))
        if not k:
            axes.text(left + width / 2 + 0.07, y - GAP / 2, "no", size=8.5, va="center", color=style.MUTED)
        top = y - GAP
    y = top - 0.42
    axes.text(left + width / 2, y + 0.21, found["otherwise"]["remark"], ha="center", va="center", size=9)
    style.box(axes, left, y, width, 0.42, "", style.MUTED)
    style.arrow(axes, (left + width, y + 0.21), (right, y + 0.21))
    answer(axes, right, y + 0.21, {"solver": found["otherwise"]["solver"], "remark": "the default", "auto": True})
    axes.text(left, y - 0.28, "Blue questions: --solver auto asks them itself.", size=9, color=style.BLUE)
    return figure


def answer(axes, x, middle, one):
    colour = style.BLUE if one["auto"] else style.MUTED
    style.box(axes, x, middle - 0.21, ANSWER, 0.42, "", colour, filled=True)
    axes.text(x + ANSWER / 2, middle + 0.08, one["solver"], ha="center", va="center", color=style.GROUND, weight="bold")
    axes.text(x + ANSWER / 2, middle - 0.1, one["remark"], ha="center", va="center", color=style.GROUND, size=8)


FIGURES = (Figure("solver_map", numbers, draw),)
