"""Replacements for a state's paths that get lost or are given up on purpose."""

from libsvmx._solvers.path.path import PathLost
from support.exact import Twin


class Followed:
    """Followed(path): forwards to the path."""

    def __init__(self, path):
        self.path = path

    def __getattr__(self, name):
        return getattr(self.path, name)


class Short(Followed):
    """Every path with a breakpoint counts as longer than a training, so rows are added and removed by ``trained``
    trainings."""

    trained = 0

    def update(self, n_fresh, gone, totals, control, *work):
        self.path.update(n_fresh, gone, totals, control, *(0.0 for _ in work))

    def near(self, *arguments):
        self.path.near(*arguments)
        self.trained += 1


class Lost(Followed):
    """Every path is lost at its end."""

    def update(self, *arguments):
        self.path.update(*arguments)
        raise PathLost("lost")

    def rescale(self, *arguments):
        self.path.rescale(*arguments)
        raise PathLost("lost")


def follow_by(kind, state):
    """Give the binary problems of a state paths of this ``kind``, new pairs of classes included."""
    for binary in state.binaries.values():
        if not isinstance(binary.path, kind):
            binary.path = kind(binary.path)


class Along(Twin):
    """Along(kind, X, y, **options): a Twin whose state has paths of this ``kind``."""

    def __init__(self, kind, *rows, **options):
        super().__init__(*rows, **options)
        self.kind = kind
        follow_by(kind, self.state)

    def update(self, *rows, **options):
        ids = super().update(*rows, **options)
        follow_by(self.kind, self.state)
        return ids
