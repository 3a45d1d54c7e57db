"""C programs for other systems, compiled and run here if there is a compiler."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "libsvmx" / "_core"
LOOPS = CORE / "loops"

# Compiler, runner, options, and further options for AVX (meson.build), or None without AVX.
SYSTEMS = {
    "windows": ("x86_64-w64-mingw32-gcc", ["wine"], [], ["-Wa,-muse-unaligned-vector-move"]),
    "musl": ("musl-gcc", [], ["-static"], []),
    "aarch64": ("aarch64-linux-gnu-gcc", ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"], [], None),
}

WARNINGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-parameter"]
OF_LOOPS = ["-O3", "-ffp-contract=off", "-fno-trapping-math", "-fopenmp-simd"]
BASELINE = {"baseline": []}
AVX = {"avx2": ["-march=x86-64-v3"], "avx512": ["-march=x86-64-v4", "-mprefer-vector-width=512"]}


def tools_of(system):
    """Its line of the table; skips the test if its tools are missing."""
    compiler, runner, *_ = SYSTEMS[system]
    tools = [compiler, *runner[:1]]
    if not CORE.exists() or any(shutil.which(tool) is None for tool in tools):
        pytest.skip(f"needs the sources, {' and '.join(tools)}")
    return SYSTEMS[system]


def output_of(system, folder, *arguments):
    """The output of a compiled program; warnings and nonzero exit codes are errors."""
    compiler, runner, options, _ = tools_of(system)
    program = folder / "program.exe"
    subprocess.run([compiler, *WARNINGS, "-I", CORE, "-I", LOOPS, *arguments, *options, "-o", program], check=True)
    environment = {**os.environ, "WINEDEBUG": "-all"}
    done = subprocess.run([*runner, program], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def output_with_loops(system, folder, *arguments):
    """``run`` for a program with the hot loops of all CPU targets."""
    compiler, _, _, of_avx = tools_of(system)
    objects = []
    for target, options in (BASELINE if of_avx is None else BASELINE | AVX).items():
        for source in [source for source in LOOPS.glob("*.c") if source.stem != "targets"]:
            objects.append(folder / f"{source.stem}-{target}.o")
            fused = ["-ffp-contract=fast"] if source.stem == "rbf" else []
            of_target = [f"-DSVMX_TARGET={target}", *options, *(of_avx if options else [])]
            command = [compiler, *WARNINGS, *OF_LOOPS, *of_target, *fused, "-c", source, "-o", objects[-1]]
            subprocess.run(command, check=True)
    built = [] if of_avx is None else ["-DSVMX_X86_TARGETS"]
    return output_of(system, folder, *built, *arguments, LOOPS / "targets.c", *objects, "-lm")
