"""Rows in data frames of pandas and polars: names of columns are kept, and checked at prediction."""

import numpy as np
import pytest
from support.data import dense_rows
from support.optional import optional

import libsvmx

base = optional("sklearn.base")

NAMES = ("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM")
COLUMNS = ["age", "pressure", "sugar"]


@pytest.fixture(params=["pandas", "polars"])
def frames(request):
    return pytest.importorskip(request.param)


X, Y = dense_rows("heart_scale", 120)
X = np.ascontiguousarray(X[:, [0, 3, 4]])


def frame(frames, columns=COLUMNS, rows=X):
    return frames.DataFrame({name: rows[:, k] for k, name in enumerate(columns)})


@pytest.mark.parametrize("name", NAMES)
def test_a_frame_is_its_array(name, frames):
    expected = getattr(libsvmx, name)().fit(X, Y)
    found = getattr(libsvmx, name)().fit(frame(frames), frames.Series(Y))
    assert list(found.feature_names_in_) == COLUMNS and found.n_features_in_ == 3
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_array_equal(found.dual_coef_, expected.dual_coef_)
    np.testing.assert_array_equal(found.support_vectors_, expected.support_vectors_)
    np.testing.assert_array_equal(found.predict(frame(frames)), expected.predict(X))
    weights = np.arange(len(Y)) % 3 + 1.0
    expected = getattr(libsvmx, name)(**({"nu": 0.2} if name == "NuSVC" else {})).fit(X, Y, sample_weight=weights)
    found = base.clone(expected).fit(frame(frames), frames.Series(Y), sample_weight=frames.Series(weights))
    np.testing.assert_array_equal(found.dual_coef_, expected.dual_coef_)


def test_names_that_do_not_fit(frames):
    found = libsvmx.SVC().fit(frame(frames), Y)
    with pytest.raises(ValueError, match=r"(?s)feature names.*same order"):
        found.predict(frame(frames, ["sugar", "age", "pressure"]))
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time.*weight"):
        found.predict(frame(frames, ["age", "pressure", "weight"]))
    with pytest.raises(ValueError, match=r"seen at fit time, yet now missing"):
        found.predict(frame(frames, COLUMNS[:2]))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found.predict(X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        libsvmx.SVC().fit(X, Y).predict(frame(frames))
    found.fit(X, Y)
    assert not hasattr(found, "feature_names_in_")


def test_mixed_and_missing_values(frames):
    whole = frames.DataFrame({"a": X[:, 0].astype(np.float32), "b": (X[:, 1] > 0), "c": (X[:, 2] * 8).astype(int)})
    values = np.column_stack([X[:, 0].astype(np.float32), X[:, 1] > 0, (X[:, 2] * 8).astype(int)]).astype(float)
    found, expected = libsvmx.SVC().fit(whole, Y), libsvmx.SVC().fit(values, Y)
    np.testing.assert_array_equal(found.decision_function(whole), expected.decision_function(values))
    holes = X.copy()
    holes[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        libsvmx.SVC().fit(frame(frames, rows=holes), Y)


def test_columns_of_text_are_named(frames):
    text = ["small", "large"] * 60
    one = frames.DataFrame({"a": text, "b": X[:, 0]})
    several = frames.DataFrame({"city": text, "b": X[:, 0], "size": text})
    with pytest.raises(ValueError, match=r"could not convert.*: column 'a' holds text$"):
        libsvmx.SVC().fit(one, Y)
    with pytest.raises(ValueError, match=r"could not convert.*: columns 'city', 'size' hold text$"):
        libsvmx.SVC().fit(several, Y)
    with pytest.raises(libsvmx.DataError, match=r"^X must hold real numbers, but column 'a' holds text$"):
        libsvmx.train(one, Y)
    with pytest.raises(libsvmx.DataError, match=r"^X must hold real numbers, but columns 'city', 'size' hold text$"):
        libsvmx.train(several, Y)


def test_only_columns_that_do_not_convert_are_named(frames):
    """Text of digits does, and no other error is about text."""
    digits = frames.DataFrame({"a": ["1", "2"] * 60, "b": X[:, 0]})
    fitted = libsvmx.SVC().fit(digits, Y)
    with pytest.raises(ValueError, match=r"could not convert.*: column 'c' holds text$"):
        libsvmx.SVC().fit(frames.DataFrame({"a": ["1", "2"] * 60, "c": ["1", "large"] * 60}), Y)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[120, 119\]$"):
        libsvmx.SVC().fit(digits, Y[1:])
    with pytest.raises(ValueError, match="feature names") as told:
        fitted.predict(frames.DataFrame({"q": ["1", "2"] * 60, "b": X[:, 0]}))
    assert "text" not in str(told.value)


def test_tables_of_arrow_have_names_beside_their_columns():
    class Table:
        column_names, columns = ["a", "city"], [[1.0, 2.0], ["small", "large"]]
        shape = (2, 2)

        def __array__(self, dtype=None, copy=None):
            return np.array([[1.0, "small"], [2.0, "large"]], dtype=object)

    with pytest.raises(libsvmx.DataError, match=r"column 'city' holds text$"):
        libsvmx.train(Table(), [1, 2])


def test_dates_are_no_numbers(frames):
    """Beside numeric columns, polars gives dates to NumPy as days since 1970."""
    import datetime

    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=k) for k in range(len(Y))]
    times = [datetime.timedelta(hours=k) for k in range(len(Y))]
    for column in (days, times):
        dated = frames.DataFrame({"age": X[:, 0], "day": column})
        for name in NAMES:
            with pytest.raises((ValueError, TypeError)):
                getattr(libsvmx, name)().fit(dated, Y)
        found = libsvmx.SVC().fit(frame(frames, ["age", "day"], X[:, :2]), Y)
        with pytest.raises((ValueError, TypeError)):
            found.predict(dated)
        with pytest.raises(ValueError, match="real number"):
            libsvmx.train(dated, Y)
        with pytest.raises(ValueError, match="real number"):
            libsvmx.predict(libsvmx.train(X[:, :2], Y), dated)


