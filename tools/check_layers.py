"""Check that imports point down: each module imports only from lower chapters, or from its own chapter, and no
modules import each other in a circle. Imports under TYPE_CHECKING do not count.

Usage: python tools/check_layers.py        exit code 1 and a line for each wrong import
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# For each package, lower chapters first. A chapter is a folder, a module, or several at one level; a module belongs to
# the longest entry that is a prefix of its name.
LAYERS = {
    "libsvmx": (
        "enums exceptions _typing _version _core/contexts _core/enumerations",
        "_core",
        "_kernels",
        "_solvers/dual",
        "_solvers/solver",
        "_solvers/registry",
        "_solvers/path/path_state",  # the state of a path, from which SMO in double starts again
        "_solvers/smo",
        "_solvers/path",
        "_solvers/decomposition",
        "_solvers/interior_point _solvers/linear _solvers/linear_work",
        "_solvers/auto",
        "_solvers/seeding",
        "_train",
        "_train/validation",
        "_train/updating",
        "_train/cluster",
        "io",
        "api clibrary dask cli compat commonutil grid plot sklearn svm svmutil toy __init__",
    ),
    "tools": (
        "powers_of_five snapshot tables usages check_layers check_site memory_of_fits oldest toy_page",
        "command_pages figures trainings_on_threads",
        "bench/__init__ bench/measure bench/cases bench/report bench/generated",
        "bench/machine bench/datasets bench/figures bench/turns",
        "bench/certificate bench/mapped bench/roofline bench/peers bench/protocol",
        "bench/jobs",
        "bench/__main__",
    ),
}
SOURCES = (".py", ".pyx", ".pxd")
IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n#]*)|c?import[ \t]+([\w.]+))", re.M
)
RELATIVE = re.compile(r"^[ \t]*from[ \t]+\.", re.M)
FOR_TYPES = re.compile(r"^([ \t]*)if TYPE_CHECKING:.*\n(?:(?:\1[ \t]+\S.*)?\n)*", re.M)


def problems(root=ROOT, layers=LAYERS):
    """Lines about relative imports, imports that point up, and circles, in each package below ``root``."""
    for package, chapters in layers.items():
        folder = root.joinpath(package)
        level = {name: k for k, names in enumerate(chapters) for name in names.split()}
        graph = {}
        for path in sorted(path for ending in SOURCES for path in folder.rglob(f"*{ending}")):
            name, text = path.relative_to(folder).with_suffix("").as_posix(), path.read_text(encoding="utf-8")
            text = FOR_TYPES.sub("", text)
            own = chapter_of(name, level)
            imported = list(targets(text, package.replace("/", "."), folder))
            if RELATIVE.search(text):
                yield f"{package}/{name}: relative import"
            if name == "__init__" or (path.stem == "__init__" and not imported):
                continue  # public names, loaded on first use, or a map of chapters
            if own is None:
                yield f"{package}/{name}: has no chapter; add it to LAYERS"
                continue
            for target in imported:
                theirs = chapter_of(target, level)
                if theirs is not None and level[theirs] > level[own]:
                    yield f"{package}/{name}: imports {target}, which is above it"
                graph.setdefault(name, set()).add(target)
        yield from (f"{package}: {line}" for line in circles(graph))


def chapter_of(name, level):
    """The chapter of a module, or None."""
    return max((c for c in level if name == c or name.startswith(f"{c}/")), key=len, default=None)


def targets(text, package, folder):
    """Modules of ``package`` imported by a source text, as paths below ``folder``."""
    for origin, names, plain in IMPORT.findall(text):
        module = origin or plain
        if module != package and not module.startswith(f"{package}."):
            continue
        parts = module[len(package) + 1 :].split(".") if module != package else []
        imported = [name.split(" as ")[0].strip() for name in names.strip("()").split(",") if name.strip(" ()\n")]
        # "from package import module" imports the module
        modules = [[*parts, n] for n in imported if any(folder.joinpath(*parts, n + e).exists() for e in SOURCES)]
        for found in modules or ([parts] if parts else []):
            yield "/".join(found)


def circles(graph):
    """Lines about circular imports."""
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
