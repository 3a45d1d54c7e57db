"""Commands killed at any moment, again and again, and begun anew: nothing is lost, nothing stays behind.

A moment is a call of the system, or an allocation, drawn from LIBSVMX_FUZZ_SEED; or some time of the processor, which
no two runs divide alike. LIBSVMX_KILLS is how many kills there are of each command.
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
    """Settings of the shim: after any call, or after any time."""
    if random.random() < 0.7:
        return {"call": random.randint(1, n_calls)}
    return {"cpu": random.randint(1, CPU)}


@pytest.mark.parametrize("act", ("kill", "term"))
@pytest.mark.parametrize("name", CHAINS)
def test_killed_again_and_again(name, act, ground, server, tmp_path, n_kills):
    """Each output is old or new after each kill. At last the command has done what it does when nobody kills it."""
    random = Random(f"{SEED} {name} {act}")
    case = Case(name, ground, tmp_path / "work", server, "any")
    kills, rounds = 0, 0
    while kills < n_kills and rounds < 4 * n_kills:
        case.prepare()
        for _ in range(random.choice((1, 1, 2, 5))):  # so many before it may end
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
        if n_new < len(case.command.outputs):  # what has been done is not to be done twice
            case.again()
    assert kills > n_kills // 2
