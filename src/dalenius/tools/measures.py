"""What one given prior leaks: `leakage`, enclosed in balls, and `g_leakage` as in quantitative information flow."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
from flint import arb
from numpy.typing import ArrayLike

from dalenius import shown
from dalenius.auditing.roads import find
from dalenius.errors import refuse
from dalenius.model import checks
from dalenius.model import secret as secrets
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.real_records import RealRecords
from dalenius.model.prior import Prior
from dalenius.model.problem import NATS_PER_UNIT, Adversary, AuditProblem, down, up
from dalenius.model.reference import Reference
from dalenius.numerics.rounding import outward
from dalenius.numerics.types import Floats
from dalenius.results.result import frame
from dalenius.search.deadline import Deadline
from dalenius.verifier.forms import reference as references
from dalenius.verifier.forms import secret as verified
from dalenius.verifier.forms import sums
from dalenius.verifier.forms.written import Asked, rebuild
from dalenius.verifier.kernel.balls import ZERO, Ball, precision
from dalenius.verifier.kernel.cells import Knowledge, information
from dalenius.verifier.kernel.reading import Refused


@dataclass(frozen=True)
class Leakage:
    """lower <= I(A;Y) <= upper under one prior, in `unit`; record: the one that leaks most, None for another secret."""

    lower: float
    upper: float
    record: int | None
    unit: str

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row."""
        return frame([asdict(self)])

    def _repr_html_(self) -> str:
        row = (*outward(self.lower, self.upper), self.unit, str(self.record))
        return shown.table(("lower", "upper", "unit", "record"), [row], "Leakage under one prior")


def leakage(mechanism: Mechanism, prior: object, secret: object = None, unit: str = "nats") -> Leakage:
    """Return the leakage under one given prior, enclosed from both sides.

    Guarantee: the numbers enclose the information of the channel that certificates are about, in ball arithmetic.

    Args:
        mechanism: what is released.
        prior: one law for all (independent) records, one law per record, one weight per dataset, or a Prior. For
            real-valued records a density, (edges, masses) or None for a uniform one; the numbers are then 1e-4 apart or
            more.
        secret: as for `audit`; by default every record, and the worst counts.
        unit: "nats" or "bits".

    Returns:
        An object with `lower`, `upper`, `record` and `unit`.

    Raises:
        InputError: an argument is wrong, or the channel has no rows.

    Example:
        >>> mechanism = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
        >>> round(dl.leakage(mechanism, [0.9, 0.1]).upper, 6)
        0.028807
    """
    checks.choice("unit", unit, tuple(NATS_PER_UNIT))
    if (reals := getattr(mechanism, "as_real_records", None)) is not None:
        return _of_reals(reals, prior, secret, unit)
    given = _reference(mechanism, prior)
    about = None if secret is None else secrets.from_user(secret, mechanism.records, mechanism.query)
    orbits = given.orbits(mechanism.statistic) if about is None else ((about,),)
    found = []
    try:
        with precision():
            enclose = _enclosing(mechanism, given)
            for members in orbits:
                enclosure = enclose(secrets.describe(members[0]))
                low = max(0.0, math.nextafter(float(enclosure.lower()), -math.inf))
                high = math.nextafter(float(enclosure.upper()), math.inf)
                found.append((low, high, members[0] if isinstance(members[0], int) else None))
    except Refused as reason:
        refuse(f"the leakage of this prior cannot be enclosed: {reason}", reason)
    nats = NATS_PER_UNIT[unit]
    worst = max(found, key=lambda item: item[0])
    return Leakage(down(worst[0], nats), up(max(item[1] for item in found), nats), worst[2], unit)


def _enclosing(mechanism: Mechanism, given: Reference) -> Callable[[Any], Ball]:
    """Return what encloses I(A;Y) of a secret as certificates describe it, by the verifier's own channel."""
    large = not mechanism.has_rows and mechanism.as_sum is not None
    channel: Any = sums.rebuild(mechanism.describe()) if large else rebuild(mechanism.written().describe())
    described_prior = given.describe()
    rho = references.read(described_prior, channel.statistic) if described_prior else references.UNIFORM

    def enclose(described: Any) -> Ball:
        secret = verified.read(described, channel.statistic)
        if large:
            return sums.told(sums.ask(channel, secret, rho))
        asked = Asked(channel, secret, Knowledge(ZERO, none=True, free=False), rho)
        return information(channel, asked.question.cells) + arb(0.5, 0.5) * asked.lost

    return enclose


