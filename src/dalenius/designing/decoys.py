"""Truth or decoy: mechanisms that come with their certificates, for any number of people (MATH 6.14).

Answers are clamped and put into blocks t = 0..T-1, each with an output of its own. A mechanism tells the block with
chance e_t, and else an output from one law nu, or from one of two, by the side of the middle that t is on:

    q_t = e_t delta_t + (1 - e_t) nu,    or    q_t = e_t delta_t + (1 - e_t) (nu_right before the middle, else nu_left).

For given e_t the best of them is a programme (bounds/decoys/programme.py); chances e_t that differ from block to block
go down the slope of its value.
"""

import numpy as np

from dalenius.bounds.decoys.programme import TRUTHS, DecoySearch, Found, Programme, Task
from dalenius.search.deadline import Deadline


def best(task: Task, chosen: DecoySearch, deadline: Deadline) -> Found | None:
    """Return the best mechanism found: of one law, then of two with chances e_t that go down the slope."""
    found = Programme(task, chosen).best(deadline)
    if found is None or task.size < 4 or deadline.expired():
        return found
    apart = np.abs(np.linspace(-1.0, 1.0, task.size))
    truth = found.decoys.truth + chosen.middle - chosen.ends * apart
    step, before, idle = np.full(task.size, chosen.step), np.zeros(task.size), 0
    for _ in range(chosen.changes):
        truth = TRUTHS * np.rint(np.clip(truth, 0.02, 0.97) / TRUTHS)
        programme = Programme(task, chosen, truth)
        here = programme.best(deadline)
        if here is None:
            break
        idle = 0 if here.worth < (1 - chosen.gain) * found.worth else idle + 1
        found = min(found, here, key=lambda item: item.worth)
        if idle == 3 or deadline.expired():
            break
        # Rprop: steps grow while the slope keeps its sign, and shrink where it changes.
        slope = programme.slope(*here.solution)
        turned = slope * before
        grown = np.minimum(step * chosen.factors[0], chosen.largest_step)
        step = np.where(turned > 0, grown, np.where(turned < 0, step * chosen.factors[1], step))
        before = np.where(turned < 0, 0.0, slope)
        truth = truth - step * np.sign(slope)
    return found
