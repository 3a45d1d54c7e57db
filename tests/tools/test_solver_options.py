"""The tables of settings in docs/solvers.md are what the solvers declare."""

from libsvmx._solvers.registry import solver_classes
from tools import solver_options


def test_the_docs_are_up_to_date():
    text = solver_options.DOCS.read_text(encoding="utf-8")
    assert solver_options.filled_in(text) == text, "run python tools/solver_options.py --write"
    shown = {place[2] for place in solver_options.PLACE.finditer(text)}
    tables = [solver_options.table(name) for name in shown]
    assert all(solver_options.table(solver.name) in tables for solver in solver_classes() if solver.settings())


def test_a_table_that_differs_is_replaced():
    text = "before\n<!-- settings of chunked -->\nold\n<!-- end -->\nafter\n"
    found = solver_options.filled_in(text)
    assert found.startswith("before\n<!-- settings of chunked -->\n| option |") and found.endswith(
        "<!-- end -->\nafter\n"
    )
    assert "`--working-set N` | `working_set` |" in found and "old" not in found
