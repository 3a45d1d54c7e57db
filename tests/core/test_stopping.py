"""Work in pieces that asks its Control whether to stop."""

import _thread
import random
import signal
import threading
import time
import weakref
from itertools import pairwise

import pytest
from support.faults import few_threads

from libsvmx._core import jobs
from libsvmx._core.jobs import in_order
from libsvmx._core.stopping import NOBODY, LetSignalsIn, Stopped, pieces
from libsvmx._solvers.control import Control

MUCH = 1 << 30


def stops_at(n):
    """A Control whose observer says so when it is asked for the n-th time, and the list of what it said."""
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
    asking = LetSignalsIn(control)
    asking.ask(MUCH)
    asking.note(MUCH)
    assert (control.stopped, said) == ("interrupted", [True])

    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        LetSignalsIn(Control(1e-3, should_stop=fail)).ask(MUCH)


def test_only_the_thread_that_made_it_asks_the_observer():
    asked = []
    control = Control(1e-3, should_stop=lambda: asked.append(threading.get_ident()))
    others = threading.Thread(target=control.ask, args=(MUCH,))
    others.start()
    others.join()
    assert asked == []
    control.ask(MUCH)
    assert asked == [threading.get_ident()]


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
    control.ask(MUCH)  # whoever catches that may go on


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
    """Whether it comes true; for long enough, where it must."""
    for _ in range(1000):
        if condition():
            return True
        time.sleep(0.01)
    return False


def watched(monkeypatch):
    """An event that is set where jobs are given up."""
    given_up = threading.Event()

    class Watched(jobs.Batch):
        def __setattr__(self, name, value):
            super().__setattr__(name, value)
            if name == "given_up" and value:
                given_up.set()

    monkeypatch.setattr(jobs, "Batch", Watched)
    return given_up


def test_a_signal_at_any_time_leaves_no_lock_taken():
    """Ctrl-C while threads work, many times: it is KeyboardInterrupt that comes, and the next jobs are done."""

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
    assert came > 200  # Python drops what is raised while it ends an object that nobody has, of any test before
    assert eventually(lambda: _thread._count() <= threads)  # no lock is taken


def test_what_is_raised_ends_all_jobs_before_it_is_known(monkeypatch):
    """Those that have begun are waited for, and no other begins."""
    given_up, begun = watched(monkeypatch), threading.Event()
    done = []

    def job(k):
        if k == 0:
            begun.wait()
            raise ValueError(k)
        begun.set()
        given_up.wait()
        time.sleep(0.05)
        done.append(k)

    with pytest.raises(ValueError, match="0"):
        list(in_order(job, [(k,) for k in range(20)], 2))
    assert 1 in done
    assert set(done) <= {1, 2}


def close_pool(job, asking=NOBODY):
    with jobs.Pool(2) as pool:
        kept = pool.in_order(job, [(k,) for k in range(20)], asking)
        for _ in kept:
            raise KeyError


def close_iterator(job, asking=NOBODY):
    for _ in in_order(job, [(k,) for k in range(20)], 2, asking):
        raise KeyError


def other_jobs(job, asking=NOBODY):
    with jobs.Pool(2) as pool:
        kept = pool.in_order(job, [(k,) for k in range(20)])
        try:
            for _ in kept:
                raise KeyError
        finally:
            assert list(pool.in_order(abs, [(-1,)])) == [1]


@pytest.mark.parametrize("ends", [close_pool, close_iterator, other_jobs])
def test_what_is_raised_between_two_results_ends_all_jobs(ends, monkeypatch):
    """Though its traceback may keep the generator, which waits at its yield."""
    given_up = watched(monkeypatch)
    begun, done = threading.Event(), []

    def job(k):
        if k == 0:
            begun.wait()
            return
        begun.set()
        given_up.wait()
        time.sleep(0.05)
        done.append(k)

    with pytest.raises(KeyError) as kept:
        ends(job)
    assert done and set(done) <= {1, 2}
    time.sleep(0.05)
    assert set(done) <= {1, 2} and kept.tb


@pytest.mark.parametrize("ends", [close_pool, close_iterator])
def test_what_is_raised_between_two_results_stops_the_jobs_of_other_threads(ends):
    """They would never end."""
    control, _ = stops_at(MUCH)

    def job(k):
        while k:
            control.ask(1)

    with pytest.raises(KeyError):
        ends(job, control)


def test_what_has_come_to_its_end_is_not_kept():
    class Function:
        def __call__(self, k):
            return k

    function = Function()
    alive = weakref.ref(function)
    with jobs.Pool(2) as pool:
        assert list(pool.in_order(function, [(k,) for k in range(5)])) == list(range(5))
        del function
        assert eventually(lambda: alive() is None)  # a thread may still be about to forget its job


@pytest.mark.parametrize("given", [0, 1])
def test_without_threads_to_be_had_those_there_are_do_the_jobs(given):
    seen = set()
    job = lambda k: (seen.add(threading.get_ident()), k)[1]  # noqa: E731
    with few_threads(given):
        assert list(in_order(job, [(k,) for k in range(20)], 3)) == list(range(20))
    assert len(seen) == 1
    assert (threading.get_ident() in seen) == (given == 0)


def test_pieces():
    assert list(pieces(3, 3, 5)) == []
    assert list(pieces(0, 3, MUCH)) == [(0, 1), (1, 2), (2, 3)]
    ends = list(pieces(5, 100_000_000, 100))
    assert ends[0][0] == 5 and ends[-1][1] == 100_000_000
    assert all(a[1] == b[0] for a, b in pairwise(ends))
    NOBODY.ask(MUCH)
