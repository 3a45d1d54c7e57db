"""The number of threads started by a call."""

import sys
import threading


def started_by(call, *args, **options):
    """The result, and the number of Python threads started by the call."""
    begun, before = [], threading.getprofile()

    def note(frame, event, what):  # called first in each new thread
        sys.setprofile(before)
        begun.append(threading.get_ident())

    threading.setprofile(note)
    try:
        result = call(*args, **options)
    finally:
        threading.setprofile(before)
    return result, len(begun)
