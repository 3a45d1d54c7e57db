"""export(): compiled C computes the model's bits; NumPy reads the numbers of the JSON."""

import numpy as np
import pytest
from support.exported import Program, decision_values_of_json

import libsvmx

from .table import LIBSVMS, NOT_LIBSVMS, Case, each


@each("export", strength=1, solver=["smo"], kernel=LIBSVMS)
def test_c_has_the_bits_of_the_model(solver, task, kernel, tmp_path):
    case = Case(solver, task, kernel, probability=True)
    model = case.train()
    libsvmx.export(model, tmp_path / "model.c")
    program = Program(tmp_path / "model.c", model)
    assert np.array_equal(program.decision_values(case.tests()), libsvmx.decision_values(model, case.tests()))
    assert np.array_equal(program.predict(case.tests()), libsvmx.predict(model, case.tests()))
    if case.task.is_classification:
        labels, estimates = program.predict_probability(case.tests())
        expected = libsvmx.predict_probability(model, case.tests())
        assert np.array_equal(labels, expected[0]) and np.array_equal(estimates, expected[1])


@each("export", strength=1, solver=["smo"], kernel=NOT_LIBSVMS)
def test_c_predicts_the_same(solver, task, kernel, tmp_path):
    case = Case(solver, task, kernel)
    model = case.train()
    libsvmx.export(model, tmp_path / "model.c")
    size = np.abs(model.sv_coef).sum() * max(1.0, np.abs(case.known).max())
    values = Program(tmp_path / "model.c", model).decision_values(case.tests())
    np.testing.assert_allclose(values, libsvmx.decision_values(model, case.tests()), rtol=0, atol=1e-13 * size)


@each("export", strength=1)
def test_json_has_all_of_the_model(solver, task, kernel, tmp_path):
    case = Case(solver, task, kernel)
    model = case.train()
    libsvmx.export(model, tmp_path / "model.json", "json")
    values = decision_values_of_json(tmp_path / "model.json", case.tests())
    size = np.abs(model.sv_coef).sum() * max(1.0, np.abs(case.known).max())
    np.testing.assert_allclose(values, libsvmx.decision_values(model, case.tests()), rtol=0, atol=1e-13 * size)


@each("export", strength=1, solver=["smo"], dtype=["float64", "float32"])
def test_onnx_predicts_the_same(solver, task, kernel, dtype, tmp_path):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    case = Case(solver, task, kernel)
    model = case.train()
    libsvmx.export(model, tmp_path / "model.onnx", "onnx", dtype=dtype)
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    predicted, values = session.run(None, {"x": case.tests().astype(dtype)})
    size = np.abs(model.sv_coef).sum() * max(1.0, np.abs(case.known).max())
    atol = (1e-13 if dtype == "float64" else 2e-5) * size
    np.testing.assert_allclose(values, libsvmx.decision_values(model, case.tests()), rtol=0, atol=atol)
    assert predicted.shape == (len(case.new),)
