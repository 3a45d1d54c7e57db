"""Files in and out: all streams of a compressed file, joint replacement of outputs, locks."""

import bz2
import errno
import gzip
import lzma
import os
import signal
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path

import pytest
from support.faults import failing, largest_file, system_call

import libsvmx
from libsvmx.exceptions import FormatError
from libsvmx.io import files, outputs
from libsvmx.io.files import note_beside, parting, read_blocks, read_bytes
from libsvmx.io.modelfile import model_text
from libsvmx.io.outputs import atomic_write, held, lock, write_files
from libsvmx.io.statefile import state_bytes
from libsvmx.io.svmlight import BatchReader, read_data

PACK = {"bz2": bz2.compress, "xz": lzma.compress, "gz": gzip.compress}
FIRST, SECOND = b"1 1:0.5\n" * 3000, b"-1 1:0.25\n" * 3000


def both(path):
    """Its content, read at once and in blocks."""
    content = read_bytes(str(path))
    assert b"".join(read_blocks(str(path), 1000)) == content
    return content


@pytest.mark.parametrize("kind", PACK)
def test_all_streams_of_a_file_are_read(kind, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(PACK[kind](FIRST) + PACK[kind](b"") + PACK[kind](SECOND))
    assert both(path) == FIRST + SECOND


@pytest.mark.parametrize("zeros", [4, 8, 65536])
def test_an_xz_stream_may_be_followed_by_zeros(zeros, tmp_path):
    path = tmp_path / "data"
    path.write_bytes(lzma.compress(FIRST) + bytes(zeros) + lzma.compress(SECOND) + bytes(zeros))
    assert both(path) == FIRST + SECOND


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("behind", [b"1 1:3\n", b"\0\0\0", b"B"], ids=["a row", "three zeros", "one byte"])
def test_nothing_else_may_follow_a_stream(kind, behind, tmp_path):
    """Python's own readers of bz2 and xz stop there silently."""
    if kind == "gz" and not behind.strip(b"\0"):
        pytest.skip("gzip says that zeros are padding")
    path = tmp_path / "data"
    path.write_bytes(PACK[kind](FIRST) + behind)
    for read in (read_bytes, lambda name: list(read_blocks(name, 1000))):
        with pytest.raises(FormatError, match="damaged compressed file"):
            read(str(path))


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("at", [0, 1, 2, 4, 6])
def test_a_damaged_header_of_a_later_stream_is_an_error(kind, at, tmp_path):
    second = bytearray(PACK[kind](SECOND))
    if kind == "gz" and at > 3:
        pytest.skip("time and name of a gzip member may be anything")
    second[at] ^= 0xFF
    path = tmp_path / "data"
    path.write_bytes(PACK[kind](FIRST) + bytes(second))
    with pytest.raises(FormatError, match="damaged compressed file"):
        read_bytes(str(path))


# ---- several outputs ----------------------------------------------------------------------------


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
@pytest.mark.parametrize("number", [0, 1])
def test_no_output_takes_its_place_before_all_are_complete(call, number, tmp_path):
    """The last of the renames may fail: then the first one is undone."""
    paths = [tmp_path / name for name in ("model", "state")]
    names = [str(path) for path in paths]
    for path in paths:
        path.write_bytes(b"old")
    contents = [b"new", b"new"]
    if call == "write":
        fault, contents[number] = largest_file(1000), bytes(1001)
    else:
        fault = failing(call, errno.ENOSPC, after=number, times=1)
    with fault, pytest.raises(OSError) as error:
        write_files(list(zip(names, contents, strict=True)))
    assert error.value.errno == (errno.EFBIG if call == "write" else errno.ENOSPC)
    assert error.value.filename == names[number]
    assert [path.read_bytes() for path in paths] == [b"old", b"old"]
    assert sorted(os.listdir(tmp_path)) == ["model", "state"]


@pytest.mark.parametrize("number", range(4))
def test_no_error_is_told_once_all_outputs_are_in_place(number, tmp_path):
    """Memory may be out where what was kept to undo the renames is removed; the next write removes it then."""
    paths, calls = [tmp_path / name for name in ("model", "state")], count()
    for path in paths:
        path.write_bytes(b"old")

    def unlink(true, *arguments):
        if next(calls) == number:
            raise MemoryError
        true(*arguments)

    with system_call("unlink", unlink):
        write_files([(str(path), b"new") for path in paths])
    assert [path.read_bytes() for path in paths] == [b"new", b"new"]
    assert [parting(str(path)) for path in paths] == [None, None]
    write_files([(str(path), b"newer") for path in paths])
    assert sorted(os.listdir(tmp_path)) == ["model", "state"]


def test_a_file_that_was_not_there_is_not_there_again(tmp_path):
    (tmp_path / "state").write_bytes(b"old")
    with failing("replace", errno.EIO, after=2, times=1), pytest.raises(OSError, match="state"):
        write_files([(str(tmp_path / name), b"new") for name in ("predictions", "model", "state")])
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("state", b"old")]


