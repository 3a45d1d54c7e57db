"""One process that runs the commands, and a folder with their input files."""

import os
from random import Random

import pytest
from support.faults import Server, make_ground
from support.seeds import SEED


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    found = Server(tmp_path_factory.mktemp("server"))
    yield found
    found.stop()


@pytest.fixture(scope="session")
def ground(tmp_path_factory, server):
    return make_ground(tmp_path_factory.mktemp("ground"), server)


@pytest.fixture(scope="session")
def chosen(exhaustive):
    """A function (numbers, name): a sample of the numbers, drawn from LIBSVMX_FUZZ_SEED; LIBSVMX_FAULTS is its size."""
    wanted = os.environ.get("LIBSVMX_FAULTS", "5" if exhaustive else "2")

    def draw(numbers, name):
        numbers = list(numbers)
        size = len(numbers) if wanted == "all" else min(len(numbers), int(wanted))
        return sorted(Random(f"{SEED} {name}").sample(numbers, size))

    return draw
