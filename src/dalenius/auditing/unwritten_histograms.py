"""Audits of histograms of very many records with noise on every count: neither channel nor count vectors are listed.

All records are independent with one law p, uniform or public, and the secret is one record. Lower bound: one noisy
count, which tells no more than all of them, is noise on a sum (large.py). Upper bounds need the law of one count only:
the ratio rho(t|a) / rho(t) = t_a / (n p_a) is that of one count (MATH 4.8), and how far the rows are from noise around
the mean counts is a sum over them (MATH 4.9).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dalenius.auditing.one_secret import LEAST_ORDER_S, MOST_ORDER_S, Maximal, SecretAudit
from dalenius.auditing.unwritten_sums import NOISY, Blend, blended, fano, from_below, in_blocks
from dalenius.errors import InputError
from dalenius.model.counting import log_binomial
from dalenius.model.noisy_histogram import NoisyCount, NoisyHistogram
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Function, Secret
from dalenius.numerics.deferred import logsumexp, minimize_scalar
from dalenius.reductions.cells import Floats
from dalenius.reductions.coarse import Grid
from dalenius.reductions.lump import Lift
from dalenius.search.deadline import Deadline

FEW = 2  # counts that are tried as witnesses
MOST_TERMS = 2**22  # of the laws of different counts, which a verifier adds up
MOST_PAIRS = 2**26  # of a value and a count: a prior on them is written out

LOG_S = (math.log(LEAST_ORDER_S), math.log(MOST_ORDER_S))


@dataclass(frozen=True)
class Centres(Maximal):
    """s K + sum_v (s/k) log sum_t Bin(t; n, p_v) exp( k D(t - c_v) / s ), D that of the noise (MATH 4.9).

    Rows are products, so that with r the noise around the integers c_v D(q_t || r) <= sum_v D(t_v - c_v); then
    Hoelder's inequality for the product of the k exponentials.
    """

    centre: tuple[int, ...] = ()
    s: float = 1.0

    @classmethod
    def best(cls, mechanism: NoisyHistogram, knowledge: float, law: Floats) -> "Centres":
        """Put r around the mean counts, and choose s."""
        n, k = mechanism.n, mechanism.k
        masses, times = np.unique(law, return_counts=True)
        log_size = np.stack([log_binomial(n, (1 - p, p)) for p in masses.tolist()])
        centres = np.rint(n * masses).astype(np.int64)
        with np.errstate(over="ignore"):
            far = mechanism.noise.divergence(np.abs(np.arange(n + 1) - centres[:, None]).astype(float))

        def bound(log_s: float) -> float:
            s = math.exp(log_s)
            return s * (knowledge + float(times @ logsumexp(log_size + k * far / s, axis=1)) / k)

        found = minimize_scalar(bound, bounds=LOG_S, method="bounded")
        places = centres[np.searchsorted(masses, law)].tolist()
        return cls(float(found.fun), tuple(places), math.exp(float(found.x)))


def blend(n: int, knowledge: float, law: Floats, eta: float = 1.0) -> Blend:
    """Choose order and share of a blend (MATH 4.8), where G_a is an expectation over one count.

    G_a = (order-1) log E( (1 + B) / (n p_a) )^(1/(order-1)),   B ~ Binomial(n-1, p_a).

    Where all values are as likely a share below 1 only mixes in the trivial bound.
    """
    masses, place = np.unique(law, return_inverse=True)
    parts = [_told(n, p) for p in masses.tolist()]

    def told(power: float) -> Floats:
        return np.array([part(power) for part in parts])[place]

    if masses.size > 1:
        return Blend.chosen(np.log(law), told, knowledge, eta)

    def bound(log_s: float) -> float:
        power = math.exp(-log_s)
        return blended(np.log(law), told(power), eta, knowledge, power=power, share=1.0)

    found = minimize_scalar(bound, bounds=LOG_S, method="bounded")
    return Blend(float(found.fun), 1 + math.exp(float(found.x)), 1.0)


def _told(n: int, p: float) -> Callable[[float], float]:
    """G_a by 1/(order-1), for a value of probability p."""
    given = log_binomial(n - 1, (1 - p, p))
    ratio = np.log(np.arange(1.0, n + 1)) - math.log(n * p)
    log_p, log_ratio = (part[0] for part in in_blocks(given[None], given - ratio))
    return lambda power: float(logsumexp(log_p + power * log_ratio)) / power


def audit_histogram(  # noqa: PLR0913 - a problem, and how hard to try
    mechanism: NoisyHistogram,
    knowledge: float,
    tolerance: float,
    deadline: Deadline,
    *,
    secret: Secret,
    reference: Reference = UNIFORM,
) -> tuple[SecretAudit, Lift, Grid, NoisyCount]:
    """Bracket max I(X_i;Y), with the way from coarse cells to the classes of one count, and the mechanism of it."""
    check_histogram(mechanism, secret, reference)
    n, k = mechanism.n, mechanism.k
    given = np.array(reference.laws[0] if reference.laws else (1.0,) * k)
    law = given / math.fsum(given)
    proofs: list[Maximal] = [blend(n, knowledge, law)]
    if (eta := mechanism.contraction()) < NOISY:
        proofs.append(blend(n, knowledge, law, eta))
    if np.unique(law).size * (n + 1) <= MOST_TERMS:
        proofs.append(Centres.best(mechanism, knowledge, law))
    outputs = (n + 1) ** k
    found: list[tuple[SecretAudit, Lift, Grid, NoisyCount]] = []
    for value in _telling(law):
        cell = mechanism.cell(value)
        below = from_below(
            cell, knowledge, tolerance, deadline, secret=secret, reference=reference, proofs=proofs, outputs=outputs
        )
        found.append((*below, cell))
        if deadline.expired():
            break
    best = max(found, key=lambda item: item[0].lower)
    low, high = best[0].unconstrained
    best[0].unconstrained = (max(low, _all_alike(mechanism)), high)
    return best


def _all_alike(mechanism: NoisyHistogram) -> float:
    """Guarantee: result <= L(0), by the k datasets in which all records have one value, all as likely.

    The value with the highest noisy count is a wrong guess only if some noise is n/2 or more the wrong way.
    """
    half = np.array([math.ceil(mechanism.n / 2)], dtype=float)
    return fano(mechanism.k, mechanism.k * float(mechanism.noise.tail(half)[0]))


def check_histogram(mechanism: NoisyHistogram, secret: Secret, reference: Reference) -> None:
    """Refuse what needs a list of datasets or counts: other secrets than a record, references but one law for all."""
    pairs = mechanism.k * (mechanism.n + 1)
    if pairs > MOST_PAIRS:
        message = (
            f"an audit of {mechanism.name} of {mechanism.query} needs {pairs} pairs of a value and a count, above the "
            f"limit of {MOST_PAIRS}; use fewer records or values"
        )
        raise InputError(message)
    if isinstance(secret, int) and reference.kind not in ("marginals", "weights"):
        return
    kind = "a secret that is a function" if isinstance(secret, Function) else "a group of records"
    what = f"a reference of {reference.kind}" if isinstance(secret, int) else kind
    message = (
        f"{what} needs a channel that is written out, and {mechanism.name} of {mechanism.query} is not; ask about "
        "single records, give one law for all records, or use fewer records or values"
    )
    raise InputError(message)


def _telling(law: Floats) -> list[int]:
    """The few values whose counts spread most, of those that spread alike the first."""
    _, first = np.unique(np.abs(law - 0.5).round(12), return_index=True)
    return [int(v) for v in first[:FEW]]
