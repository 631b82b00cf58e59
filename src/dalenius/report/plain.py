"""An audit in words for people who decide by it: no word of code, no formula, and what the number is not."""

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.secret import Group
from dalenius.numerics.rounding import round_up, short
from dalenius.report.text import confidence_words
from dalenius.results.audit import Audit
from dalenius.results.guess import sentences
from dalenius.results.units import in_unit

if TYPE_CHECKING:
    from dalenius.results.design import Design

# What a number is not.
AVERAGE = (
    "It is an average over everything that may be published. What is published in the end may tell more than the "
    "average, and something rare much more."
)
ASSUMED = (
    "It rests on an assumption about what people know before, which no data can confirm. Whoever knows more may learn "
    "more"
)
CHANNEL = (
    "It is about the chances with which things are published, as this page states them. That a program draws with "
    "these chances, and that nothing else comes out of it, has to be shown elsewhere."
)
ALONE = "It is about one release alone. Several releases about the same people tell more together than each."
CHECKED = "A program that shares nothing with the one that found the numbers has checked {what}."

# What is asked of n people, by the name of the query.
QUERIES = {
    "count": "how many of {n} people say {yes}",
    "pairs": "how many pairs there are among {n} people who say {yes}",
    "modular_sum": "what is left of a count of {n} people after division",
    "total": "the total of a number over {n} people",
    "mean": "the mean of a number over {n} people",
    "real_sum": "the total of a number over {n} people",
    "real_mean": "the mean of a number over {n} people",
    "weighted_sum": "a weighted total over {n} people",
    "histogram": "how many of {n} people are in each group",
    "table": "how many of {n} people are in each cell of a table",
    "identity": "the answer of one person",
}
# What is done to the answer, by the name of the mechanism or of an option that changes it.
OTHERWISE = "changed as the technical part shows"
NOISE = "with random noise added"
CHANGES = {
    "geometric": NOISE,
    "laplace": NOISE,
    "gaussian": NOISE,
    "discrete_gaussian": NOISE,
    "exponential": "replaced by a random value near it",
    "symmetric": "replaced by another value at random now and then",
    "randomized_response": "as the answers of all people themselves, each changed at random now and then",
    "unary_encoding": "as the answers of all people themselves, each changed at random now and then",
    "noisy_max": "as the name of the largest group alone, after random noise",
    "constant": "not at all: the same is published whatever the data are",
    "exact": "unchanged",
    "suppressed": "with numbers from 1 to below {below} hidden",
    "keep_zero": "with numbers below {below} hidden",
    "rounding": "rounded to the nearest multiple of {base}",
    "midpoint": "replaced by the middle of the {base} numbers around it",
    "random_rounding": "rounded at random to one of the two nearest multiples of {base}",
    "cell_key": "changed by a small random amount out of a table",
    "subsampled": "from a random sample of them",
    "shuffled_response": "from answers that were each changed at random and then mixed",
}


def released(mechanism: Mechanism) -> str:
    """Say what is published: `how many of 4 people say yes, with random noise added`."""
    query, n = mechanism.query, mechanism.n
    people = "one person" if n == 1 else f"{n} people"
    asked = QUERIES.get(query.name) if query is not None else None
    if asked is None or query is None:
        return f"something drawn at random, with chances that depend on the data of {people}"
    yes = query.names[1] if len(query.names) > 1 else "yes"
    return f"{asked.format(n=n, yes=yes).replace(' of 1 people', ' of one person')}, {_changed(str(mechanism.name))}"


def _changed(name: str) -> str:
    """What is done to the answer, the innermost call first: `with numbers below 6 hidden, then rounded to ...`."""
    done: list[str] = []
    for call, given in reversed(re.findall(r"(\w+)\((?=([^()]*))", name)):
        variant = next((key for key in ("midpoint", "keep_zero") if f"{key}=" in given), call)
        words = CHANGES.get(variant, OTHERWISE).format_map(dict(re.findall(r"(\w+)=(\d+)", given)))
        # A sample is taken before anything is done to its answer.
        done.insert(0 if call == "subsampled" else len(done), words)
    return ", then ".join(done) or OTHERWISE


