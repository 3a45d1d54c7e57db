"""Trainings and predictions on several threads, of libsvmx and of Python, for tools/tsan.sh: their results equal those
on one thread.

Exit code 1 for a difference. The sanitizer reports races.
"""

import sys
import threading

import numpy as np

import libsvmx

KINDS = [
    {"C": 10},
    {"C": 10, "probability": True},
    {"svm_type": 3, "C": 2},
    {"svm_type": 1, "nu": 0.02},
    {"C": 10, "cache_size": 0.1},
    {"C": 100, "solver": "chunked", "working_set": 60},
    {"C": 10, "solver": "irwls", "working_set": 60, "precision": "double"},
    {"C": 1, "kernel_type": 0, "solver": "crsvm"},
    {"C": 1, "solver": "crsvm", "rank": 30},
    {"C": 10, "folds": 12},
    {"svm_type": 3, "C": 2, "folds": 12},
    {"C": 10, "cache_size": 20, "probability": True},  # kernel values shared by pairs of classes
    {"C": 10, "cache_size": 20, "folds": 6},
    # solves side by side: folds without a queue, of a star, rows left out, points of a grid
    {"C": 10, "cache_size": 10, "folds": 6, "rows": 2000},
    {"C": 10, "cache_size": 10, "probability": True, "rows": 2000},
    {"svm_type": 3, "C": 2, "cache_size": 10, "folds": 5, "rows": 2000},
    {"C": 10, "folds": 6, "seeder": "near", "rows": 2000},
    {"C": 10, "left_out": "near", "rows": 400},
    {"C": 10, "left_out": "path", "rows": 400},
    {"grid": "auto", "rows": 600},
    {"grid": "none", "rows": 600},
    # one training with its passes and updates split, with all rows cached and with few
    {"C": 10, "cache_size": 100, "wide": 6000},
    {"C": 10, "cache_size": 2, "wide": 6000},
    {"svm_type": 3, "C": 2, "cache_size": 2, "wide": 3000},
]


def data(n=2000, k=4):
    """Rows of four classes, enough that several threads compute kernel rows."""
    random = np.random.default_rng(1)
    X = random.standard_normal((n, k))
    return X, (X[:, 0] + 0.3 * random.standard_normal(n) > 0).astype(float) + 2 * (X[:, 1] > 0)


def work(X, y, options, threads):
    """The results of a training and a prediction, or the folds of a cross-validation, as bytes."""
    options = dict(options)
    if "wide" in options:  # expensive rows of three classes, shared by the pairs of a class
        X, _ = data(options.pop("wide"), 60)
        y = np.digitize(X[:, :8].sum(axis=1), (-1, 1)) + 0.1 * (X[:, 9] if options.get("svm_type") else 0)
    if "rows" in options:  # two classes
        n = options.pop("rows")
        X, y = X[:n], y[:n] % 2
    if "folds" in options:
        options = {"seeder": "none", **options}
        found = libsvmx.cross_validate(X, y, options.pop("folds"), threads=threads, **options)
        return found.predictions.tobytes(), np.asarray(found.decision_values).tobytes()
    if "left_out" in options:
        found = libsvmx.leave_one_out(X, y, seeder=options.pop("left_out"), threads=threads, **options)
        return found.predictions.tobytes(), np.asarray(found.decision_values).tobytes()
    if "grid" in options:
        found = libsvmx.grid_search(X, y, (-1, 5, 2), (1, -5, -2), seeder=options["grid"], threads=threads)
        return found.rate.tobytes(), found.iterations.tobytes()
    model = libsvmx.train(X, y, threads=threads, **options)
    values = libsvmx.decision_values(model, X)
    return bytes(memoryview(np.ascontiguousarray(model.coef))), np.asarray(values).tobytes()


def main():
    X, y = data()
    expected = [work(X, y, options, 1) for options in KINDS]
    wrong = []

    def run(k, threads):
        if work(X, y, KINDS[k], threads) != expected[k]:
            wrong.append((KINDS[k], threads))

    for k in range(len(KINDS)):
        run(k, 4)
    jobs = [threading.Thread(target=run, args=(k, 3)) for k in range(len(KINDS))]
    model = libsvmx.train(X, y, C=10)
    predicted = libsvmx.decision_values(model, X)

    def predict():
        for _ in range(5):
            if not np.array_equal(libsvmx.decision_values(model, X), predicted):
                wrong.append("prediction")

    jobs += [threading.Thread(target=predict) for _ in range(3)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.join()
    print("wrong:", wrong) if wrong else print("the same on all threads")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
