"""The closing formula: from a majorant of I(A;Y) to a bound over all priors of some knowledge (MATH 1.1, Theorem U).

A majorant on a set of priors pi(a,t) = p_a w_a(t) is an inequality

    I(A;Y) <= theta H(p) + <pi, h> + sum_a p_a eta_a D(w_a || rho_a),      theta, eta >= 0,

and for every s >= max_a eta_a each of these priors with D(pi || rho) <= K leaks at most

    s K + (theta + s) log sum_a exp( ( s log rho(a) + G_a ) / (theta + s) ),
    G_a >= (s - eta_a) log sum_t rho(t|a) exp( h(a,t) / (s - eta_a) ),      max_t h(a,t) where s = eta_a.

A bound by formula supplies log rho(a), G_a, theta and eta, and nothing else. With theta = eta = 0 the two sums are one
over all cells, so that log rho(t) and h(t) of classes of datasets may stand in place of log rho(a) and G_a.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.bounds.proof import Proof, Rounding
from dalenius.numerics.information import lse
from dalenius.numerics.iterations import least_between
from dalenius.numerics.types import Floats
from dalenius.reductions.lump import OriginalOutputs

# Multipliers s, counted from eta on, outside of which no bound by formula was ever best.
S_RANGE = (1e-6, 100.0)
# What sums over very many terms, or steps of chains, leave h off at most; a verifier found less than 1e-12 so far.
MANY_TERMS = 8e-11
# log rho(a) where theta = 0 and one G stands for all values, so that sum_a rho(a) exp(G_a / s) <= exp(G / s).
TOGETHER = np.zeros(1)


def close(log_a: Floats, gain: Floats, knowledge: float, *, s: float, theta: float = 0.0, eta: float = 0.0) -> Floats:
    """Guarantee: result >= I(A;Y) of every prior of the majorant with D(pi || rho) <= K, up to rounding.

    log_a: log rho(a) of the values that have mass. gain: G_a at this s, along the last axis. eta: the largest one.
    """
    if not (theta >= 0 and s >= eta >= 0):
        message = f"the closing formula needs theta >= 0 and s >= eta >= 0; theta = {theta}, s = {s}, eta = {eta}"
        raise ValueError(message)
    total = theta + s
    if total == 0:
        return np.asarray(gain.max(axis=-1))
    # With theta = 0 the masses enter as they are, whatever s is.
    return np.asarray(s * knowledge + total * lse(s / total * log_a + gain / total))


def least_closed(
    log_a: Floats,
    gain: Floats | Callable[[float], Floats],
    knowledge: float,
    *,
    eta: float = 0.0,
    s_range: tuple[float, float] = S_RANGE,
) -> tuple[float, float]:
    """Return the s with the least bound, and that bound; theta = 0.

    gain: G_a by s - eta, which is searched within `s_range`; or the same numbers at every s.
    """

    def bound(log_sigma: float) -> float:
        sigma = math.exp(log_sigma)
        return float(close(log_a, gain(sigma) if callable(gain) else gain, knowledge, s=eta + sigma, eta=eta))

    log_sigma, value = least_between(bound, math.log(s_range[0]), math.log(s_range[1]))
    return eta + math.exp(log_sigma), value


@dataclass(frozen=True)
class Formula:
    """A bound by formula, and what a certificate says of it: a verifier closes the same majorant."""

    kind: str
    upper: float
    # What the formula was evaluated at, in plain data.
    data: dict[str, Any] = field(default_factory=dict, repr=False)
    # theta + s, by which logarithms of sums are multiplied.
    s: float = 0.0
    # How far h itself, or what is added to the formula, may be off in floats.
    doubt: float = 0.0
    # Whether masses of cells enter, which are good to `Rounding.mass`; laws of sums are, to the last digits.
    written: bool = False

    @property
    def name(self) -> str:
        return self.kind

    def claim(self, rounding: Rounding) -> float:
        """Return the bound raised by the margin of the closing formula.

        The derivative of the bound by h is a prior, and by log rho it is s times one: what h is off counts once,
        what a logarithm of a mass or of a sum is off counts theta + s times.
        """
        return self.upper + self.doubt + rounding.bound + self.s * (rounding.bound + self.written * rounding.mass)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        return self.data


@dataclass(frozen=True, eq=False)
class Stepped:
    """A proof about an easier question, after the step that leads to it.

    Guarantee: upper >= I(A;Y) of every prior the adversary may hold, where the step makes `kept` times the bound inside
    and `added` one of ours.
    """

    inside: Proof
    step: dict[str, Any]
    name: str
    kept: float = 1.0
    added: float = 0.0
    # How far the step's masses may be off, beside those of the question.
    doubt: float = 0.0
    # How the easier question has its outputs, where not as ours does.
    outputs: OriginalOutputs | None = None

    @property
    def kind(self) -> str:
        """The kind of the proof inside."""
        return self.inside.kind

    @property
    def upper(self) -> float:
        """The bound."""
        return self.kept * self.inside.upper + self.added

    def claim(self, rounding: Rounding) -> float:
        """Return the claim of the proof inside, and what the step adds."""
        inside = self.inside.claim(Rounding(rounding.bound, rounding.mass + self.doubt))
        return self.kept * inside + (self.added + rounding.bound if self.added else 0.0)

    def to_certificate(self, outputs: OriginalOutputs | None) -> dict[str, Any]:
        """Return the proof inside, after one more step."""
        data = self.inside.to_certificate(self.outputs or outputs)
        return {**data, "steps": [self.step, *data.get("steps", ())]}
