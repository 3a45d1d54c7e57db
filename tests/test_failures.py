"""The report of a failed assert not rewritten by pytest."""

import sys

import pytest
from support.failures import LONGEST, values_in


def expect(found, expected):
    assert (
        found == len(expected)  # spans several lines
    )


class Silent:
    def __repr__(self):
        raise ValueError("none")


def test_the_values_of_a_statement_are_reported():
    words, n, silent = ["a"] * LONGEST, 3, Silent()
    try:
        for k in range(n):
            expect(k, "a")
    except AssertionError:
        assert values_in(sys.exc_info()[2]) == "found = 0\nexpected = 'a'"
    with pytest.raises(ZeroDivisionError) as caught:
        print(len(words), sys, silent, n / 0)
    told = values_in(caught.tb).splitlines()
    assert [line.partition(" = ")[0] for line in told] == ["words", "silent", "n"]
    assert told[0].startswith("words = ['a', 'a'") and told[0].endswith("'a']")
    assert LONGEST < len(told[0]) < LONGEST + 20
    assert told[1:] == ["silent = <no repr: ValueError('none')>", "n = 3"]


def test_failures_outside_of_tests_report_no_values():
    try:
        raise ValueError
    except ValueError:
        assert values_in(sys.exc_info()[2].tb_next) == ""
