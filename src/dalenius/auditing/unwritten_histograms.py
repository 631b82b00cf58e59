"""Audits of histograms of very many records with noise on every count: neither channel nor count vectors are listed.

All records are independent with one law p, uniform or public, and the secret is one record. Lower bound: one noisy
count, which tells no more than all of them, is noise on a sum (large.py). Upper bounds need the law of one count only:
the ratio rho(t|a) / rho(t) = t_a / (n p_a) is that of one count (MATH 4.8), and how far the rows are from noise around
the mean counts is a sum over them (MATH 4.9).
"""

import math

import numpy as np

from dalenius.auditing.one_secret import SecretAudit
from dalenius.auditing.unwritten_sums import fano, from_below
from dalenius.bounds.closed_forms import Centres, Formula, blend_of_counts
from dalenius.errors import InputError
from dalenius.model.noisy_histogram import NoisyCount, NoisyHistogram
from dalenius.model.reference import UNIFORM, Reference
from dalenius.model.secret import Function, Secret
from dalenius.reductions.cells import Floats
from dalenius.reductions.coarse import Grid
from dalenius.reductions.lump import Lift
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT

FEW = 2  # counts that are tried as witnesses
MOST_TERMS = 2**22  # of the laws of different counts, which a verifier adds up
MOST_PAIRS = 2**26  # of a value and a count: a prior on them is written out


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
    proofs: list[Formula] = [blend_of_counts(n, knowledge, law)]
    if (eta := mechanism.contraction()) < DEFAULT.closed_forms.least_contraction_used:
        proofs.append(blend_of_counts(n, knowledge, law, eta))
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