def _of_reals(mechanism: RealRecords, prior: object, secret: object, unit: str, tolerance: float = 1e-4) -> Leakage:
    """Enclose what real-valued records with one density leak, by an audit of an adversary who knows nothing else."""
    adversary = Adversary.of_reals(0.0, "nats", mechanism.density(prior), "bounded")
    problem, nats = AuditProblem(mechanism, adversary, mechanism.secret(secret), tolerance), NATS_PER_UNIT[unit]
    with Deadline(60.0, None) as deadline:
        found = find(problem, deadline, 0)
    return Leakage(down(found.lower, nats), up(found.upper, nats), found.record, unit)


def _reference(mechanism: Mechanism, prior: object) -> Reference:
    if not isinstance(mechanism, Mechanism):
        refuse(f"a leakage is of a Mechanism, not of {type(mechanism).__name__}; see dl.mechanisms")
    if isinstance(prior, Prior):
        return Reference.from_user(prior.weights(), mechanism.records)
    names = () if mechanism.query is None else mechanism.query.names
    return Reference.from_user(prior, mechanism.records, names)


def g_leakage(
    mechanism: Mechanism,
    prior: object,
    gain: str | ArrayLike | Callable[[tuple[int, ...], tuple[int, ...]], float] = "bayes",
    kind: Literal["multiplicative", "additive"] = "multiplicative",
) -> float:
    """Return the g-leakage about the whole dataset, as quantitative information flow defines it. In floats.

    Args:
        mechanism: what is released.
        prior: as for `leakage`.
        gain: "bayes", which is 1 for the right dataset and 0 otherwise; a matrix with one row per guess and one column
            per dataset, not negative if kind is "multiplicative"; or a function of a guessed and a true dataset.
        kind: "multiplicative" for posterior g-vulnerability over that of the prior, "additive" for their difference.

    Returns:
        The ratio (not its logarithm) or the difference.

    Raises:
        InputError: an argument is wrong, or there are too many datasets.

    Example:
        >>> mechanism = dl.mechanisms.geometric(dl.queries.count(n=4), epsilon=1)
        >>> round(dl.g_leakage(mechanism, [0.5, 0.5]), 4)
        2.8485
    """
    checks.choice("kind", kind, ("multiplicative", "additive"))
    weights = np.exp(_reference(mechanism, prior).log_table(mechanism.records))
    matrix = mechanism.matrix()
    gains = _gains(gain, mechanism.records, signed=kind == "additive")
    before = float((gains @ weights).max())
    after = float((gains @ (weights[:, None] * matrix)).max(axis=0).sum())
    if kind == "additive":
        return max(0.0, after - before)
    if before <= 0:
        refuse("the prior g-vulnerability is 0, so that there is no ratio; use kind='additive', or another gain")
    # Never below 1: only rounding could take it there.
    return max(1.0, after / before)


def _gains(gain: object, records: tuple[int, ...], *, signed: bool, most: int = 2**24) -> Floats:
    many = checks.universe(records)
    if many * many > most and (isinstance(gain, str) or callable(gain)):
        refuse(f"{many} datasets make {many * many} gains, above the limit of {most}; use fewer records")
    if isinstance(gain, str):
        checks.choice("gain", gain, ("bayes",))
        return np.eye(many)
    gains: object = gain
    if callable(gain):
        datasets = list(product(*map(range, records)))
        gains = [[checks.called(partial(gain, w), x, f"the gain of {w} at") for x in datasets] for w in datasets]
    message = "gain is not a matrix of numbers; give one row per guess and one column per dataset"
    table = checks.array(gains, message).astype(float)
    if table.ndim != 2 or table.shape[1] != many:  # a matrix
        refuse(f"gain has shape {table.shape}; give one row per guess and one column for each of the {many} datasets")
    wrong = ~np.isfinite(table) if signed else ~(np.isfinite(table) & (table >= 0))
    if wrong.any():
        w, x = (int(i) for i in np.argwhere(wrong)[0])
        rule = "gains must be finite" if signed else "gains of a ratio must be finite and not negative"
        refuse(f"the gain of guess {w} at dataset {x} is {table[w, x]}; {rule}")
    return table
