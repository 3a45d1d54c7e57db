"""The same script run with LIBSVM's Python modules and with ours, each in its own process."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

HEART = Path(__file__).parents[2] / "data" / "heart_scale"

# Results are printed by repr, so equal output means equal doubles. Integer features make ties and zeros frequent.
PROLOGUE = """
import os, sys
from {module}.svmutil import *
import numpy as np
from scipy import sparse
HEART = sys.argv[1]
rng = np.random.default_rng(11)
X = rng.integers(-2, 3, size=(60, 6)).astype(float)
assert (X == 0).any() and X.any(axis=1).all()
Y = np.where(X[:, 0] + X[:, 1] * X[:, 2] > 0.5, 1, -1)
Y4 = (X[:, 0] > 0) * 2 + (X[:, 1] > 0)
T = X[:, 0] - 0.5 * X[:, 1] ** 2 + 0.1 * rng.standard_normal(60)

def contents(model, name):
    svm_save_model(name, model)
    return open(name).read()

def show(model, name="model"):
    print(model.get_svm_type(), model.get_nr_class(), model.get_nr_sv(), model.is_probability_model())
    print(model.get_labels(), model.get_sv_indices(), model.get_sv_coef(), model.get_SV(), sep="\\n")
    functions = model.nr_class * (model.nr_class - 1) // 2
    print(model.l, model.nr_class, model.free_sv, model.rho[:functions])
    print(bool(model.probA), bool(model.probB), bool(model.label))
    print([row[: model.l] for row in model.sv_coef[: model.nr_class - 1]], model.sv_indices[: model.l])
    p = model.param
    print(p.svm_type, p.kernel_type, p.degree, p.gamma, p.coef0, p.C, p.nu, p.p, p.eps, p.probability)
    print(contents(model, name))
"""


# Imports take longer than most scripts, so they are done once, and each script runs in a fork of that process, whose
# state is that of a fresh one, rand() included.
SERVER = """
import json, os, sys, traceback
ready = compile({prologue!r}, "prologue", "exec")
exec(ready)
for line in sys.stdin:
    folder, script = json.loads(line)
    child = os.fork()
    if not child:
        code = 1
        try:
            os.chdir(folder)
            for handle, name in ((1, "stdout"), (2, "stderr")):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), handle)
            exec(compile(script, "script", "exec"))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(code)
    print(os.waitpid(child, 0)[1], flush=True)
"""


@cache
def server(module: str) -> subprocess.Popen[str]:
    """A process that has imported a module, and reads the name of a folder and of a script in each line."""
    started = subprocess.Popen(
        [sys.executable, "-u", "-c", SERVER.format(prologue=PROLOGUE.replace("{module}", module)), str(HEART)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # sums of the oracle depend on the number of threads
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    atexit.register(started.communicate)
    return started


def run(module: str, script: str, folder: Path) -> str:
    """Standard output of the script in its own process, with a fresh rand() stream."""
    folder.mkdir(exist_ok=True)
    process = server(module)
    assert process.stdin and process.stdout
    process.stdin.write(json.dumps([str(folder), script]) + "\n")
    process.stdin.flush()
    assert process.stdout.readline() == "0\n", (folder / "stderr").read_text()
    return (folder / "stdout").read_text()


def same_output(script: str, tmp_path: Path) -> str:
    expected = run("libsvm", script, tmp_path / "oracle")
    assert run("libsvmx", script, tmp_path / "ours") == expected
    return expected
