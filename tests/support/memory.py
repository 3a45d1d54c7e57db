"""Memory of a call, as Python and NumPy ask for it."""

import tracemalloc


def traced_peak(call, *arguments):
    """Most bytes of a call at once, beyond what there was before."""
    tracemalloc.start()
    try:
        call(*arguments)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
