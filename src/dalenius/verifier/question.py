"""What is asked about a channel: the secret, which priors an adversary may hold, and what a prior leaks.

The secret A is any function of the dataset and the reference rho any prior: all that enters is rho(a,t), t the row of
the channel. Pairs (a,t) without mass, and secret values without any, are left out, as no prior with D(pi || rho) finite
has mass there; inside a pair a prior is rho(x|a,t), since any other with the same masses leaks as much and is farther.
"""

from dataclasses import dataclass
from functools import cached_property

from flint import arb

from .balls import ZERO, Ball, short, xlogx
from .channels.channel import Channel
from .channels.counting import Shares
from .channels.ordering import products
from .limits import SLACK, largest
from .reading import numbers, refuse, sequence
from .reference import UNIFORM, Reference
from .secret import Secret, joint


@dataclass(frozen=True)
class Knowledge:
    """D(prior || reference) <= most; `none` when that is exactly 0, `free` when every prior complies."""

    most: Ball
    none: bool
    free: bool


@dataclass(frozen=True)
class Question:
    """What a channel tells about a secret, and how much more than the reference an adversary may know."""

    channel: Channel
    secret: Secret
    knowledge: Knowledge
    reference: Reference = UNIFORM

    @cached_property
    def shares(self) -> list[Shares]:
        """rho(a, class), also of secret values a without mass."""
        return joint(self.channel.statistic, self.secret, self.reference)

    @cached_property
    def cells(self) -> list[dict[int, Ball]]:
        """rho(a, row) of the secret values with mass."""
        cells = self.merged(self.shares)
        if sum(map(len, cells)) * self.channel.outputs > largest().secret_entries:
            refuse(f"{self.secret.text} has too many cells to check; at most {largest().secret_entries} probabilities")
        return cells

    @property
    def lost(self) -> Ball:
        """I(A;Y) less what the outputs tell that were put together: see named.lost."""
        return ZERO if self.channel.lost.is_zero() else self.channel.lost * arb(len(self.shares)).log()

    def merged(self, prior: list[Shares]) -> list[dict[int, Ball]]:
        """Return a prior over (secret value, class) as one over (secret value with mass, row)."""
        return self.channel.cells([law for law, share in zip(prior, self.shares, strict=True) if share])


@dataclass(frozen=True)
class Audited:
    """What an audit certificate has established: no prior with this knowledge leaks more than `upper` nats."""

    channel: Channel
    knowledge: Knowledge
    reference: Reference
    upper: float
    reason: str
    text: str


def prior_of(value: object, question: Question, where: str) -> list[Shares]:
    """Return masses over (secret value, class), divided by their exact sum."""
    masses = sequence(value, f"masses of {where}", len(question.shares))
    prior: list[Shares] = []
    for a, share in enumerate(question.shares):
        listed = numbers(masses[a], question.channel.statistic.size, f"masses of {where}, value {a}", low=0.0)
        law = {t: arb(m) for t, m in enumerate(listed) if m > 0}
        if not law.keys() <= share.keys():
            t = min(law.keys() - share.keys())
            refuse(f"{where} has mass on value {a}, class {t}, where there is no dataset of positive reference")
        prior.append(law)
    total = sum((m for law in prior for m in law.values()), ZERO)
    if not total > 0:
        refuse(f"{where} has no mass")
    return [{t: m / total for t, m in law.items()} for law in prior]


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
            refuse(f"{where} has divergence {short(divergence)} where at most {short(knowledge.most)} is allowed")
    return prior


def _apart(prior: list[Shares], reference: list[Shares]) -> int | None:
    """Return a secret value at which a prior is not the reference up to rounding, or None."""
    for a, (law, cells) in enumerate(zip(prior, reference, strict=True)):
        near = (abs(law.get(t, ZERO) - rho) <= SLACK.reference * rho + SLACK.least_mass for t, rho in cells.items())
        if not all(near):
            return a
    return None


def information(channel: Channel, prior: list[dict[int, Ball]]) -> Ball:
    """Return I(A;Y) of a prior over (secret value, row) that sums to one."""
    none = [ZERO] * channel.outputs
    joint = [products(channel, law).combined(list(law.values())) if law else none for law in prior]
    total = sum((xlogx(x) for z in joint for x in z), ZERO)
    total -= sum((xlogx(sum(law.values(), ZERO)) for law in prior), ZERO)
    return total - sum((xlogx(sum(z, ZERO)) for z in zip(*joint, strict=True)), ZERO)
