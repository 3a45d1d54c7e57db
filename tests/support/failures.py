"""Values of the names in a failed assert not rewritten by pytest."""

import ast
import types
from pathlib import Path

TESTS = str(Path(__file__).parents[1])
LONGEST = 1000  # characters of a value; of a longer one the middle is left out
NO_VALUES = types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type


def values_in(traceback):
    """Lines "name = value" for the failed statement, the innermost one in a test file."""
    place = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename.startswith(TESTS):
            place = traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    if place is None:
        return ""
    frame, line = place
    known = {**frame.f_globals, **frame.f_locals}
    names = dict.fromkeys(names_at(Path(frame.f_code.co_filename).read_text(encoding="utf-8"), line))
    found = [(name, known[name]) for name in names if name in known]
    return "\n".join(f"{name} = {shortened(value)}" for name, value in found if not isinstance(value, NO_VALUES))


def names_at(source, line):
    """The names that the innermost statement at a line reads, in order."""
    statements = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    here = [node for node in statements if node.lineno <= line <= node.end_lineno]
    statement = max(here, key=lambda node: (node.lineno, -node.end_lineno))
    names = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    return [node.id for node in sorted(names, key=lambda node: (node.lineno, node.col_offset))]


def shortened(value):
    try:
        text = repr(value)
    except Exception as error:
        text = f"<no repr: {error!r}>"
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[:half]} ... {text[-half:]}"
