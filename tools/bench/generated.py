"""Generated sets: ``SETS[name](n, random)`` is (X, y), X float64 of shape (n, d), y of 1 and -1, shape (n,).

Each is drawn from the seed (n, position in SETS), so it is the same in every run and every cache folder.

    gauss-m       class +1 N(0, I), class -1 N((2, 0), 4 I) in the plane, half each (Haykin 1994, "Gauss-M")
    banana        like Raetsch's: two interlocking crescents, blurred, columns of mean 0 and deviation 1
    skin-like     three colours of pixels, as in "skin segmentation": skin around one colour, the rest grey with a tint
    covtype-like  ten continuous columns, one-hot groups of 4 and of 40, classes by a smooth function, with noise
    mixture-10, mixture-100    as in TorchKM's benchmarks: each class N(m, 9 I) around five centres m, drawn from
                  N((2, 0), I) for -1 and N((0, 2), I) for +1, with 2 in half of the columns; standardized
"""

import numpy as np

SKIN_SHARE = 0.21
SKIN_COLOUR = (200.0, 150.0, 120.0)
BRIGHTNESS, OWN, TINT = 40.0, 15.0, 35.0  # deviations: of a skin pixel's brightness, of each colour; of other pixels
BRIGHTEST = 255.0
CRESCENT_BLUR = 0.3  # gives about a fifth of the rows as support vectors, like Raetsch's sets
N_AREAS, N_SOILS = 4, 40
N_CENTRES = 5  # of a class of a mixture


def gauss_m(n, random):
    y = signs(random.random(n) < 0.5)
    X = random.standard_normal((n, 2))
    X[y < 0] = 2 * X[y < 0] + (2.0, 0.0)
    return X, y


def banana(n, random):
    y = signs(random.random(n) < 0.45)
    angle = np.pi * random.random(n)
    X = np.column_stack([np.cos(angle), np.sin(angle)])
    X[y < 0] = (1.0, 0.5) - X[y < 0]
    X += CRESCENT_BLUR * random.standard_normal((n, 2))
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def skin_like(n, random):
    y = signs(random.random(n) < SKIN_SHARE)
    skin = SKIN_COLOUR + BRIGHTNESS * random.standard_normal((n, 1)) + OWN * random.standard_normal((n, 3))
    other = BRIGHTEST * random.random((n, 1)) + TINT * random.standard_normal((n, 3))
    return np.rint(np.clip(np.where(y[:, None] > 0, skin, other), 0, BRIGHTEST)) / BRIGHTEST, y


def covtype_like(n, random):
    Z = random.standard_normal((n, 10)) @ (np.eye(10) + 0.3 * random.standard_normal((10, 10)))
    area, soil = random.choice(N_AREAS, n, p=(0.45, 0.05, 0.43, 0.07)), random.integers(N_SOILS, size=n)
    of_area, of_soil = 0.5 * random.standard_normal(N_AREAS), 0.5 * random.standard_normal(N_SOILS)
    level = smooth(Z, random) + of_area[area] + of_soil[soil]
    Z = (Z - Z.min(axis=0)) / np.ptp(Z, axis=0)
    return np.hstack([Z, np.eye(N_AREAS)[area], np.eye(N_SOILS)[soil]]), noisy(level, random)


def mixture(n_columns):
    def drawn(n, random):
        y = signs(random.random(n) < 0.5)
        half = np.arange(n_columns) < n_columns // 2
        centres = random.standard_normal((2, N_CENTRES, n_columns)) + 2.0 * np.array([half, ~half])[:, None]
        X = (
            3.0 * random.standard_normal((n, n_columns))
            + centres[(y > 0).astype(int), random.integers(N_CENTRES, size=n)]
        )
        return (X - X.mean(axis=0)) / X.std(axis=0), y

    return drawn


def signs(positive):
    return np.where(positive, 1.0, -1.0)


def smooth(Z, random):
    """A sum of waves and a product, of deviation 1: float64, shape (len(Z),)."""
    Z = Z / Z.std(axis=0)
    W = random.standard_normal((Z.shape[1], 6)) / np.sqrt(Z.shape[1])
    level = np.sin(1.5 * Z @ W + random.random(6)).sum(axis=1) + Z[:, 0] * Z[:, 1]
    return level / level.std()


def noisy(level, random):
    """Classes of equal size, up to noise."""
    return signs(level - np.median(level) + 0.4 * random.standard_normal(len(level)) > 0)


SETS = {"gauss-m": gauss_m, "banana": banana, "skin-like": skin_like, "covtype-like": covtype_like}
SETS |= {f"mixture-{n_columns}": mixture(n_columns) for n_columns in (10, 100)}


def drawn(name, n):
    """(X, y) of a set."""
    return SETS[name](n, np.random.default_rng([n, list(SETS).index(name)]))
