"""How many threads a call starts."""

import sys
import threading


def started_by(call, *args, **options):
    """The result, and how many threads of Python's have begun to run meanwhile."""
    begun, before = [], threading.getprofile()

    def note(frame, event, what):  # called in a new thread, as the first thing that it does
        sys.setprofile(before)
        begun.append(threading.get_ident())

    threading.setprofile(note)
    try:
        result = call(*args, **options)
    finally:
        threading.setprofile(before)
    return result, len(begun)
