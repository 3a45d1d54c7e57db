"""The commands, as processes or in this process, each in its own folder."""

import subprocess
import sys
from functools import partial
from pathlib import Path

from libsvmx.cli import batch, checkdata, compress, easy, export, grid, predict, scale, subset, toy, train, update
from libsvmx.cli.process import guarded

MODULES = {
    "svmx-train": train,
    "svmx-predict": predict,
    "svmx-scale": scale,
    "svmx-grid": grid,
    "svmx-easy": easy,
    "svmx-subset": subset,
    "svmx-checkdata": checkdata,
    "svmx-update": update,
    "svmx-compress": compress,
    "svmx-export": export,
    "svmx-batch": batch,
    "svmx-toy": toy,
}


# Keeps svmx-grid and svmx-easy from drawing a picture, their slowest part, if it runs first.
NO_PICTURES = 'import sys; sys.modules["matplotlib"] = None'

# Seconds after which a hanging process fails its test; a working one takes a small part of that on any machine.
PATIENCE = 900


def arguments(command, *args, before="pass"):
    """The command line that starts ``command`` as a process; ``before`` is a statement run there after all imports."""
    module = MODULES[command].__name__
    return [sys.executable, "-c", f"from {module} import entry\n{before}\nentry()", *map(str, args)]


def process(command, *args, before="pass", **options):
    """A finished process; output and errors are bytes unless told otherwise."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": PATIENCE, **options}
    return subprocess.run(arguments(command, *args, before=before), **options)


def endless(path):
    """Data whose training with huge C takes far longer than any test."""
    state = 1
    lines = []
    for i in range(1500):
        values = []
        for j in range(1, 9):
            state = state * 1103515245 + 12345 & 0x7FFFFFFF
            values.append(f"{j}:{state / 0x7FFFFFFF:.4f}")
        lines.append(f"{1 - 2 * (i * i // 7 % 2)} {' '.join(values)}\n")
    path.write_text("".join(lines))
    return ["-t", "1", "-r", "1", "-g", "5", "-d", "4", "-c", "1e6", "-e", "1e-9", path.name]


class Folder:
    """The current folder of a test, where commands run in this process.

    ``KEPT`` is an existing model file in the place of the output, which no failing command may touch.
    """

    KEPT = b"svm_type kept from an earlier run\n"

    def __init__(self, path, capfd):
        self.path, self.capfd = Path(path), capfd

    def put(self, name, content):
        """A file; returns its name."""
        (self.path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def get(self, name):
        return (self.path / name).read_bytes()

    def call(self, command, *args, **given):
        """(exit code, standard output, standard error). ``given``: keyword arguments of its ``main``."""
        module = MODULES[command]
        self.capfd.readouterr()
        code = guarded(command, partial(module.main, **given), module.USAGE, [str(a) for a in args])
        return code, *self.capfd.readouterr()

    def snapshot(self):
        """Names and contents of all files, temporary ones included."""
        return {p.name: p.read_bytes() for p in self.path.iterdir() if p.is_file()}

    def refuses(self, command, *args, **given):
        """Run a command that must fail with exit code 1 and change no file; returns its message and output."""
        before = self.snapshot()
        code, out, err = self.call(command, *args, **given)
        assert code == 1, (out, err)
        assert self.snapshot() == before
        assert "Traceback" not in err
        return err, out

    def accepts(self, command, *args, **given):
        """Run a command that must succeed; returns its remarks and output."""
        code, out, err = self.call(command, *args, **given)
        assert code == 0, err
        assert not [name for name in self.snapshot() if name.endswith(".tmp")]
        return err, out
