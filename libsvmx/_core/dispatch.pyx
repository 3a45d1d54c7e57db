"""The table of hot loops: those that this CPU runs fastest, or those that LIBSVMX_CPU names (see loops/loops.h).

It is filled when this module is imported, which each module does that calls a loop, by its cimport.
"""

from os import environ

VARIABLE = "LIBSVMX_CPU"


def fitting(wanted, built, runnable):
    """The CPU target to use.

    Parameters
    ----------
    wanted : str                   its name, or "" for the fastest
    built, runnable : dict         by the names of all targets, the fastest first: whether it is built, and whether this
                                   CPU can run it

    Raises ParameterError, which says what to do, if that one cannot be used.
    """
    usable = [name for name in built if built[name] and runnable[name]]
    if not wanted:
        return usable[0]
    if wanted in usable:
        return wanted
    from libsvmx.exceptions import ParameterError

    if wanted not in built:
        cause = f"there is no such CPU target, only {', '.join(built)}"
    elif not built[wanted]:
        cause = "this build has no such loops; a build with -Csetup-args=-Dsimd=enabled has them, or says why not"
    else:
        cause = "this CPU, or its operating system, cannot run it"
    raise ParameterError(f"{VARIABLE}={wanted}: {cause}. Unset {VARIABLE}, or set it to {' or '.join(usable)}")


def address(name):
    """Where the table of a CPU target is, for tests; 0 if there is none that this CPU can run."""
    for k in range(SVMX_N_TARGETS):
        if svmx_cpu_targets[k].name == name.encode() and svmx_cpu_targets[k].runs():
            return <size_t>svmx_cpu_targets[k].loops
    return 0


# By the name of each CPU target, the fastest first.
BUILT = {svmx_cpu_targets[k].name.decode(): svmx_cpu_targets[k].loops != NULL for k in range(SVMX_N_TARGETS)}
RUNNABLE = {svmx_cpu_targets[k].name.decode(): svmx_cpu_targets[k].runs() == 1 for k in range(SVMX_N_TARGETS)}
CHOSEN = fitting(environ.get(VARIABLE, ""), BUILT, RUNNABLE)

cdef int chosen = list(BUILT).index(CHOSEN)
svmx_loops = svmx_cpu_targets[chosen].loops[0]
