"""Output and files of the commands over several hundred trainings, to compare two versions.

Usage: python tools/snapshot.py FOLDER        about two minutes

`diff -r -x commands A B` of two such folders shows every changed byte. FOLDER gets a numbered file for each command
line, with exit code, output and written files; `commands` lists the command lines. The sets are those of data/, with
few rows.
"""

import contextlib
import io
import itertools
import lzma
import os
import shlex
import sys
import tempfile
from importlib import import_module
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"
# name, file, rows: two classes sparse and dense, several classes, regression targets
SETS = {
    "heart": ("heart_scale", 270),
    "splice": ("splice.xz", 200),
    "a1a": ("a1a.xz", 300),
    "iris": ("iris.scale", 150),
    "glass": ("glass.scale", 214),
    "mpg": ("mpg", 200),
    "pyrim": ("pyrim", 74),
}
TWO, MANY, TARGETS = ("heart", "splice", "a1a"), ("iris", "glass"), ("mpg", "pyrim")
KERNELS = ("-t 0", "-t 1 -d 2 -r 1", "-t 2", "-t 2 -g 0.5", "-t 3 -g 0.01")
COSTS = ("-c 0.1", "-c 1", "-c 50 -h 0", "-c 100 -e 1e-5")
TYPES = {"-s 0": TWO + MANY, "-s 1 -n 0.2": TWO + MANY, "-s 2 -n 0.3": TWO, "-s 3": TARGETS, "-s 4 -n 0.4": TARGETS}
SEEDERS = ("auto", "sir", "mir", "ato", "avg", "top", "near", "path")


def products(*parts):
    """All combinations of one item from each, as text."""
    return [" ".join(choice) for choice in itertools.product(*parts)]


def trainings():
    """(options, set) of each call of svmx-train that writes a model."""
    for formulation, sets in TYPES.items():
        limit = [cost + " --max-iter 20000" for cost in COSTS]
        yield from itertools.product(products([formulation], KERNELS, limit), sets[:2] + sets[3:])
    yield from itertools.product(products(["-b 1"], KERNELS[::2], ["-c 2", "-s 1 -n 0.2"]), TWO[:1] + MANY)
    yield from itertools.product(["-s 3 -b 1", "-s 4 -b 1 -c 3"], TARGETS)
    yield from itertools.product(["-w1 3 -w-1 0.2", "-w1 0.5 -w2 4", "-m 0.1", "-m 0.05 -c 30"], TWO[:2] + MANY)
    yield from itertools.product(["-t 4", "-t 4 -c 10 -b 1", "-t 4 -s 1", "-t 4 -s 2"], ["gram"])
    sets = {"-s 0": TWO[:2] + MANY[1:], "-s 1 -n 0.2": TWO[:1], "-s 2 -n 0.3": TWO[:1], "-s 3": TARGETS[1:]}
    options = ["-c 1", "-c 200 --working-set 40", "-c 5 --working-set-rule largest --precision double"]
    for formulation, names in sets.items():
        solvers = [f"{formulation} --solver {name}" for name in ("chunked", "irwls")]
        yield from itertools.product(products(solvers, KERNELS[::2], options), names)
    reductions = ["-c 1", "-c 100 --reduction none", "-c 10 --reduction fixed --reduction-rule distance --unbalanced"]
    yield from itertools.product(products(["--solver crsvm -t 0"], reductions), TWO + MANY)
    ranks = [
        "--rank 20",
        "--low-rank nystrom --rank 30",
        "--low-rank eigen --rank 15",
        "--low-rank rpcholesky --rank 25",
    ]
    predictions = ["--predict-with kernel", "--predict-with factor"]
    yield from itertools.product(products(["--solver crsvm -c 3"], ranks, predictions), TWO[:1] + MANY[1:])
    yield "--solver crsvm -t 1 -d 2 -g 0.3 -r 1 -c 2", "heart"


def validations():
    """(options, set) of each call of svmx-train that validates."""
    yield from itertools.product(products(["-v 5", "-v 10 -c 20"], KERNELS[::2]), TWO[:1] + MANY)
    yield from itertools.product(["-v 4 -s 1 -n 0.2", "-v 3 -b 1", "-v 5 -s 2", "-v 6 -w1 3"], TWO[:1] + MANY[:1])
    yield from itertools.product(["-s 3 -v 5", "-s 4 -v 5"], TARGETS)
    chosen = [f"--seeder {name}" for name in SEEDERS]
    chosen += [f"--seeder {name} --seeder-scheme {scheme}" for name in ("sir", "mir") for scheme in ("chain", "star")]
    yield from itertools.product(products(["-v 5 -c 10", "-v 10 -s 2 -n 0.3"], chosen), TWO[:1])
    yield from itertools.product(products(["-v 5 -c 10"], chosen), MANY)
    yield from itertools.product(products(["-v 5 -s 3 -c 10"], chosen), TARGETS[1:])
    yield from itertools.product(["--loo", "--loo -c 10", "--loo --seeder path", "-v 150 -q"], ["heart", "iris"])
    yield "--loo -s 3 -c 5", "pyrim"
    yield from itertools.product(products(["-v 5"], ["--solver chunked", "--solver irwls", "--solver crsvm -t 0"]), TWO)


