"""Stands where LIBSVM's package stood, for programs that import ``libsvm``: see ``python -m libsvmx.compat``."""
