"""Worker threads: each part of a job is done once, with any number of threads and any length of jobs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.other_systems import SYSTEMS, output_of

from libsvmx._core.process import ThreadPool


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("parts", [0, 1, 2, 7, 256])
def test_each_part_once(threads, parts):
    """Many short jobs in sequence: a late worker must not take a part of the next one."""
    pool = ThreadPool(threads)
    assert 1 <= pool.n <= threads
    assert pool.count(parts, 3000) == [3000] * parts


def test_crews_come_and_go():
    for _ in range(200):
        assert ThreadPool(3).count(4, 1) == [1] * 4


def test_nothing_but_the_pool_orders_what_parts_write(tmp_path):
    """pool_races.c under ThreadSanitizer. tools/tsan.sh runs it, too, and trainings on several threads."""
    compiler = shutil.which("gcc")
    if compiler is None or shutil.which("setarch") is None:
        pytest.skip("needs gcc and setarch")
    sources = Path(__file__).parents[2] / "libsvmx" / "_core"
    program = [Path(__file__).with_name("pool_races.c"), "-o", tmp_path / "races", "-lpthread"]
    options = ["-fsanitize=thread", "-O1", "-g", "-DSVMX_THREADS=1", "-I", sources]
    if (
        not (sources / "thread_pool.h").exists()
        or subprocess.run([compiler, *options, *program], check=False).returncode
    ):
        pytest.skip("needs the sources and libtsan")
    env = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}  # another sanitizer
    done = subprocess.run(["setarch", "-R", tmp_path / "races"], capture_output=True, text=True, check=False, env=env)
    if "personality" in done.stderr:
        pytest.skip("needs to switch off the random layout of memory")
    assert (done.returncode, done.stdout) == (0, "right sums\n"), done.stderr


def test_workers_that_lose_time_rest(tmp_path):
    """pool_rests.c"""
    compiler, sources = shutil.which("gcc"), Path(__file__).parents[2] / "libsvmx" / "_core"
    if compiler is None or sys.platform == "win32" or not (sources / "thread_pool.h").exists():
        pytest.skip("needs gcc, POSIX threads and the sources")
    program = [Path(__file__).with_name("pool_rests.c"), "-o", tmp_path / "rests", "-lpthread"]
    subprocess.run([compiler, "-O2", "-DSVMX_THREADS=1", "-I", sources, *program], check=True)
    done = subprocess.run([tmp_path / "rests"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "jobs of two parts: rests, of more: rests\n"), done.stderr


@pytest.mark.parametrize("system", SYSTEMS)
def test_threads_of_other_systems(system, tmp_path):
    """pool_races.c, with their own threads; Windows without a substitute such as winpthreads."""
    races = Path(__file__).with_name("pool_races.c")
    assert output_of(system, tmp_path, "-O2", "-DSVMX_THREADS=1", races) == "right sums\n"
