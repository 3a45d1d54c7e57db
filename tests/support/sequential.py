"""A client of a Dask cluster for tests of what is computed on it: its only worker is this process."""

import pickle


class Future:
    def __init__(self, value):
        self.value = value


class SequentialClient:
    """What training on a cluster asks of ``distributed.Client``, each task at once; all goes through pickle, so that
    no task has what another one changes."""

    def map(self, function, *arguments, key=None, pure=None):
        return [Future(copied(function(*map(values_of, own)))) for own in zip(*arguments, strict=True)]

    def compute(self, tasks):
        return [Future(task.compute(scheduler="synchronous")) for task in tasks]

    def gather(self, futures):
        return values_of(futures)

    def as_current(self):
        import dask

        return dask.config.set(scheduler="synchronous")


def values_of(argument):
    """What a worker is given: futures, and those of a list, are what was computed."""
    if isinstance(argument, list):
        return [values_of(one) for one in argument]
    return copied(argument.value if isinstance(argument, Future) else argument)


def copied(value):
    return pickle.loads(pickle.dumps(value))
