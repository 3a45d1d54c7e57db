"""Work in pieces that checks with its Control whether to stop."""

import _thread
import os
import random
import signal
import subprocess
import sys
import threading
import time
import weakref
from itertools import pairwise

import pytest
from support.asking import Asked
from support.faults import few_threads

from libsvmx._core.process import HAS_THREADS
from libsvmx._core.stopping import FLOPS, NOBODY, Control, Leeway, Stopped, Token, pieces
from libsvmx._core.threads import WHOLE, awaited, in_order
from libsvmx.enums import SolveStatus

MUCH = 1 << 30


def stops_at(n):
    """A Control whose observer stops it at the n-th check, and the list of its answers."""
    said = []

    def should_stop():
        said.append(len(said) + 1 >= n)
        return said[-1]

    return Control(1e-3, should_stop=should_stop), said


def test_little_work_is_not_worth_a_question():
    control, said = stops_at(1)
    for _ in range(100):
        control.ask(1000)
    assert said == []
    with pytest.raises(Stopped) as caught:
        control.ask(MUCH)
    assert (caught.value.status, said) == ("interrupted", [True])


def test_who_has_been_told_is_told_again_and_nobody_else_is_asked():
    control, said = stops_at(3)
    control.ask(MUCH)
    control.ask(MUCH)
    for _ in range(3):
        with pytest.raises(Stopped):
            control.ask(MUCH)
    assert said == [False, False, True]


def test_a_time_limit():
    control = Control(1e-3, time_limit=1e-9)
    with pytest.raises(Stopped) as caught:
        control.ask(MUCH)
    assert caught.value.status == "time limit"


def test_work_that_must_be_done_lets_only_exceptions_through():
    control, said = stops_at(1)
    asking = Leeway(control)
    asking.ask(MUCH)
    asking.note(MUCH)
    assert (control.stopped, said) == ("interrupted", [True])

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Leeway(Control(1e-3, should_stop=fail)).ask(MUCH)


def test_only_the_thread_that_made_it_asks_the_observer():
    asked = []
    control = Control(1e-3, should_stop=lambda: asked.append(threading.get_ident()))
    others = threading.Thread(target=control.ask, args=(MUCH,))
    others.start()
    others.join()
    assert asked == []
    control.ask(MUCH)
    assert asked == [threading.get_ident()]


def test_little_work_may_be_done_after_the_end():
    leeway = Leeway(Token(should_stop=lambda: True), None)
    leeway.left = 10
    leeway.ask(6)
    leeway.note(MUCH)
    leeway.ask(4)
    with pytest.raises(Stopped) as caught:
        leeway.ask(1)
    assert caught.value.status == "interrupted"
    leeway.left = None
    with pytest.raises(Stopped):
        leeway.ask(1)


def test_an_end_is_that_of_all_parts_of_the_work():
    whole = Token()
    parts = [Token(parent=whole), Control(1e-3, parent=whole), Control(1e-3, parent=Control(1e-3, parent=whole))]
    assert [part.look() for part in parts] == [None] * 3
    whole.stop(SolveStatus.TIME_LIMIT)
    assert [part.look() for part in parts] == ["time limit"] * 3


def test_nobody_is_not_abandoned():
    """All calls of the process share this token."""
    NOBODY.abandon()
    NOBODY.ask(MUCH)
    NOBODY.note(MUCH)


def test_one_that_is_abandoned_has_no_status():
    token = Token()
    token.abandon()
    assert token.look() is None
    with pytest.raises(Stopped):
        token.ask(0)


@pytest.mark.parametrize("threads", [1, 3])
def test_jobs_in_order(threads):
    assert list(in_order(lambda a, b: 10 * a + b, [(k, 1) for k in range(20)], threads)) == list(range(1, 201, 10))


def test_a_job_that_fails():
    def job(k):
        if k == 3:
            raise ValueError(k)

    control, _ = stops_at(MUCH)
    with pytest.raises(ValueError, match="3"):
        list(in_order(job, [(k,) for k in range(20)], 2, control))
    control.ask(MUCH)  # the catcher may continue


def test_an_exception_of_the_observer_stops_the_jobs_of_other_threads():
    """They would never end."""
    begun = threading.Event()

    def job(k):
        begun.set()
        while True:
            control.ask(1)

    def should_stop():
        if begun.is_set():
            raise KeyboardInterrupt
        return False

    control = Control(1e-3, should_stop=should_stop)
    with pytest.raises(KeyboardInterrupt):
        list(in_order(job, [(k,) for k in range(2)], 2, control))


def eventually(condition):
    """Whether it becomes true; waits long enough where it must."""
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_a_signal_at_any_time_leaves_no_lock_taken():
    """Ctrl-C while threads work, many times: KeyboardInterrupt is raised, and later jobs are done."""

    fired, came = [], 0

    def interrupt(*_):
        fired.append(True)
        raise KeyboardInterrupt

    moments = random.Random(1)
    threads = _thread._count()
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(300):
            fired.clear()
            try:
                signal.setitimer(signal.ITIMER_REAL, 1e-5 + 0.004 * moments.random())
                while not fired:
                    assert list(in_order(sum, [(range(2000),)] * 8, 2)) == [1999000] * 8
            except KeyboardInterrupt:
                came += 1
    finally:
        signal.signal(signal.SIGALRM, before)
    assert came > 200  # Python drops exceptions while it finalizes an unreferenced object of an earlier test
    assert eventually(lambda: _thread._count() <= threads)  # no lock is held


