"""Helper threads: each part of a job is done once, however many threads and however short the jobs."""

import pytest

from libsvmx._core.thread_pool import ThreadPool


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("parts", [0, 1, 2, 7, 256])
def test_each_part_once(threads, parts):
    """Many short jobs one after the other: a helper that is late must not take a part of the next one."""
    pool = ThreadPool(threads)
    assert 1 <= pool.n <= threads
    assert pool.count(parts, 3000) == [3000] * parts


def test_crews_come_and_go():
    for _ in range(200):
        assert ThreadPool(3).count(4, 1) == [1] * 4
