"""Check that imports point down: each module imports only from lower layers, or from earlier files of its own.

Usage: python tools/check_layers.py        exit code 1 and a line per wrong arrow
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1] / "libsvmx"

# lower layers first; names are folders or single modules of the package
LAYERS = [
    {"enums", "exceptions", "_typing", "_version"},
    {"_core"},
    {"_kernels"},
    {"_problem"},
    {"_solvers"},
    {"_train"},
    {"io"},
    {"api", "dask", "cli", "compat", "svmutil", "__init__"},
]
SOURCES = (".py", ".pyx", ".pxd")
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
IMPORT = re.compile(r"^\s*(?:from|import|cimport)\s+(libsvmx[\w.]*)(?:\s+c?import\s+(\([^)]*\)|.*))?", re.M)
RELATIVE = re.compile(r"^\s*from\s+\.", re.M)


def part_of(path):
    """The layer name of a source file."""
    relative = path.relative_to(ROOT)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def problems():
    """Lines about imports that point up, or that are relative."""
    graph = {}
    for path in sorted([*ROOT.rglob("*.py"), *ROOT.rglob("*.pyx"), *ROOT.rglob("*.pxd")]):
        own = part_of(path)
        name = path.relative_to(ROOT).with_suffix("").as_posix()
        if own not in LEVEL:
            yield f"{name}: {own} has no layer; add it to LAYERS"
            continue
        text = path.read_text(encoding="utf-8")
        if RELATIVE.search(text):
            yield f"{name}: relative import"
        for module, names in IMPORT.findall(text):
            parts = module.split(".")[1:]
            imported = [n.split(" as ")[0].strip() for n in (names or "").strip("()").split(",") if n.strip(" ()")]
            # "from libsvmx.package import module" leads to the module, not to the package
            modules = [[*parts, n] for n in imported if any(ROOT.joinpath(*parts, n + e).exists() for e in SOURCES)]
            targets = modules or ([parts] if parts else [])
            for target in targets:
                if name == "__init__":
                    continue  # the public names, loaded on first use
                if target[0] in LEVEL and LEVEL[target[0]] > LEVEL[own]:
                    yield f"{name}: imports {'.'.join(target)}, which is above it"
                graph.setdefault(name, set()).add("/".join(target))
    yield from circles(graph)


def circles(graph):
    """Lines about modules that import each other in a circle."""
    done, open_path = set(), []

    def visit(name):
        if name in open_path:
            yield "circle: " + " -> ".join([*open_path[open_path.index(name) :], name])
            return
        if name in done:
            return
        open_path.append(name)
        for target in sorted(graph.get(name, ())):
            if target != name:  # a .pyx and its .pxd are one module
                yield from visit(target)
        open_path.pop()
        done.add(name)

    for name in sorted(graph):
        yield from visit(name)


if __name__ == "__main__":
    found = sorted(set(problems()))
    print("\n".join(found) or "layers: every import points down")
    sys.exit(bool(found))
