"""Build, install and test with the oldest versions declared in pyproject.toml and meson.build.

    python tools/oldest.py [-Csetup-args=-D…] [arguments of pytest]

Requirements without a version are the newest. It needs the oldest declared Python, as later ones have no wheels of
these versions, a C compiler and the network.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BOUND = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)")
EXTRAS = ("grid", "dask", "plot", "sklearn", "test")
# Old versions trigger each other's deprecation warnings.
MIXED = ("-W", "ignore::DeprecationWarning")


def oldest(requirements):
    """Pins, name==version, of the lower bounds in requirements."""
    return [f"{bound[1]}=={bound[2]}" for bound in map(BOUND.fullmatch, requirements) if bound]


def main(arguments):
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, builds = declared["project"], declared["build-system"]["requires"]
    meson = re.search(r"meson_version: '(>= [\d.]+)'", (ROOT / "meson.build").read_text(encoding="utf-8"))[1]
    builds = [*builds, f"meson{meson.replace(' ', '')}"]
    tested = [line for extra in EXTRAS for line in project["optional-dependencies"][extra]]
    pins = oldest([*builds, *project["dependencies"], *tested])
    python = "python" + project["requires-python"].removeprefix(">=")
    if shutil.which(python) is None:
        sys.exit(f"oldest.py: there is no {python}")
    print(python, *pins, flush=True)
    given = [argument for argument in arguments if argument.startswith("-C")]
    setup = [f"--config-settings={argument[2:]}" for argument in given]  # pip before 23.1 has no -C
    rest = [argument for argument in arguments if argument not in given]
    with tempfile.TemporaryDirectory() as folder:
        programs = os.path.join(folder, "Scripts" if os.name == "nt" else "bin")
        env = {**os.environ, "PATH": programs + os.pathsep + os.environ["PATH"]}
        subprocess.run([python, "-m", "venv", folder], check=True)
        constraints = Path(folder, "pins.txt")
        constraints.write_text("\n".join(pins), encoding="utf-8")
        pip = ["-m", "pip", "install", "-c", str(constraints)]
        for call in (
            [*pip, "-q", *builds],
            [*pip, "-v", "--no-build-isolation", *setup, ".[test]"],
            ["-m", "pytest", *MIXED, *rest],
        ):
            subprocess.run([os.path.join(programs, "python"), *call], cwd=ROOT, env=env, check=True)


if __name__ == "__main__":
    main(sys.argv[1:])
