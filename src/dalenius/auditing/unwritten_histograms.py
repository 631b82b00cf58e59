"""Audits of histograms of very many records with noise on every count: neither channel nor count vectors are listed.

All records are independent with one law p, uniform or public, and the secret is one record, or attributes of one. Lower
bound: one noisy count, which tells no more than all of them, is noise on a sum (unwritten_sums.py); or all of them, by
a guess that looks at every count (search/tied.py). Upper bounds need the law of one count only: the ratio rho(t|a) /
rho(t) = t_a / (n p_a) is that of one count, of an attribute that of the counts that have it added up (MATH 4.8).
"""

import math
from dataclasses import replace
from typing import TypeVar

import numpy as np

from dalenius.auditing.audited import Audited
from dalenius.auditing.from_below import fano, from_below, needs_rows, of_sum
from dalenius.auditing.one_secret import SecretAudit
from dalenius.bounds.closed_forms import SumSearch, blend_of_counts
from dalenius.bounds.closing import Formula
from dalenius.bounds.counted import Counted, CountedSearch, counted_bounds
from dalenius.bounds.moved_counts import MovedSearch, moved_counts
from dalenius.errors import InputError, refuse
from dalenius.model import secret as secrets
from dalenius.model.channels.noisy_counts import NoisyCounts
from dalenius.model.problem import AuditProblem
from dalenius.model.secret import Attributes, Function, Secret
from dalenius.numerics.types import Floats
from dalenius.search.deadline import Deadline
from dalenius.search.tied import Tied, TiedSearch, tie, tie_others
from dalenius.settings import Settings

# Noisy counts that are tried as witnesses.
WITNESS_COUNTS = 2
# Bounds of histograms are searched again with more effort while the gap falls below this share of itself.
FINER_GAIN = 0.99
# Pairs of a value and a count, on which a prior is written out.
COUNT_PAIRS = 2**26


def audit_histogram(problem: AuditProblem, mechanism: NoisyCounts, about: Secret, deadline: Deadline) -> Audited:
    """Bracket max I(X_i;Y), with the way from coarse cells to the classes of one count, and the mechanism of it.

    Where a prior on all counts, or one that ties every value to its own count, leaks more, with that one.
    """
    reference = problem.reference
    check_histogram(problem, mechanism, about)
    given = np.array(reference.laws[0] if reference.laws else (1.0,) * mechanism.k)
    law = given / math.fsum(given)
    formulas = deadline.part(problem.settings.of(SumSearch).formula_share * deadline.left)
    proofs = closed_forms(problem, mechanism, law, about, formulas)
    cells = (mechanism.cell(value) for value in _telling(law, WITNESS_COUNTS))
    looks = (of_sum(problem, cell, about, part=cell) for cell in cells)
    best = from_below(problem, about, looks, deadline, proofs=proofs)
    audit = best.audit
    low, high = audit.unconstrained
    better = _by_all_counts(problem, mechanism, law, about, audit, deadline)
    audit.unconstrained = (max(low, audit.lower, _all_alike(mechanism, about)), high)
    deadline.report_progress(0, 1, audit.lower, audit.upper, "own counts")
    return replace(best, better=None if better is None else better.prior(mechanism, about, reference))


def _by_all_counts(  # noqa: PLR0917 - the whole question
    problem: AuditProblem,
    mechanism: NoisyCounts,
    law: Floats,
    about: Secret,
    audit: SecretAudit,
    deadline: Deadline,
) -> Tied | Counted | None:
    """Narrow the bracket by all counts together; return the prior on all of them where it leaks more.

    Tables of few people first: there nothing is lost. The rest is for values that are alike: others would need a
    polynomial each.
    """
    knowledge, settings = problem.knowledge, problem.settings
    one, formulas = isinstance(about, int), "formulas" in problem.settings.portfolio.opening
    best: Tied | Counted | None = None
    listed = False
    if formulas and audit.open:
        counted = counted_bounds(mechanism, law, knowledge, deadline, settings.of(CountedSearch))
        audit.try_formulas(*counted.uppers)
        listed = mechanism.listed and bool(counted.uppers)
        best = _raised(audit, counted) if one and listed else None
    even = np.unique(law).size == 1
    if isinstance(about, Attributes) and even and np.unique(sizes := np.bincount(about.values)).size == 1:
        together = int(sizes[0])
        best = _raised(audit, tie(mechanism, knowledge, deadline, settings.of(TiedSearch), together=together))
    if listed or not even:
        return best
    if one:
        best = _raised(audit, tie(mechanism, knowledge, deadline, settings.of(TiedSearch))) or best
    before = math.inf
    while formulas and audit.open and not deadline.expired():
        if (moved := moved_counts(mechanism, knowledge, deadline, settings.of(MovedSearch))) is not None:
            audit.try_formulas(moved)
            if one:
                both = tie_others(mechanism, knowledge, moved.scores, deadline, settings.of(TiedSearch))
                best = _raised(audit, both) or best
        if audit.gap > FINER_GAIN * before:
            break
        before = audit.gap
        settings = _finer(settings)
        if one:
            best = _raised(audit, tie(mechanism, knowledge, deadline, settings.of(TiedSearch))) or best
    return best


