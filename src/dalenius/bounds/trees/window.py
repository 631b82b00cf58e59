"""Bounds on the rows and outputs of a noisy sum that matter: what is far tells the secret itself (MATH 2.4)."""

from dataclasses import dataclass

import numpy as np

from dalenius.bounds.closing import Stepped
from dalenius.bounds.proof import Proof
from dalenius.model.channels.noise import clamped
from dalenius.model.channels.noisy_sum import NoisySum
from dalenius.numerics.types import Floats, Ints
from dalenius.reductions.lump import Lumped, OriginalOutputs
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class WindowSearch(Part):
    """Windows of a noisy sum, each wider than the last."""

    # Standard deviations of the reference to both sides.
    spreads: tuple[float, ...] = (4.2, 6.0, 9.0)
    # What the outermost rows may have beyond the outputs that are kept. What is far tells the secret: count(n=2800),
    # epsilon .3, has 225 rows and 283 outputs in the first window.
    rest: tuple[float, ...] = (1e-4, 1e-7, 1e-12)
    # Values of the secret at most, and cells x outputs.
    values: int = 4
    entries: int = 2**21


class _AsTheyAre(OriginalOutputs):
    """Outputs of a window are written as they are."""

    def __init__(self) -> None:
        """Nothing was merged."""

    def groups(self, row: list[int]) -> list[int]:
        """The group of each output."""
        return row

    def spread(self, values: Floats) -> list[float]:
        """A value per output."""
        return values.tolist()  # type: ignore[no-any-return]

    def log_r(self, log_r: Floats) -> list[float]:
        """A law of outputs."""
        return log_r.tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class Window:
    """Classes and outputs from the first to the last of a noisy sum, counted from 0."""

    rows: tuple[int, int]
    outputs: tuple[int, int]
    # Classes before the first one that is seen, of very many.
    unseen: int = 0

    @classmethod
    def around(cls, mechanism: NoisySum, log_joint: Floats, spreads: float, rest: float) -> "Window":
        """As many spreads of the reference's answer to both sides, and outputs that those rows have but for a rest."""
        answers, weight = mechanism.answers, np.exp(np.logaddexp.reduce(log_joint, axis=0))
        mean = float(weight @ answers)
        spread = float(np.sqrt(weight @ (answers - mean) ** 2))
        first, end = np.searchsorted(answers, [np.floor(mean - spreads * spread), np.ceil(mean + spreads * spread) + 1])
        last = max(int(first), int(end) - 1)
        reach = mechanism.reach(rest)
        low = max(mechanism.low, int(answers[first]) - reach)
        high = min(mechanism.high, int(answers[last]) + reach)
        unseen = getattr(mechanism.statistic, "first", 0)
        return cls((int(first), last), (low - mechanism.low, high - mechanism.low), unseen)

    @property
    def size(self) -> tuple[int, int]:
        """How many classes and outputs are kept."""
        return self.rows[1] - self.rows[0] + 1, self.outputs[1] - self.outputs[0] + 1

    def cells(self, mechanism: NoisySum, log_joint: Floats) -> Lumped:
        """The cells inside, and one for the far classes of every value; outputs, and then the values themselves.

        log_joint: (A, classes) the reference, every value of the secret with mass somewhere.
        """
        (first, last), (low, high) = self.rows, self.outputs
        values, width = len(log_joint), self.size[1]
        # One more output to either side takes what is beyond, unless the range of the outputs ends here.
        before, after = int(low > 0), int(high < mechanism.n_outputs - 1)
        outputs = mechanism.low + np.arange(low - before, high + 1 + after, dtype=float)
        answers = mechanism.answers[first : last + 1].astype(float)
        whole = clamped(mechanism.noise, answers[:, None], outputs)
        channel = whole[:, before : before + width]
        # Not what is left of 1, which may round to 0: to a verifier, whose boxes a tree needs, it is above 0.
        beyond = whole[:, :before].sum(axis=1) + whole[:, before + width :].sum(axis=1)
        secrets, rows, log_rho = [], [], []
        for a, log_law in enumerate(log_joint):
            inside, far = self._split(log_law)
            many = inside.size + bool(far.size)
            told = np.zeros((many, width + values))
            told[: inside.size, :width] = channel[inside - first]
            told[: inside.size, width + a] = beyond[inside - first]
            told[inside.size :, width + a] = 1.0
            secrets.append(np.full(many, a))
            rows.append(told)
            log_rho.append(np.append(log_law[inside], np.logaddexp.reduce(log_law[far]))[:many])
        size = sum(map(len, rows))
        return Lumped(np.concatenate(secrets), np.concatenate(rows), np.concatenate(log_rho), values, np.arange(size))

    def there(self, log_joint: Floats, masses: Floats) -> Floats:
        """A prior over values and classes with its far classes put together."""
        parts = []
        for log_law, law in zip(log_joint, masses, strict=True):
            inside, far = self._split(log_law)
            parts += [law[inside], law[far].sum(keepdims=True)[: far.size]]
        return np.concatenate(parts)

    def back(self, log_joint: Floats, pi: Floats) -> Floats:
        """A prior over these cells as masses of values and classes, as the reference where classes are far."""
        at, found = 0, np.zeros_like(log_joint)
        for log_law, law in zip(log_joint, found, strict=True):
            inside, far = self._split(log_law)
            law[inside] = pi[at : at + inside.size]
            at += inside.size
            if far.size:
                law[far] = pi[at] * np.exp(log_law[far] - np.logaddexp.reduce(log_law[far]))
                at += 1
        return found

    def _split(self, log_law: Floats) -> tuple[Ints, Ints]:
        """The classes of a value that are inside, and those that are far."""
        held = np.flatnonzero(np.isfinite(log_law))
        far = (held < self.rows[0]) | (held > self.rows[1])
        return held[~far], held[far]


def in_window(window: Window, inside: Proof) -> Stepped:
    """Turn a proof about a window into one about the question; the bound inside is that of Y'."""
    # The first and the last row and output that are kept.
    step = {"step": "window", "rows": [row + window.unseen for row in window.rows], "outputs": list(window.outputs)}
    return Stepped(inside, step, "window", outputs=_AsTheyAre())
