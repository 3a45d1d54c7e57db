"""Data sets and options for benchmark jobs, run in this process."""

from argparse import Namespace

from support.data import DATA
from tools.bench import datasets
from tools.bench.cases import Case


def prepared(name, folder, **change):
    return datasets.load(datasets.prepare(Case(name, name, **change), DATA, folder))


def options(folder, **change):
    usual = {"data": DATA, "cache": folder, "repeat": 1, "timeout": 600, "max_seconds_once": 100, "solver": None}
    return Namespace(**{**usual, **change})
