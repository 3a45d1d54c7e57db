"""Which tests run, and how.

Without ``--exhaustive``, each behaviour keeps representatives, chosen only by the tests' parameters:

- a test over three or more parameters keeps combinations that cover each pair of values of two parameters;
- a test marked ``each_value`` keeps combinations that cover each value of each parameter;
- one marked ``exhaustive``, a whole test or a single value, is left out: it repeats other tests at greater length, or
  runs a benchmark from end to end;
- a property uses a share of its examples, see support.examples.

``--remaining`` is for after such a run: it runs what is left out or reduced above.

The whole suite runs on all cores if pytest-xdist is installed; ``-n 0`` and ``-p no:xdist`` run it in one process. Its
asserts are plain, as rewriting all files takes every process longer than everything else before the first test;
instead, the values of the names in a failed assert are printed. If files are named pytest rewrites them, as it does
with ``--assert=rewrite``.
"""

import gc
import os
import signal
import sys
from pathlib import Path

# The oracle must run with one thread, or its sums have another order; set before anything loads OpenMP.
os.environ["OMP_NUM_THREADS"] = "1"
# Help has its full width: COLUMNS is the runner's, which readline puts into the environment behind Python's back.
os.environ.pop("COLUMNS", None)
os.unsetenv("COLUMNS")
# A test run started with & inherits an ignored SIGINT, and would pass it on to the commands under test.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# The repository root, for `tools`; last, so that it shadows no installed package.
sys.path.append(str(Path(__file__).parents[1]))

import pytest
from support import asserts, examples, failures, installed, selection


def pytest_addoption(parser):
    parser.addoption("--exhaustive", action="store_true", help="all combinations of parameters, all examples")
    parser.addoption("--remaining", action="store_true", help="of --exhaustive only what a run without it leaves out")


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Where no tests are named: ``-n auto`` unless processes are specified, and plain asserts."""
    option, whole = config.option, config.args_source != pytest.Config.ArgsSource.ARGS
    if whole and not any(word.startswith("--assert") for word in config.invocation_params.args):
        option.assertmode = "plain"
    else:
        asserts.rewrite()
    if "PYTEST_XDIST_WORKER" in os.environ or hasattr(config, "workerinput"):
        return  # a worker process
    if whole and getattr(option, "numprocesses", 0) is None and not (option.usepdb or option.collectonly):
        option.numprocesses = os.cpu_count() or 1
        option.dist = "worksteal"


def pytest_configure(config):
    gc.disable()  # collecting tests makes many lasting objects and hardly any garbage
    config.addinivalue_line("markers", "exhaustive: repetition, left out without --exhaustive")
    config.addinivalue_line("markers", "each_value: without --exhaustive, each value of each parameter occurs once")
    config.option.exhaustive |= config.option.remaining
    examples.exhaustive = config.option.exhaustive


def pytest_collection_modifyitems(config, items):
    if config.option.exhaustive and not config.option.remaining:
        return
    kept, left_out = selection.representatives(items)
    if config.option.remaining:
        left_out, kept = selection.done_alike(kept, left_out)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.failed and item.config.option.assertmode == "plain" and call.excinfo.errisinstance(AssertionError):
        report.sections.append(("values in the statement that failed", failures.values_in(call.excinfo.tb)))
    return report


def pytest_terminal_summary(terminalreporter):
    import libsvmx

    stale = installed.differing(os.path.dirname(libsvmx.__file__))
    if stale:
        note = f"{len(stale)} source files are not those of the installed package, or newer: {stale[0]}, ..."
        terminalreporter.write_line(f"{note} `pip install .` again to test them", yellow=True)


@pytest.fixture
def folder(tmp_path, monkeypatch, capfd):
    """An empty current folder in which commands run, see support.commands.Folder."""
    from support.commands import Folder

    monkeypatch.chdir(tmp_path)
    return Folder(tmp_path, capfd)


@pytest.fixture(scope="session")
def exhaustive(pytestconfig):
    """Whether to run every case, not only representatives."""
    return pytestconfig.getoption("exhaustive", False)