def updates():
    """Arguments of each call of svmx-update."""
    for options, name in itertools.product(["-c 1", "-c 20 -g 0.1", "-t 0 -c 0.5", "-t 1 -d 2 -r 1 -c 2"], TWO + MANY):
        yield f"{options} --add {name}.more --remove 1,5,20-40 {name}.part {{model}} {{out}}", f"{options} {name}.part"
    for options, name in itertools.product(["-s 3 -c 5", "-s 3 -t 0 -c 1"], TARGETS):
        yield f"{options} --add {name}.more --remove 2-9 {name}.part {{model}} {{out}}", f"{options} {name}.part"
    yield "-s 2 -n 0.3 --add heart.more --remove 3-30 heart.part {model} {out}", "-s 2 -n 0.3 heart.part"
    for options in ("-c 1", "-c 20 -t 0", "-s 2 -n 0.2"):
        yield f"--window 60 --step 7 {options} heart {{model}} {{out}}", ""


OTHERS = (
    "svmx-scale -l 0 heart",
    "svmx-scale -y -1 1 mpg",
    "svmx-subset -s 0 --random-state 1 heart 50",
    "svmx-subset -s 1 --random-state 1 mpg 40",
    "svmx-checkdata heart",
    "svmx-grid -log2c -1,5,2 -log2g -5,1,2 -v 5 -out null heart",
    "svmx-grid -log2c 0,4,2 -log2g null -v 4 -t 0 -out null iris",
)


def put_data(folder):
    """The sets in ``folder``, each whole and in two parts, and a precomputed kernel."""
    for name, (file, rows) in SETS.items():
        content = (DATA / file).read_bytes()
        lines = (lzma.decompress(content) if file.endswith(".xz") else content).splitlines(keepends=True)
        chosen = [lines[at] for at in range(0, len(lines), max(1, len(lines) // rows))][:rows]
        share = max(1, len(chosen) * 4 // 5)
        for suffix, part in (("", chosen), (".part", chosen[:share]), (".more", chosen[share:])):
            Path(folder, name + suffix).write_bytes(b"".join(part))
    rows = [line.split() for line in Path(folder, "iris").read_text().splitlines()]
    vectors = [dict(item.split(":") for item in row[1:]) for row in rows]
    with Path(folder, "gram").open("w") as out:
        for at, (row, one) in enumerate(zip(rows, vectors, strict=True), 1):
            values = [sum(float(v) * float(two.get(k, 0)) for k, v in one.items()) for two in vectors]
            out.write(" ".join([row[0], f"0:{at}", *(f"{j}:{v:.17g}" for j, v in enumerate(values, 1))]) + "\n")


def run(words):
    """Exit code and standard output of a command line, run in this process."""
    from libsvmx.cli.process import guarded

    command, *arguments = shlex.split(words)
    module = import_module("libsvmx.cli." + command.removeprefix("svmx-"))
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = guarded(command, module.main, module.USAGE, arguments)
    return f"exit code {code}\n".encode() + out.buffer.getvalue()


def write(folder, number, words, *files):
    """One record: the command line, its output, and the written files, which are then removed."""
    record = [run(words)]
    with Path(folder, "commands").open("a") as commands:
        commands.write(f"{number:04d} {words}\n")
    for file in files:
        record.append(f"-- {file}\n".encode())
        if os.path.exists(file):
            record.append(Path(file).read_bytes())
    Path(folder, f"{number:04d}").write_bytes(b"".join(record))
    return number + 1


def main(folder):
    """Write all records; prints their number."""
    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    number = 0
    with tempfile.TemporaryDirectory() as work, contextlib.chdir(work):
        put_data(work)
        for options, name in trainings():
            number = write(folder, number, f"svmx-train {options} {name} model", "model")
            if Path("model").exists():
                estimates = "-b 1 " * ("-b 1" in options)
                number = write(folder, number, f"svmx-predict {estimates}{name} model out", "out")
                Path("model").unlink()
        for options, name in validations():
            number = write(folder, number, f"svmx-train {options} {name}")
        for words, before in updates():
            if before:
                run(f"svmx-train -q {before} model")
            words = "svmx-update " + words.format(model="model", out="out")
            number = write(folder, number, words, "model", "out")
        for words in OTHERS:
            number = write(folder, number, words)
    print(f"{number} records")


if __name__ == "__main__":
    main(*sys.argv[1:])
