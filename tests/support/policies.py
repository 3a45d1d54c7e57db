"""Policies that force a way to a result, and how a command gets one."""

from math import inf

from libsvmx._train import policy
from libsvmx._train.policy import KernelPolicy

__all__ = ["ALWAYS_SHARED", "BY_CLASSES", "IN_TURN", "NEVER_SHARED", "KernelPolicy", "of_commands"]

# No solve stands in a queue.
IN_TURN = KernelPolicy(queue=False)
# In a queue kernel values stand by pairs of classes; solves of two classes, and of regressions, are in none.
BY_CLASSES = KernelPolicy(max_gram_bytes=0)
# However much kernel values cost.
NEVER_SHARED = KernelPolicy(queue=False, small_bytes=-1, expensive_ns=inf)
ALWAYS_SHARED = KernelPolicy(queue=False, small_bytes=inf)


def of_commands(monkeypatch, **fields):
    """Commands, which take no policy, have one with these fields."""
    monkeypatch.setattr(policy, "USUAL", KernelPolicy(**fields))
