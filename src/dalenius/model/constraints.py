"""What every mechanism of a design must keep, beside its budget: all of it linear in the mechanism (MATH 6.12)."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model.distortion import Distortion
from dalenius.numerics.types import Floats

# Beyond this epsilon limits nothing that floats can show.
LARGEST_EPSILON = 20.0
# Means may miss the answer by this share of the largest error |y - f|, and pass for unbiased; bounds are about all
# mechanisms that do.
UNBIASED = 1e-9


@dataclass(frozen=True)
class Constraints:
    """Conditions on the rows q(.|x), by the names that users give them; by default there are none."""

    # q(y|x) <= e^max_epsilon q(y|x') for datasets that differ in one record.
    max_epsilon: float = math.inf
    # q(y|x) >= floor.
    floor: float = 0.0
    # E[Y|x] = f(x).
    unbiased: bool = False
    # |Y - f(x)| <= within.
    within: float = math.inf
    # Y = 0 where f(x) = 0.
    keep_zero: bool = False

    @classmethod
    def from_user(
        cls,
        task: Distortion,
        *,
        max_epsilon: float | None = None,
        floor: float | None = None,
        unbiased: bool = False,
        within: float | None = None,
        keep_zero: bool = False,
    ) -> "Constraints":
        """Check what a user gave; each by itself must be possible."""
        found = cls(
            math.inf
            if max_epsilon is None
            else checks.real("max_epsilon", max_epsilon, 0.0, LARGEST_EPSILON, open_low=True),
            0.0 if floor is None else checks.real("floor", floor, 0.0, 1.0),
            checks.flag("unbiased", unbiased),
            math.inf if within is None else checks.real("within", within, 0.0, math.inf),
            checks.flag("keep_zero", keep_zero),
        )
        found._check(task)
        return found

    @property
    def given(self) -> dict[str, Any]:
        """Those that are asked for, as certificates state them."""
        none = Constraints()
        return {name: value for name, value in self.__dict__.items() if value != getattr(none, name)}

    def without(self, name: str) -> "Constraints":
        """All but one."""
        return replace(self, **{name: getattr(Constraints(), name)})

    @property
    def about_answers(self) -> list[str]:
        """The names of those that compare the output with the answer."""
        return [name for name in self.given if name in {"unbiased", "within", "keep_zero"}]

    def deviations(self, task: Distortion) -> Floats:
        """(K, Y) y - f of every class of the query and every output."""
        query = task.query
        answers, outputs = (np.asarray(values, float) for values in (query.answers, task.outputs))
        return np.asarray(outputs - answers[:, None])

    def barred(self, task: Distortion) -> NDArray[np.bool_]:
        """(K, Y) which outputs a class of the query must not have.

        An answer beyond which no output lies is the mean of its outputs only if it is told as it is.
        """
        away = self.deviations(task)
        barred: NDArray[np.bool_] = np.abs(away) > self.within
        if self.keep_zero:
            barred |= (np.asarray(task.query.answers, float) == 0)[:, None] & (away != 0)
        if self.unbiased:
            above, below = ((~barred & (sign * away > 0)).any(axis=1, keepdims=True) for sign in (1, -1))
            barred |= ~(above & below) & (away != 0)
        return barred

    def _check(self, task: Distortion) -> None:
        """Refuse what no mechanism can keep, for a reason that shows in a single row."""
        query, outputs = task.query, len(task.outputs)
        if self.about_answers and not (query.real and query.named):
            refuse(
                f"{self.about_answers[0]} is about answers that are numbers, of a query by its name; {query} has none: "
                "leave it out"
            )
        if self.floor * outputs > 1 - 1e-6:
            refuse(
                f"floor = {self.floor:g} for each of {outputs} outputs is {self.floor * outputs:g} in every row; give "
                f"less than {1 / outputs:.9g}, or fewer outputs (outputs=)"
            )
        if not self.about_answers:
            return
        barred = self.barred(task)
        if self.floor > 0 and barred.any():
            name = self.about_answers[-1]
            refuse(f"floor = {self.floor:g} asks for every output in every row, {name} bars some; give one of them")
        for answer in np.asarray(query.answers)[np.flatnonzero(barred.all(axis=1))].tolist():
            words = " and ".join(f"{name} = {value}" for name, value in self.given.items() if name != "max_epsilon")
            refuse(f"{words}: the answer {answer:g} has no outputs for it; give more outputs (outputs=)")