def three_sentences(audit: Audit) -> tuple[str, ...]:
    """What is released, against whom, and what a guess gains."""
    what = "one person's answer" if audit.secret is None else "the secret"
    # The first says what is guessed; another goes by the public frequencies.
    guess = [one.replace(" right with chance", f" {what} right with chance", 1) for one in sentences(audit)]
    gain = "; ".join(guess) or "how much a guess may gain is not known"
    gain = f"{gain[0].upper()}{gain[1:]}"
    return (
        f"What is published is {released(audit.mechanism)}.",
        f"It is judged against {_whom(audit)}.",
        f"{gain}{confidence_words(audit)}.",
    )


def _whom(audit: Audit) -> str:
    """The adversary, without a formula."""
    public = "" if audit.reference.uniform else " beyond the public frequencies"
    if audit.adversary.kind == "independent" and audit.adversary.unlimited:
        if not audit.reference.uniform:
            return "anybody who knows of the other people no more than the public frequencies"
        return "anybody, even one who knows everything about everybody else, if people are unrelated to each other"
    apart = " and takes people to be unrelated to each other" if audit.adversary.kind == "independent" else ""
    if audit.adversary.free:
        return f"anybody, whatever they know before{apart}"
    if audit.adversary.knowledge == 0:
        return f"anybody who knows nothing before{public}{apart}"
    return (
        f"anybody who before it knows at most {short(audit.knowledge)} {audit.unit} about these people together"
        f"{public}{_as_much(audit)}, however they believe people to be related{apart}"
    )


def _as_much(audit: Audit) -> str:
    """How many people's answers such knowledge is worth, where all values are equally likely; else what one is."""
    records = set(audit.mechanism.records)
    if audit.reference.kind == "marginal":
        prices = sorted(in_unit(-math.log(p), audit.unit) for p in audit.reference.laws[0] if p > 0)
        return f" (to be sure of one person's answer is {short(prices[0])} to {short(prices[-1])} {audit.unit})"
    if not audit.reference.uniform or len(records) > 1 or audit.mechanism.as_real_records is not None:
        return ""
    worth = audit.adversary.knowledge / math.log(records.pop())
    if worth < 1:
        return f", less than one person's answer for certain ({short(audit.knowledge / worth)} {audit.unit})"
    return f", as much as the answers of {math.floor(10 * worth) / 10:g} people for certain"


def what_it_is_not(audit: Audit | None = None, *, alone: bool = True) -> tuple[str, ...]:
    """What nobody may read into a number. audit: what it says of a greater knowledge; alone: it is of one release."""
    more = ""
    if audit is not None and audit.extremes is not None and audit.proved == "both" and not audit.adversary.free:
        most, held = audit.extremes.unconstrained[1], _held(audit)
        more = (
            f", and without any limit up to {round_up(most, 3)} {audit.unit}" if most < held else ", up to everything"
        )
    return (AVERAGE, f"{ASSUMED}{more}.", CHANNEL, *([ALONE] if alone else []))


def _held(audit: Audit) -> float:
    """All that one record, or the records asked about, can hold."""
    records = audit.mechanism.records
    members = audit.secret.records if isinstance(audit.secret, Group) else ()
    most = sum(math.log(records[i]) for i in members) or math.log(max(records))
    return in_unit(most, audit.unit) if audit.mechanism.as_real_records is None else math.inf


def proof_words(results: "Sequence[Audit | Design]") -> str:
    """Say whether the proofs were checked."""
    what = "the proof" if len(results) == 1 else "all proofs"
    if any(result.refused for result in results):
        return "A PROOF WAS CHECKED AND IS WRONG: do not rely on this page."
    if all(result.verified for result in results):
        return CHECKED.format(what=what)
    return f"Not checked yet: the certificate at the end of this page holds {what}, for anybody to check."