def _finer(settings: Settings) -> Settings:
    """Twice the rounds, and more moves of counts."""
    moved, tied = settings.of(MovedSearch), settings.of(TiedSearch)
    return settings.having(
        replace(moved, steps=2 * moved.steps, own=moved.own + 4, others=moved.others + 1),
        replace(tied, rounds=2 * tied.rounds),
    )


Better = TypeVar("Better", Tied, Counted)


def _raised(audit: SecretAudit, found: Better | None) -> Better | None:
    """Keep the lower bound of a prior that leaks more than what is known; otherwise None."""
    if found is None or found.lower <= audit.lower:
        return None
    audit.lower = found.lower
    return found


def closed_forms(
    problem: AuditProblem, mechanism: NoisyCounts, law: Floats, about: Secret, deadline: Deadline
) -> list[Formula]:
    """Upper bounds of I(about;Y) that need no count vectors; law: of a record. The first, however short the time."""
    n, knowledge, settings = mechanism.n, problem.knowledge, problem.settings.of(SumSearch)
    if "formulas" not in problem.settings.portfolio.opening:
        return []
    law_of_secret = np.asarray(np.bincount(about.values, weights=law), float) if isinstance(about, Attributes) else law
    proofs = [blend_of_counts(n, knowledge, law_of_secret)]
    if not deadline.expired() and (eta := mechanism.contraction([(n, law)])) < settings.least_contraction_used:
        proofs.append(blend_of_counts(n, knowledge, law_of_secret, eta))
    return proofs


def _all_alike(mechanism: NoisyCounts, about: Secret) -> float:
    """Guarantee: result <= L(0), by datasets in which all records have one value, one for each of the secret's.

    The value with the highest noisy count is a wrong guess only if some noise is n/2 or more the wrong way.
    """
    half = np.array([math.ceil(mechanism.n / 2)], dtype=float)
    return fano(secrets.size(about, mechanism.records), mechanism.k * float(mechanism.noise.tail(half)[0]))


def check_histogram(problem: AuditProblem, mechanism: NoisyCounts, secret: Secret) -> None:
    """Refuse what needs a list of datasets or counts: other secrets than a record, references but one law for all."""
    reference = problem.reference
    pairs = mechanism.k * (mechanism.n + 1)
    if pairs > COUNT_PAIRS:
        refuse(
            f"an audit of {mechanism.name} of {mechanism.query} needs {pairs} pairs of a value and a count, above the "
            f"limit of {COUNT_PAIRS}; use fewer records or values"
        )
    if isinstance(secret, Attributes) and not isinstance(secret.whole, int):
        remedy = "ask about attributes of one record at a time, or use fewer records or values"
        raise InputError(needs_rows(mechanism, f"{secrets.name(secret)} need", remedy))
    if isinstance(secret, int | Attributes):
        what = f"a reference of {reference.kind}" if reference.kind in ("marginals", "weights") else ""
    else:
        what = "a secret that is a function" if isinstance(secret, Function) else "a group of records"
    if what:
        remedy = "ask about single records, give one law for all records, or use fewer records or values"
        raise InputError(needs_rows(mechanism, f"{what} needs", remedy))


def _telling(law: Floats, many: int) -> list[int]:
    """The few values whose counts spread most, of those that spread alike the first."""
    _, first = np.unique(np.abs(law - 0.5).round(12), return_index=True)
    return [int(v) for v in first[:many]]