def test_without_hard_links_the_last_one_is_old(tmp_path):
    paths = [tmp_path / name for name in ("predictions", "model", "state")]
    for path in paths:
        path.write_bytes(b"old")
    fault = failing("replace", errno.EIO, after=2, times=1)
    with failing("link", errno.EPERM), fault, pytest.raises(OSError, match="state"):
        write_files([(str(path), b"new") for path in paths])
    assert [path.read_bytes() for path in paths] == [b"new", b"new", b"old"]
    for path in paths:
        assert f"new {paths[0]}, {paths[1]}; as before {paths[2]}." in parting(str(path))
    write_files([(str(path), b"newer") for path in paths])
    assert len(os.listdir(tmp_path)) == 3


def kill_before_rename(number, paths, contents=(b"new", b"new", b"new"), old=b"old"):
    """The files after writing all, with SIGKILL before the rename of that number, counted from 0."""
    for path in paths if old is not None else ():
        path.write_bytes(old)
    calls = count()

    def does(true, *arguments):
        if next(calls) == number:
            os.kill(os.getpid(), signal.SIGKILL)
        return true(*arguments)

    child = os.fork()
    if child == 0:
        with system_call("replace", does):
            write_files([(str(path), content) for path, content in zip(paths, contents, strict=False)])
        os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL


three = pytest.mark.parametrize("names", [("model", "state", "predictions"), ("a" * 80, "a" * 79, "\udcff\n b")])
kills = pytest.mark.skipif(not hasattr(os, "fork"), reason="not on Windows")


