"""Work in pieces that asks its Control whether to stop."""

import threading
from itertools import pairwise

import pytest

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


def test_pieces():
    assert list(pieces(3, 3, 5)) == []
    assert list(pieces(0, 3, MUCH)) == [(0, 1), (1, 2), (2, 3)]
    ends = list(pieces(5, 100_000_000, 100))
    assert ends[0][0] == 5 and ends[-1][1] == 100_000_000
    assert all(a[1] == b[0] for a, b in pairwise(ends))
    NOBODY.ask(MUCH)
