"""Audits of local randomisers of any number of records: the release is never written out.

Lower bound: ascents on a part of the release, with all other records as in the reference: the values of a few records,
or one record and how many of some hundred others equal it (docs/mathematics.md 4.12). Upper bound by formula.
"""

import math
from collections.abc import Iterator

import numpy as np

from dalenius.auditing.audited import Audited
from dalenius.auditing.from_below import Look, from_below, needs_rows, tilted_by
from dalenius.auditing.one_secret import SecretAudit
from dalenius.bounds import bellman
from dalenius.bounds.closing import Formula
from dalenius.bounds.products import all_looks, product, symmetric_bits
from dalenius.bounds.products import looks as looks_at_bits
from dalenius.errors import InputError
from dalenius.model import secret as secrets
from dalenius.model.channels.per_record import PerRecord, SomeRecords
from dalenius.model.problem import AuditProblem
from dalenius.model.secret import Attributes, Function, Secret
from dalenius.numerics.types import Floats
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import random_priors
from dalenius.search.deadline import Deadline

# Cells and entries of the part of the release that holds the values of a few records. Eight bits are 0.3 % below what
# 200 counted records leak at most, at epsilon 1 and knowledge 0.5.
PART_CELLS = 256
PART_ENTRIES = 2**17
# Records whose number alone is looked at, and entries of that part.
COUNTED_RECORDS = 200
COUNTED_ENTRIES = 2**18
# Datasets from which on randomised response with a matrix is audited record by record too: below, trees close.
LEAST_DATASETS = 32
# The same where a share of the upper bound is asked for: a formula is quicker than a tree.
QUICK_DATASETS = 8
# Values of a group of records that is the secret.
GROUP_VALUES = 64
# Fewer nodes are taken where a share of the bound is asked for and they come within this part of it.
BELLMAN_GOAL = 0.95


def audit_local(problem: AuditProblem, mechanism: PerRecord, about: Secret, deadline: Deadline) -> Audited:
    """Bracket max I(about;Y), with the way from cells to classes of the part of the release that the prior is on."""
    if (reason := refusal(problem, mechanism, about)) is not None:
        raise InputError(reason)
    proofs = closed_forms(problem, mechanism, about)
    looks = (_look(problem, part, about) for part in _parts(problem, mechanism, about))
    best = from_below(problem, about, looks, deadline, proofs=proofs)
    audit = best.audit
    if problem.knowledge <= 0:
        audit.proofs = [Formula("reference", audit.lower)]
    _step_by_step(audit, problem, mechanism, _members(about), deadline)
    low, high = 0.0, audit.trivial
    if isinstance(about, int) and symmetric_bits(mechanism):
        # All records equal to the secret is the best that symmetric bits can do.
        low = looks_at_bits(mechanism.n, float(mechanism.rows[0, 1]))
        high = min(high, low)
    audit.unconstrained = (max(audit.lower, low), high)
    return best


def closed_forms(problem: AuditProblem, mechanism: PerRecord, about: Secret) -> list[Formula]:
    """Upper bounds of I(about;Y) that need no rows."""
    if "formulas" not in problem.settings.portfolio.opening:
        return []
    members = _members(about)
    proofs = [product(mechanism, members, problem.knowledge, problem.reference)]
    if len(members) == 1 and symmetric_bits(mechanism):
        proofs.append(all_looks(mechanism))
    return proofs


def _step_by_step(
    audit: SecretAudit, problem: AuditProblem, mechanism: PerRecord, members: tuple[int, ...], deadline: Deadline
) -> None:
    """Bits one after the other, where formulas leave the bracket open."""
    few = problem.settings.of(bellman.BellmanSearch)
    tried = "formulas" in problem.settings.portfolio.opening and audit.worth_more
    if tried and bellman.possible(mechanism, members, problem.knowledge, few) and not deadline.expired():
        rest = problem.knowledge, problem.reference, few, deadline
        share = min(problem.relative, 0.5)
        enough = audit.lower * (1 + BELLMAN_GOAL * share / (1 - share)) if share > 0 else 0.0
        found = bellman.best(mechanism, members[0], *rest, enough=enough)
        if found is not None:
            audit.try_formulas(found)


def refusal(problem: AuditProblem, mechanism: PerRecord, secret: Secret) -> str | None:
    """Why not: functions of the dataset, and weights of datasets, need a list of datasets."""
    function = isinstance(secret, Function) and not isinstance(secret, Attributes)
    if function or problem.reference.kind == "weights":
        what = "a secret that is a function" if function else "a reference of weights"
        remedy = "name a group of records, give laws of records, or use fewer records"
        return needs_rows(mechanism, f"{what} needs", remedy)
    whole = secret.whole if isinstance(secret, Attributes) else secret
    values = secrets.size(whole, mechanism.records)
    if not isinstance(whole, int) and values > GROUP_VALUES:
        return (
            f"{secrets.name(secret)} have {values} values, above the limit of {GROUP_VALUES} for this number of "
            "records; name fewer"
        )
    return None


def _members(about: Secret) -> tuple[int, ...]:
    """The records that the secret is about; of attributes all that have one: they tell no more."""
    return about.records if isinstance(about, Attributes) else secrets.members(about) or ()


def _parts(problem: AuditProblem, mechanism: PerRecord, about: Secret) -> Iterator[SomeRecords]:
    """The parts of the release that priors are searched on, cheapest first."""
    members = _members(about)
    k, outputs, left = mechanism.k, len(mechanism.parts), mechanism.n - len(members)
    others, each = 0, math.log(k) + math.log(outputs)
    while (
        others < left
        and k ** (len(members) + others + 1) <= PART_CELLS
        and (len(members) + others + 1) * each <= math.log(PART_ENTRIES)
    ):
        others += 1
    yield mechanism.look_at(members, others)
    reference = problem.reference
    if len(members) > 1 or len(reference.laws) > 1:
        return
    counted = min(left, COUNTED_RECORDS)
    while counted > others and k * (counted + 1) * outputs * (counted + 1) ** (outputs - 1) > COUNTED_ENTRIES:
        counted = counted * 9 // 10
    if counted > others:
        yield mechanism.look_at(members, counted, counted=True, law=np.exp(reference.log_law_of(0, k)))


def _look(problem: AuditProblem, part: SomeRecords, about: Secret) -> Look:
    """Ascents from the reference tilted towards datasets in which the others agree with the secret, and random ones."""
    lumped, lift = lump(part, about, None, problem.reference)

    def starts(cells: Cells) -> Floats:
        score, alive = np.zeros(cells.size), lift.cell_of >= 0
        score[lift.cell_of[alive]] = np.broadcast_to(_alike(part), lift.cell_of.shape)[alive]
        spread = max(1, len(part.looked_at.others))
        tilts = np.array([0.1, 0.5, 1.0, 2.0, 4.0]) * math.sqrt(2 * cells.knowledge / spread)
        tilted = tilted_by(cells, np.outer([*tilts, 30.0], score))
        return np.concatenate([tilted, random_priors(cells, 4, np.random.default_rng(0))])

    return Look(lumped, lift, starts, part=part)


def _alike(part: SomeRecords) -> Floats:
    """How many of the others equal the first member, in every class."""
    statistic = part.looked_at
    cls = np.arange(statistic.size)
    a, t = np.divmod(cls, statistic.inside)
    if statistic.counted:
        return np.asarray(t, dtype=float)
    first = a // statistic.k ** (len(statistic.members) - 1)
    total = np.zeros(cls.size)
    for _ in statistic.others:
        t, last = np.divmod(t, statistic.k)
        total += last == first
    return total
