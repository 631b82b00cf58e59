"""The witness: a prior that the adversary may hold, and what it leaks."""

from collections.abc import Sequence

from flint import arb

from .balls import ZERO, Ball, short, xlogx
from .cells import Channel, Knowledge, Shares
from .limits import SLACK
from .order import products
from .reading import numbers, refuse, sequence


def masses(value: object, size: int, reference: Sequence[Shares], where: str) -> list[Shares]:
    """Return masses over (secret value, class), divided by their exact sum; refused where the reference has none.

    size: how many classes, or blocks of them, there are.
    """
    rows = sequence(value, f"masses of {where}", len(reference))
    prior: list[Shares] = []
    for a, (row, rho) in enumerate(zip(rows, reference, strict=True)):
        listed = numbers(row, size, f"masses of {where}, value {a}", low=0.0)
        law = {t: arb(m) for t, m in enumerate(listed) if m > 0}
        outside = [t for t in law if t not in rho or rho[t].is_zero()]
        if outside:
            refuse(
                f"{where} has mass on value {a}, class {outside[0]}, where there is no dataset of positive reference"
            )
        prior.append(law)
    total = sum((sum(law.values(), ZERO) for law in prior), ZERO)
    if not total > 0:
        refuse(f"{where} has no mass")
    return [{t: m / total for t, m in law.items()} for law in prior]


def law_of(value: object, size: int, where: str, *, positive: bool = False) -> list[Ball]:
    """Return a law, divided by its exact sum; positive: refused where an entry is 0."""
    listed = numbers(value, size, where, low=0.0)
    if positive and not all(x > 0 for x in listed):
        refuse(f"every entry of {where} must be above 0")
    total = sum(map(arb, listed), ZERO)
    if not total > 0:
        refuse(f"{where} has no mass")
    return [arb(x) / total for x in listed]


def held(prior: list[Shares], reference: list[Shares], knowledge: Knowledge, where: str) -> list[Shares]:
    """Return a prior that the adversary may hold: the one given, or the reference if it is that up to rounding.

    Guarantee: D(result || reference) <= knowledge.most, both alike inside their cells.
    """
    if knowledge.none:
        if (a := _apart(prior, reference)) is not None:
            refuse(
                f"{where} at value {a} is not the reference prior, uniform unless stated, "
                "the only one the adversary may hold"
            )
        return reference
    if not knowledge.free:
        pairs = zip(prior, reference, strict=True)
        divergence = sum((p * (p / rho[t]).log() for law, rho in pairs for t, p in law.items()), ZERO)
        if not divergence <= knowledge.most:
            if _apart(prior, reference) is None:
                return reference
            allowed(divergence, knowledge, where)
    return prior


def allowed(divergence: Ball, knowledge: Knowledge, where: str) -> None:
    """Refuse a prior that is farther from the reference than the adversary's knowledge."""
    if not (knowledge.free or divergence <= knowledge.most):
        refuse(f"{where} has divergence {short(divergence)} where at most {short(knowledge.most)} is allowed")


def _apart(prior: list[Shares], reference: list[Shares]) -> int | None:
    """Return a secret value at which a prior is not the reference up to rounding, or None."""
    for a, (law, cells) in enumerate(zip(prior, reference, strict=True)):
        near = (abs(law.get(t, ZERO) - rho) <= SLACK.reference * rho + SLACK.least_mass for t, rho in cells.items())
        if not all(near):
            return a
    return None


def information(channel: Channel, prior: list[Shares]) -> Ball:
    """Return I(A;Y) of a prior over (secret value, row) that sums to one."""
    rows = sorted(set().union(*prior))
    if len(rows) * len(prior) <= 2 * sum(map(len, prior)):
        # Most values come with most rows: one table serves all of them.
        table = products(channel, rows)
        joint = [table.combined([law.get(t, ZERO) for t in rows]) for law in prior]
    else:
        none = [ZERO] * channel.outputs
        joint = [products(channel, law).combined(list(law.values())) if law else none for law in prior]
    return mutual(joint, [sum(law.values(), ZERO) for law in prior])


def mutual(joint: Sequence[Sequence[Ball]], secret: Sequence[Ball]) -> Ball:
    """Return I(A;Y) of masses z(a,y), from which the law of Y is added up, and the law of A."""
    total = sum((xlogx(x) for z in joint for x in z), ZERO) - sum(map(xlogx, secret), ZERO)
    return total - sum((xlogx(sum(z, ZERO)) for z in zip(*joint, strict=True)), ZERO)


def attains(leaked: Ball, lower: float) -> None:
    """Refuse a lower bound above what the witness leaks."""
    if lower > 0 and not leaked >= lower:
        refuse(f"the witness leaks {short(leaked)}, less than the claimed lower bound {lower!r}")