@kills
@three
@pytest.mark.parametrize("old", [b"old", None])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_who_reads_outputs_that_a_kill_has_parted_is_told(number, old, names, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    paths = [tmp_path / names[0], tmp_path / "elsewhere" / names[1], tmp_path / names[2]]
    kill_before_rename(number, paths, old=old)
    assert [path.exists() and path.read_bytes() for path in paths] == [
        b"new" if k < number else old or False for k in range(3)
    ]
    told = [parting(str(path)) for path in paths]
    if number == 0:  # all files are as before
        assert told == [None] * 3
    else:
        new, as_before = (", ".join(map(str, some)) for some in (paths[:number], paths[number:]))
        assert all(f"new {new}; as before {as_before}. Run it again" in remark for remark in told)
    write_files([(str(path), b"newer") for path in paths])
    assert [parting(str(path)) for path in paths] == [None] * 3
    assert sorted(tmp_path.rglob("*")) == sorted([tmp_path / "elsewhere", *paths])


@kills
@pytest.mark.parametrize("change", ["written alone", "changed by another program", "removed", "a damaged note"])
def test_parted_outputs_that_were_changed_since_are_nobodys_business(change, tmp_path):
    paths = [tmp_path / "model", tmp_path / "state"]
    kill_before_rename(1, paths)
    assert parting(str(paths[1])) is not None
    if change == "written alone":
        write_one([str(paths[1])])
        assert [os.path.exists(note_beside(str(path))) for path in paths] == [True, False]
    elif change == "changed by another program":
        paths[0].write_bytes(b"another")
    elif change == "removed":
        paths[1].unlink()
    else:
        for path in paths:
            note = Path(note_beside(str(path)))
            note.write_bytes(note.read_bytes()[:-1])  # as if it had not been written to its end
    assert [parting(str(path)) for path in paths] == [None, None]


@kills
def test_readers_of_models_states_and_data_are_told(tmp_path):
    X, y = [[0.0], [1.0]], [1.0, -1.0]
    state = libsvmx.train(X, y, keep_state=True)
    contents = model_text(state.model), state_bytes(state), b"1 1:1\n-1 1:0\n"
    paths = [tmp_path / name for name in ("model", "state", "data")]
    for path, content in zip(paths, contents, strict=True):
        path.write_bytes(content)  # the last one is unchanged
    kill_before_rename(2, paths, contents, old=None)
    for read, path in ((libsvmx.load_model, paths[0]), (libsvmx.State.load, paths[1])):
        with pytest.warns(UserWarning, match=r"killed before .*new .*model, .*state; as before .*data"):
            read(path)
    for reader in (read_data(str(paths[2])), BatchReader(str(paths[2]))):
        list(reader if isinstance(reader, BatchReader) else ())
        assert any("killed before all files were in place" in remark for remark in reader.remarks)


def write_one(names):
    with atomic_write(names[0]) as file:
        file.write(b"new")


def write_two(names):
    write_files([(name, b"new") for name in names])


class Interruption:
    """A trace function that raises before the n-th instruction of outputs.py; signals come at fewer points."""

    def __init__(self, n):
        self.left = n

    def __call__(self, frame, event, argument):
        if frame.f_code.co_filename != outputs.__file__ or frame.f_code.co_name == "discard":
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # a file closed by its destructor
@pytest.mark.parametrize("write", [write_one, write_two])
def test_a_signal_at_any_moment_leaves_no_temporary_file(write, tmp_path):
    names = [str(tmp_path / "model"), str(tmp_path / "state")]
    before, n = sys.gettrace(), 0
    handlers = {signum: signal.getsignal(signum) for signum in outputs.ending_signals()}
    while True:
        n += 1
        sys.settrace(interruption := Interruption(n))
        try:
            write(names)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
            for signum, handler in handlers.items():
                signal.signal(signum, handler)
        assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")], n
        if interruption.left > 0:
            break
    assert n > 300


class Sending(Interruption):
    """A real signal is sent before the n-th instruction while files are replaced, and its handler raises when Python
    runs it."""

    def __init__(self, n, signum):
        super().__init__(n)
        self.signum = signum

    def __call__(self, frame, event, argument):
        if frame.f_code.co_name not in ("write_files", "_signals_held_back", "_put_in_place", "put_in_place"):
            return None
        try:
            super().__call__(frame, event, argument)
        except KeyboardInterrupt:
            signal.raise_signal(self.signum)
        return self


class Told(BaseException):
    """Raised by the handler."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_all_outputs_old_or_all_new(signum, tmp_path):
    """Whenever it comes, and the signal is not lost."""

    def handler(signum, frame):
        raise Told

    paths = [tmp_path / name for name in ("model", "state")]
    tracing, before, n, seen = sys.gettrace(), signal.signal(signum, handler), 0, set()
    try:
        while True:
            n += 1
            for path in paths:
                path.write_bytes(b"old")
            sys.settrace(sending := Sending(n, signum))
            try:
                write_files([(str(path), b"new") for path in paths])
                told = False
            except Told:
                told = True
            finally:
                sys.settrace(tracing)
            found = {path.read_bytes() for path in paths}
            assert len(found) == 1, n
            assert signal.getsignal(signum) is handler
            if sending.left > 0:
                break
            assert told, n
            seen |= found
    finally:
        signal.signal(signum, before)
    assert n > 200
    assert seen == {b"old", b"new"}


@pytest.mark.parametrize("change", [-files.PIECE, -1, 0, 1, 3 * files.PIECE // 2])
def test_a_large_file_is_read_in_pieces_whatever_becomes_of_it_meanwhile(change, tmp_path):
    path, size = tmp_path / "f", 2 * files.PIECE + 1234567
    content = (bytes(range(251)) * (4 * files.PIECE // 251))[: size + max(change, 0)]
    path.write_bytes(content[:size])
    calls = []

    def told(*_):
        calls.append(_)
        if len(calls) == 1:  # the first piece has been read
            with open(path, "r+b") as file:
                file.truncate(size + min(change, 0))
                file.seek(size)
                file.write(content[size:])

    assert read_bytes(str(path), told) == content[: size + change]
    assert len(calls) == -(-min(size, size + change) // files.PIECE)


def test_what_a_dead_process_left_is_removed_by_the_next_that_writes_there(tmp_path):
    target = tmp_path / "model"
    kill = (
        "import os, signal; from libsvmx.io.outputs import atomic_write\n"
        f"with atomic_write({str(target)!r}) as file: os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", kill], check=False)
    assert [name.startswith(".model.") for name in os.listdir(tmp_path)] == [True]
    other = tmp_path / ".model.notes.tmp"
    other.write_bytes(b"not ours")
    with atomic_write(str(target)) as first:  # its process lives, so it stays
        first.write(b"first")
        with atomic_write(str(target)) as second:
            second.write(b"second")
        assert target.read_bytes() == b"second"
    assert target.read_bytes() == b"first"
    assert sorted(os.listdir(tmp_path)) == [".model.notes.tmp", "model"]


def test_who_holds_a_file_keeps_others_waiting_for_its_successor(tmp_path):
    path = tmp_path / "state"
    path.write_bytes(b"0")
    order, waiting = [], threading.Event()

    def second():
        with held(str(path), waiting.set):
            order.append(path.read_bytes())

    thread = threading.Thread(target=second)
    with held(str(path), pytest.fail):
        thread.start()
        assert waiting.wait(60)
        write_files([(str(path), b"1")])
        order.append("first is done")
    thread.join()
    assert order == ["first is done", b"1"]
    with open(path, "rb") as file:
        assert lock(file.fileno(), wait=False)


def test_many_threads_write_one_file(tmp_path):
    """No thread takes another's temporary file for abandoned, even if names repeat."""
    target, errors = tmp_path / "one", []

    def work(number):
        try:
            for _ in range(60):
                with atomic_write(str(target)) as file:
                    file.write(b"%d" % number * 1000)
        except OSError as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(set(target.read_bytes())) == 1
    assert os.listdir(tmp_path) == ["one"]


@pytest.mark.skipif(outputs.fcntl is None, reason="no locks here")
def test_without_locks_nothing_is_taken_for_abandoned(tmp_path):
    for first, second in (("t", "t"), ("x" * 50 + "_1", "x" * 50 + "_2")):
        with failing("flock", errno.ENOSYS), atomic_write(str(tmp_path / first)) as one:
            one.write(b"first")
            with atomic_write(str(tmp_path / second)) as two:
                two.write(b"second")
        assert (tmp_path / first).read_bytes() == b"first"


def test_a_link_that_leads_to_itself_is_not_replaced(tmp_path):
    path = tmp_path / "loop"
    path.symlink_to(path)
    for use in (lambda: outputs.check_target(str(path)), lambda: write_files([(str(path), b"new")])):
        with pytest.raises(OSError, match="symbolic links"):
            use()
    assert path.is_symlink()


# ---- the commands -------------------------------------------------------------------------------


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("moment", ["fsync", "open"])
def test_a_signal_while_a_model_is_written_leaves_no_temporary_file(moment, signum, tmp_path):
    from support.data import DATA

    before = {
        "fsync": f"os.fsync = lambda handle: os.kill(os.getpid(), {int(signum)})",
        "open": "true = os.open\n"
        "def opened(*arguments, **options):\n"
        "    handle = true(*arguments, **options)\n"
        f"    if str(arguments[0]).endswith('.tmp'): os.kill(os.getpid(), {int(signum)})\n"
        "    return handle\n"
        "os.open = opened",
    }[moment]
    # the tests may run with SIGHUP ignored, as by nohup, which commands respect
    default = "import os, signal\nsignal.signal(signal.SIGHUP, signal.SIG_DFL)"
    code = f"{default}\nfrom libsvmx.cli.train import entry\n{before}\nentry()"
    (tmp_path / "model").write_bytes(b"old")
    command = [sys.executable, "-c", code, "-q", DATA / "heart_scale", "model"]
    done = subprocess.run(command, cwd=tmp_path, check=False, stderr=subprocess.PIPE)
    assert done.returncode == -signum, done.stderr
    assert os.listdir(tmp_path) == ["model"]
    assert (tmp_path / "model").read_bytes() == b"old"


def test_a_model_that_an_interrupt_is_to_save_is_saved_whenever_it_comes(tmp_path):
    """Also during the write of the model."""
    from support.data import DATA

    before = "true = os.fsync\nos.fsync = lambda handle: (os.kill(os.getpid(), 2), true(handle))"
    code = f"import os\nfrom libsvmx.cli.train import entry\n{before}\nentry()"
    command = [sys.executable, "-c", code, "-q", "--on-interrupt", "save", DATA / "heart_scale", "model"]
    done = subprocess.run(command, cwd=tmp_path, check=False, stderr=subprocess.PIPE)
    assert done.returncode in (0, 3), done.stderr
    assert os.listdir(tmp_path) == ["model"]
