"""What is asked about a channel: the secret and the reference prior, as cells.

The secret A is any function of the dataset and the reference rho any prior: all that enters is rho(a,t), t the row of
the channel. See kernel/cells.py.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from flint import arb

from dalenius.verifier.kernel.balls import ZERO, Ball
from dalenius.verifier.kernel.cells import Knowledge, Question, Shares, masses
from dalenius.verifier.kernel.proofs import claimed
from dalenius.verifier.kernel.reading import fits, refuse, show

from .reference import UNIFORM, Reference
from .secret import Secret, joint
from .written import Channel


@dataclass(frozen=True)
class Asked:
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
    def question(self) -> Question:
        """The same in cells: rho(a, row) of the secret values with mass."""
        cells = self.merged(self.shares)
        fits(sum(map(len, cells)) * self.channel.outputs, self.secret.text)
        return Question(self.channel, cells, self.knowledge, self.lost)

    @property
    def lost(self) -> Ball:
        """I(A;Y) less what the outputs tell that were put together: see named.lost."""
        return ZERO if self.channel.lost.is_zero() else self.channel.lost * arb(len(self.shares)).log()

    def most(self, upper: float) -> float:
        """What proofs may claim: the upper bound itself, unless they are about another channel."""
        return upper

    def merged(self, prior: list[Shares]) -> list[Shares]:
        """Return a prior over (secret value, class) as one over (secret value with mass, row)."""
        return self.channel.cells([law for law, share in zip(prior, self.shares, strict=True) if share])

    def prior(self, given: object, where: str) -> list[Shares]:
        """Return masses over (secret value, class), divided by their exact sum."""
        return masses(given, self.channel.statistic.size, self.shares, where)


@dataclass(frozen=True)
class Unwritten:
    """A question about a channel that is never written out, which the module of its form checks."""

    form: Any
    asked: Any
    knowledge: Knowledge

    def check_witness(self, witness: dict[str, Any], lower: float) -> None:
        """Guarantee: some prior that the adversary may hold leaks at least `lower` of the secret."""
        self.form.check_witness(witness, self.asked, self.knowledge, lower)

    def check_proof(self, proof: dict[str, Any], where: str) -> float:
        """Return the bound that a proof claims, or refuse it, and steps that nothing would follow.

        Guarantee: I(A;Y) <= result for every prior the adversary may hold, also of records that may change places.
        """
        if not getattr(self.form, "STEPS", ()):
            no_steps(proof, where)
            return claimed(self.form.KINDS, (self.asked, self.knowledge), proof, where)
        bound: float = self.form.check_proof(self.asked, self.knowledge, proof, where)
        return bound


def no_steps(proof: dict[str, Any], where: str) -> None:
    """Refuse steps that nothing would follow; monotone rows on points read theirs."""
    if "steps" in proof and proof.get("kind") != "monotone":
        refuse(f"{where}: a proof by {show(proof.get('kind'))} of this form takes no steps")


@dataclass(frozen=True)
class Audited:
    """What an audit certificate has established: no prior with this knowledge leaks more than `upper` nats."""

    channel: Channel
    knowledge: Knowledge | None  # None against independent records
    reference: Reference
    upper: float
    reason: str
    text: str
