"""The suites use only public names of libsvmx, and only judges of tests/support that do so, too."""

import ast
from pathlib import Path

HERE = Path(__file__).parent
SUPPORT = HERE.parent / "support"


def imported(path):
    """(module, name or None) of every import in a file, also within functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            yield from ((module, alias.name) for alias in node.names)


def support_of(path):
    """The files of tests/support that a file imports."""
    for module, name in imported(path):
        if module == "support" or (module == "." and path.parent == SUPPORT):
            yield SUPPORT / f"{name}.py"
        elif module.startswith("support.") or (module.startswith(".") and path.parent == SUPPORT):
            yield SUPPORT / f"{module.removeprefix('support').lstrip('.')}.py"


def files():
    """The suites, and the files of tests/support that they import, directly or not."""
    waiting, found = set(HERE.glob("*.py")), set()
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= set(support_of(path)) - found
    return sorted(found)


def test_no_private_module_is_imported():
    names = {path.name for path in files()}
    assert {"table.py", "judge.py", "optima.py", "oracle.py"} <= names  # the search finds files
    for path in files():
        if path == SUPPORT / "policies.py":  # forces mechanisms, so it may use private names
            continue
        for module, name in imported(path):
            parts = [*module.split("."), name or ""]
            if parts[0] == "libsvmx":
                assert not any(part.startswith("_") for part in parts[1:]), (path, module, name)
                public = ("libsvmx", "libsvmx.enums", "libsvmx.exceptions")
                of_commands = path.name == "commands.py" and module.startswith("libsvmx.cli")
                assert module in public or of_commands, (path, module)


def test_no_private_attribute_is_read():
    for path in sorted(HERE.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__"):
                raise AssertionError(f"{path}:{node.lineno}: {node.attr}")
            assert not (isinstance(node, ast.Name) and node.id == "monkeypatch"), path
