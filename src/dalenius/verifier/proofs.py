"""Proofs of an upper bound for one secret of a channel that is written out: steps, and then a kind of the kernel.

Every step leads to a question in cells that leaks no less (see its file), so that steps compose. A grid of rows comes
first, as it needs the rows as they were given.

`rested_on` says which parts of the verifier a certificate rested on: the kernel, and what else its words name.
"""

from collections.abc import Callable, Iterator
from typing import Any

from flint import arb

from .forms.written import Asked, Channel, numeric
from .forms.written import rebuild as rebuild  # noqa: PLC0414 - of this form
from .kernel import order
from .kernel.balls import ONE, ZERO, Ball
from .kernel.cells import Question, attains, held, information
from .kernel.limits import tick
from .kernel.proofs import KINDS, compare, shown
from .kernel.reading import DESIGN, JOINT, Refused, field, mapping, number, refuse, sequence, show
from .special import beside, decoy
from .steps import grid, window

# Steps to an easier question in cells.
STEPS: dict[str, Callable[[Question, dict[str, Any]], Question]] = {
    "grid": grid.step,
    "window": window.step,
    "order": order.step,
}


class Written(Asked):
    """A question about a channel whose rows are written out."""

    def check_witness(self, witness: dict[str, Any], lower: float) -> None:
        """Guarantee: some prior that the adversary may hold leaks at least `lower` of the secret.

        Classes that share a row are put together: the prior is then the reference inside.
        """
        given = self.merged(self.prior(field(witness, "masses", "the witness"), "the witness"))
        prior = held(given, self.question.cells, self.knowledge, "the witness")
        attains(information(self.channel, prior), lower)

    def check_proof(self, proof: dict[str, Any], where: str) -> float:
        """Return the bound that a proof claims, or refuse it."""
        return check(self, proof, where)


def check(asked: Asked, proof: dict[str, Any], where: str) -> float:
    """Return the bound that a proof claims, or refuse it.

    Guarantee: I(A;Y) <= result for every prior the adversary may hold. What outputs that were put together may tell
    beside their sum is added to every bound.
    """
    upper = number(field(proof, "upper", where), f"'upper' of {where}")
    kind, known = field(proof, "kind", where), {**KINDS, **OTHERS}
    try:
        if not isinstance(kind, str) or kind not in known:
            refuse(f"its kind is none of {', '.join(known)}")
        steps = [mapping(step, "a step") for step in sequence(proof.get("steps", ()), "the steps")]
        if kind in KINDS:
            shown(_after(asked.question, steps), kind, proof, upper, where)
        elif steps:
            refuse(f"a proof by {kind} takes no steps")
        else:
            compare(OTHERS[kind](asked, proof, where) + asked.lost, upper, where)
    except Refused as reason:
        text = str(reason)
        raise Refused(text if text.startswith(where) else f"{where}: {text}") from None
    return upper


def _after(question: Question, steps: list[dict[str, Any]]) -> Question:
    """Return the question that some steps lead to."""
    for step in steps:
        name = field(step, "step", "a step")
        if not isinstance(name, str) or name not in STEPS:
            refuse(f"a step is {show(name)}, which is none of {', '.join(STEPS)}")
        question = STEPS[name](question, step)
    return question


def _mixture(asked: Asked, proof: dict[str, Any], where: str) -> Ball:
    """Return the bound of a channel that is a mixture of others, each with a proof of its own, or constant.

    Let m = sum_j c_j q_j, c a law, L(q_j) <= U_j, and let every entry of the channel q be at least 1 - b times that of
    m. I is convex in the channel, so that L(m) <= sum_j c_j U_j; and q = (1-b) m + b t for a channel t, so that
    L(q) <= L(m) + b log|A| (docs/mathematics.md, 6.5). A channel whose rows are all equal leaks nothing.
    """
    listed = [mapping(part, f"part {j}") for j, part in enumerate(sequence(field(proof, "parts", where), "the parts"))]
    shares = [arb(number(field(part, "share", f"part {j}"), "a share", low=0.0)) for j, part in enumerate(listed)]
    if not sum(shares, ZERO) == ONE:  # noqa: SIM201 - balls are unequal only where that is certain
        refuse("the shares of its parts do not sum to one exactly")
    channels = [_part(asked.channel, part, f"part {j}") for j, part in enumerate(listed)]
    bound = _left_out(asked.channel, shares, channels) * arb(len(asked.shares)).log()
    for j, (share, part, channel) in enumerate(zip(shares, listed, channels, strict=True)):
        if len(channel.rows) > 1:
            inner = mapping(field(part, "proof", f"part {j}"), f"the proof of part {j}")
            if inner.get("kind") == "mixture":
                refuse(f"part {j} is a mixture itself; give its parts")
            question = Asked(channel, asked.secret, asked.knowledge, asked.reference)
            bound += share * check(question, inner, f"part {j}")
    return bound