def test_labels_of_a_frame(frames):
    labels = np.where(Y > 0, "ill", "well")
    found = libsvmx.SVC().fit(frame(frames), frames.Series(labels))
    assert list(found.classes_) == ["ill", "well"]
    assert set(found.predict(frame(frames))) <= {"ill", "well"}


def test_categories_and_numbers_that_may_be_missing():
    pandas = pytest.importorskip("pandas")
    labels = pandas.Series(np.where(Y > 0, "ill", "well"), dtype="category")
    rows = frame(pandas).astype("Float64")
    expected = libsvmx.SVC().fit(X, np.asarray(labels))
    found = libsvmx.SVC().fit(rows, labels)
    np.testing.assert_array_equal(found.predict(rows), expected.predict(X))
    rows.iloc[2, 0] = pandas.NA
    with pytest.raises(ValueError, match="NaN"):
        libsvmx.SVC().fit(rows, labels)
    shuffled = frame(pandas).sample(frac=1, random_state=0)  # the index of rows does not matter
    np.testing.assert_array_equal(
        libsvmx.SVC().fit(shuffled, Y[shuffled.index]).support_vectors_,
        libsvmx.SVC().fit(shuffled.to_numpy(), Y[shuffled.index]).support_vectors_,
    )


def test_a_callable_kernel_is_given_the_frame_as_it_was(frames):
    seen = []

    def kernel(A, B):
        seen.append((type(A), type(B)))
        return A.to_numpy() @ B.to_numpy().T

    rows = frame(frames)
    found = libsvmx.SVC(kernel=kernel).fit(rows, Y)
    if frames.__name__ == "polars":
        rows[0, 0] = 7.0
    else:
        rows.iloc[0, 0] = 7.0
    expected = libsvmx.SVC(kernel=lambda A, B: A @ B.T).fit(X, Y).predict(X)
    np.testing.assert_array_equal(found.predict(frame(frames)), expected)
    assert set(seen) == {(type(rows), type(rows))}


def test_output_of_a_pipeline_can_be_a_frame(frames):
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kind = frames.__name__
    steps = make_pipeline(StandardScaler(), libsvmx.SVC()).set_output(transform=kind)
    steps.fit(frame(frames), Y)
    assert list(steps[-1].feature_names_in_) == COLUMNS
    plain = make_pipeline(StandardScaler(), libsvmx.SVC()).fit(X, Y)
    np.testing.assert_array_equal(steps.predict(frame(frames)), plain.predict(X))
    np.testing.assert_array_equal(cross_val_score(steps, frame(frames), Y), cross_val_score(plain, X, Y))


def test_columns_by_name_in_a_pipeline(frames):
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rows = frames.DataFrame({"age": X[:, 0], "kind": ["a", "b", "c"] * 40})
    steps = make_pipeline(
        make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["kind"])), libsvmx.SVC()
    ).fit(rows, Y)
    other = rows[["kind", "age"]]
    np.testing.assert_array_equal(steps.predict(rows), steps.predict(other))
