"""A client of a Dask cluster for tests, with this process as its only worker."""

import pickle


class Future:
    def __init__(self, value):
        self.value = value


class SequentialClient:
    """The methods of ``distributed.Client`` used by training on a cluster; each task runs at once. Everything is
    pickled, so that no task shares objects with another."""

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
    """The arguments of a worker, with futures, also those in lists, replaced by their results."""
    if isinstance(argument, list):
        return [values_of(one) for one in argument]
    return copied(argument.value if isinstance(argument, Future) else argument)


def copied(value):
    return pickle.loads(pickle.dumps(value))