def _part(whole: Channel, part: dict[str, Any], where: str) -> Channel:
    rows = sequence(field(part, "rows", where), f"rows of {where}", whole.statistic.size)
    channel = numeric(whole.statistic, rows, where)
    if channel.outputs != whole.outputs:
        refuse(f"{where} has {channel.outputs} outputs, not {whole.outputs}")
    return channel


def _left_out(whole: Channel, shares: list[Ball], parts: list[Channel]) -> Ball:
    """Return b, at least 1 - q/m wherever the mixture m has mass."""
    most = ZERO
    for c, row in enumerate(whole.row_of):
        tick()
        rows = [part.rows[part.row_of[c]] for part in parts]
        for q, *entries in zip(whole.rows[row], *rows, strict=True):
            m = sum((share * p for share, p in zip(shares, entries, strict=True)), ZERO)
            if not m.is_zero():
                most = most.max(1 - q / m)
    return most


# Kinds that need more than cells.
OTHERS: dict[str, Callable[[Asked, dict[str, Any], str], Ball]] = {
    "beside": beside.bound,
    "decoy": decoy.bound,
    "mixture": _mixture,
}


# Kinds of proof and of witness that are checked in `special`, and mixtures.
SPECIAL = ("counted", "moved", "tied", "product", "looks", "bellman", "beside", "power", "decoy", "mixture")
STEP_NAMES = ("grid", "window", "order", "points", "cone", "mean")


def rested_on(content: dict[str, Any]) -> str:
    """Return "kernel", and the names of forms, steps and special bounds that a verified certificate used beside it."""
    return ", ".join(["kernel", *dict.fromkeys(_named(content))])


def _named(content: dict[str, Any]) -> Iterator[str]:
    if content["format"] == JOINT:
        yield "joint"
        for release in content["releases"]:
            yield from _named(release["audit"])
    elif content["format"] == DESIGN:
        yield "design"
        yield from _named(content["audit"])
    else:
        yield from _of_audit(content)


def _of_audit(content: dict[str, Any]) -> Iterator[str]:
    """Only what was checked is named: steps stand in proofs, audits in the parts of real-valued records."""
    if content["form"] != "rows":
        yield content["form"]
    if {"query", "mechanism", "releases"} & set(content["problem"]):
        yield "names"
    if "independent" in content["adversary"]:
        yield "independent"
    for other in content.get("priors", ()):
        yield from _of_audit(other)
    witness = content["witness"]
    if witness["kind"] in SPECIAL:
        yield witness["kind"]
    for proof in content["proofs"]:
        yield from _of_proof(proof)
    if content["form"] == "real-records":
        yield from (name for part in (witness, *content["proofs"]) if "audit" in part for name in _named(part["audit"]))


def _of_proof(proof: dict[str, Any]) -> Iterator[str]:
    yield from (step["step"] for step in proof.get("steps", ()) if step["step"] in STEP_NAMES)
    if proof["kind"] in SPECIAL:
        yield proof["kind"]
    if proof["kind"] == "mixture":
        # What stands in a part whose rows are all equal was not read.
        read = (part["proof"] for part in proof["parts"] if len(set(map(tuple, part["rows"]))) > 1)
        yield from (name for inner in read for name in _of_proof(inner))
