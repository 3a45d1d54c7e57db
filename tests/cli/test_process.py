"""Commands called outside the main thread of their own process, and signals caught by others."""

import os
import signal
import subprocess
import sys
from threading import Thread

import pytest
from support import data
from support.commands import process

from libsvmx.cli.train import main

HEART = str(data.DATA / "heart_scale")

posix = pytest.mark.skipif(os.name != "posix", reason="POSIX signals")


def test_a_command_called_from_a_thread_writes_its_model(folder):
    """Signals go to the main thread; other threads cannot handle them."""
    thread = Thread(target=main, args=(["-q", HEART, "of a thread"],))
    thread.start()
    thread.join()
    expected = process("svmx-train", "-q", HEART, "of the process")
    assert expected.returncode == 0
    assert folder.get("of a thread") == folder.get("of the process")


@posix
@pytest.mark.parametrize("otherwise", ["raise ImportError('initialization failed')", "pass"])
def test_a_signal_that_is_taken_for_something_else_ends_the_command(tmp_path, otherwise):
    """C modules turn the handler's exception into another error while being imported, callbacks drop it."""
    code = (
        "import signal\n"
        "from libsvmx.cli.ending import tidy_end\n"
        "from libsvmx.cli.process import run\n"
        "def main(argv):\n"
        "    with tidy_end():\n"
        "        try:\n"
        "            signal.raise_signal(signal.SIGTERM)\n"
        f"        except BaseException:\n            {otherwise}\n"
        "    return 0\n"
        "run('svmx-train', main, '')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")


@posix
def test_a_signal_at_the_end_of_a_block_leaves_no_temporary_file(tmp_path):
    """There, the block has not heard of the error yet: its file is removed with the frames."""
    code = (
        "import os, signal, sys\n"
        "from libsvmx._core import contexts\n"
        "from libsvmx.cli.ending import tidy_end\n"
        "from libsvmx.cli.process import run\n"
        "from libsvmx.io.outputs import atomic_write\n"
        "def trace(frame, event, argument):\n"
        "    code = frame.f_code\n"
        "    if (code.co_filename, code.co_name) == (contexts.__file__, '__exit__'):\n"
        "        sys.settrace(None)\n"
        "        signal.raise_signal(signal.SIGTERM)\n"
        "def main(argv):\n"
        "    with tidy_end(), atomic_write('model') as file:\n"
        "        file.write(b'x')\n"
        "        sys.settrace(trace)\n"
        "run('x', main, None)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, b"")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("error, traceback", [("MemoryError", False), ("KeyError", True)])
def test_memory_that_is_out_in_what_cannot_raise_is_a_warning(tmp_path, error, traceback):
    """As in a destructor. Python reports other errors there."""
    code = (
        "from libsvmx.cli.process import run\n"
        "class Picture:\n"
        f"    def __del__(self):\n        raise {error}\n"
        "def main(argv):\n    Picture()\n    return 0\n"
        "run('svmx-train', main, '')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert ("Traceback" in done.stderr) == traceback
    if not traceback:
        assert done.stderr == "warning: out of memory in Picture.__del__, which cannot tell its caller\n"


def test_python_that_takes_itself_down_says_nothing_of_memory(tmp_path):
    code = (
        "import os, sys\n"
        "from libsvmx.cli import ending, process\n"
        "class Last:\n"
        "    def __del__(self, down=sys.is_finalizing, write=os.write):\n"
        "        write(1, b'last' if down() else b'early')\n"
        "        raise MemoryError\n"
        "last = Last()\n"
        "ending._needs_finalization = lambda: True\n"
        "process.run('svmx-train', lambda argv: 0, '')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "last", "")


def test_a_command_called_by_a_program_leaves_ctrl_c_to_it(folder):
    before = signal.getsignal(signal.SIGINT)
    folder.accepts("svmx-train", "-q", "--on-interrupt", "save", data.DATA / "heart_scale", "model")
    assert signal.getsignal(signal.SIGINT) == before