def test_what_is_raised_ends_all_jobs_before_it_is_known():
    """Running jobs are waited for, and no other begins."""
    begun, raised = threading.Event(), threading.Event()
    done = []

    def job(k):
        if k == 0:
            begun.wait()
            raised.set()
            raise ValueError(k)
        begun.set()
        raised.wait()
        time.sleep(0.05)
        done.append(k)

    with pytest.raises(ValueError, match="0"):
        list(in_order(job, [(k,) for k in range(20)], 2))
    assert 1 in done
    ended = list(done)
    time.sleep(0.1)
    assert done == ended and len(done) < 19


def test_what_is_raised_between_two_results_stops_the_jobs_of_other_threads():
    """They would never end."""
    control, _ = stops_at(MUCH)

    def job(k):
        while k:
            control.ask(1)

    with pytest.raises(KeyError):
        for _ in in_order(job, [(k,) for k in range(20)], 2, control):
            raise KeyError


def test_what_has_come_to_its_end_is_not_kept():
    class Function:
        def __call__(self, k):
            return k

    function = Function()
    alive = weakref.ref(function)
    assert list(in_order(function, [(k,) for k in range(5)], 2)) == list(range(5))
    del function
    assert eventually(lambda: alive() is None)  # a thread may still be ending


@pytest.mark.parametrize("given", [0, 1])
def test_without_threads_to_be_had_those_there_are_do_the_jobs(given):
    seen = set()
    job = lambda k: (seen.add(threading.get_ident()), k)[1]  # noqa: E731
    with few_threads(given):
        assert list(in_order(job, [(k,) for k in range(20)], 3)) == list(range(20))
    assert len(seen) == 1
    assert (threading.get_ident() in seen) == (given == 0)


# ---- an abandoned call -----------------------------------------------------------------------------


def test_a_call_is_told_of_and_has_its_result():
    for flops in (WHOLE, WHOLE + 1):
        asked = Asked()
        assert awaited(divmod, 7, 4, flops=flops, asking=asked) == (1, 3)
        assert asked.told[0] == flops // FLOPS
        with pytest.raises(ZeroDivisionError):
            awaited(divmod, 7, 0, flops=flops, asking=NOBODY)


@pytest.mark.skipif(not HAS_THREADS, reason="this build has no threads")
@pytest.mark.parametrize("error", [Stopped(SolveStatus.INTERRUPTED), KeyboardInterrupt()])
def test_a_call_that_goes_on_is_left_behind(error):
    goes_on, ended = threading.Event(), threading.Event()

    def call():
        goes_on.wait()
        ended.set()

    asked = Asked(2, error)
    asked.note = asked.ask  # the checks while it waits
    with pytest.raises(type(error)):
        awaited(call, flops=WHOLE + 1, asking=asked)
    assert not ended.is_set()
    goes_on.set()
    assert ended.wait(60)


@pytest.mark.skipif(not HAS_THREADS, reason="this build has no threads")
def test_a_call_has_a_stack_of_its_own():
    """OpenBLAS with several threads needs more than a program may have requested."""
    code = (
        "import threading; threading.stack_size(65536)\n"
        "import numpy as np; from libsvmx._core import dense\n"
        "assert dense.eigenpairs(np.ones((700, 700)))[0][-1] > 699 and threading.stack_size() == 65536\n"
    )
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "OPENBLAS_NUM_THREADS": "2"}, check=True)


# A process that ends while LAPACK runs; it must neither crash nor wait for it.
ENDS = """
import sys, time
import numpy as np
from libsvmx._core import threads

class Once:
    def ask(self, amount): pass
    def note(self, amount): raise KeyError

A = np.random.default_rng(0).normal(size=(1200, 1200))
try:
    threads.awaited(lambda: [np.linalg.eigh(A) for _ in range(10**9)], flops=threads.WHOLE + 1, asking=Once())
except KeyError:
    print("left")
sys.exit(7)
"""


@pytest.mark.skipif(not HAS_THREADS, reason="this build has no threads")
@pytest.mark.parametrize("blas_threads", ["1", "2"])
def test_a_process_that_ends_does_not_wait_for_what_is_left_behind(blas_threads):
    done = subprocess.run(
        [sys.executable, "-c", ENDS],
        env={**os.environ, "OPENBLAS_NUM_THREADS": blas_threads},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "left\n", "")


def test_pieces():
    assert list(pieces(3, 3, 5)) == []
    assert list(pieces(0, 3, MUCH)) == [(0, 1), (1, 2), (2, 3)]
    ends = list(pieces(5, 100_000_000, 100))
    assert ends[0][0] == 5 and ends[-1][1] == 100_000_000
    assert all(a[1] == b[0] for a, b in pairwise(ends))
    NOBODY.ask(MUCH)
