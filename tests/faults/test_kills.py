"""Commands killed at any moment, repeatedly, and started again: nothing is lost, no file is left behind.

A moment is a system call or an allocation, drawn from LIBSVMX_FUZZ_SEED, or a CPU time, which falls elsewhere in every
run. LIBSVMX_KILLS is the number of kills of each command.
"""

import os
from random import Random

import pytest
from support.faults import SIGNALS, Case
from support.seeds import SEED

CHAINS = ("update", "from model", "window", "grid", "easy", "train", "probabilities", "scale", "subset")
CPU = 60_000  # microseconds, a little more than most of the commands take


@pytest.fixture(scope="session")
def n_kills(exhaustive):
    return int(os.environ.get("LIBSVMX_KILLS", "30" if exhaustive else "6"))


def moment(random, n_calls):
    """Settings of the shim: a kill after some call, or after some time."""
    if random.random() < 0.7:
        return {"call": random.randint(1, n_calls)}
    return {"cpu": random.randint(1, CPU)}


@pytest.mark.parametrize("act", ("kill", "term"))
@pytest.mark.parametrize("name", CHAINS)
def test_killed_again_and_again(name, act, ground, server, tmp_path, n_kills):
    """Each output is old or new after each kill. Finally the command does the same as without kills."""
    random = Random(f"{SEED} {name} {act}")
    case = Case(name, ground, tmp_path / "work", server, "any")
    kills, rounds = 0, 0
    while kills < n_kills and rounds < 4 * n_kills:
        case.prepare()
        for _ in range(random.choice((1, 1, 2, 5))):  # number of kills before it may finish
            rounds += 1
            settings = moment(random, case.n_calls)
            done = server.run(case.words(), case.folder, kind="any", act=act, **settings)
            print(name, settings, done)
            assert done.code in (0, -SIGNALS[act]), done
            kills += done.code != 0
            n_new = case.n_new(done)
            if act == "term":
                assert case.left() == []
            if done.code == 0 or n_new == len(case.command.outputs):
                break
        if done.code == 0:
            assert case.contents() == case.new
        if n_new < len(case.command.outputs):  # finished work is not repeated
            case.again()
    assert kills > n_kills // 2
