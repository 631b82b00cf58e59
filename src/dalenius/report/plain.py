"""Results in words for people who decide by them: no word of code, no formula, and what a number is not."""

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.problem import Adversary, in_unit
from dalenius.model.query import Query
from dalenius.model.secret import Attributes, Bins, Function, Group, Secret
from dalenius.numerics.rounding import round_up, short, written_down
from dalenius.results.audit import Audit
from dalenius.results.guess import sentences

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
ANYHOW = ", and may believe people to be related in any way"
CHECKED = "A program that shares nothing with the one that found the numbers has checked {what}."

NOT_CHECKED = "Not checked yet. The proof is in a file, the certificate, for anybody to check."
NONE_CHECKED = "Not checked yet. All proofs are in files, the certificates, for anybody to check."

# What is counted or added up, by the name of the query.
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
    "exact": "unchanged",
    "suppressed": "with numbers below {below} hidden, but not 0",
    "keep_zero": "with numbers below {below} hidden",
    "rounding": "rounded to the nearest multiple of {base}",
    "midpoint": "replaced by the middle of the {base} numbers around it",
    "random_rounding": "rounded at random to one of the two nearest multiples of {base}",
    "cell_key": "changed by a small random amount out of a table",
    "subsampled": "from a random sample of them",
    "shuffled_response": "from answers that were each changed at random and then mixed",
}


def released(mechanism: Mechanism) -> str:
    """Return what is published: `how many of 4 people say yes, with random noise added`."""
    if mechanism.name == "constant()":
        return "the same whatever the data are"
    if (known := _question(mechanism.query)) is None:
        people = "one person" if mechanism.n == 1 else f"{mechanism.n} people"
        return f"something drawn at random, with chances that depend on the data of {people}"
    return f"{known}, {_changed(str(mechanism.name))}"


def question(query: Query) -> str:
    """Return what is to be known: `how many of 4 people say yes`."""
    return _question(query) or f"something about {query.n} people"


def _question(query: Query | None) -> str | None:
    words = None if query is None else QUERIES.get(query.name)
    if words is None or query is None:
        return None
    yes = query.names[1] if len(query.names) > 1 else "yes"
    return words.format(n=query.n, yes=yes).replace(" of 1 people", " of one person")


def _changed(name: str) -> str:
    """Return what is done to the answer, the innermost call first: `with numbers below 6 hidden, then rounded to`."""
    done: list[str] = []
    for call, given in reversed(re.findall(r"(\w+)\((?=([^()]*))", name)):
        variant = next((key for key in ("midpoint", "keep_zero") if f"{key}=" in given), call)
        words = CHANGES.get(variant, OTHERWISE).format_map(dict(re.findall(r"(\w+)=(\d+)", given)))
        # A sample is taken before anything is done to its answer.
        done.insert(0 if call == "subsampled" else len(done), words)
    return ", then ".join(done) or OTHERWISE


def three_sentences(audit: Audit) -> tuple[str, ...]:
    """Return what is released, against whom, and what a guess gains."""
    return f"This release publishes {released(audit.mechanism)}.", judged([audit]), gain(audit)


def judged(audits: Sequence[Audit], what: str = "It is") -> str:
    """Return against whom a release is judged: by one audit, or by several that differ in what is known before."""
    whom = against([audit.adversary for audit in audits], audits[0].mechanism.records, audits[0].unit)
    if audits[0].priors > 1:
        whom = f"anybody who holds one of {audits[0].priors} listed beliefs about these people and knows nothing else"
    return f"{what} judged against {whom}."


def gain(audit: Audit, upper: float | None = None, where: str = "") -> str:
    """Return what a guess gains. upper: as for `sentences`; where: of several adversaries the one that is meant."""
    return guesses(sentences(audit, upper), secret_words(audit.secret), where)


def secret_words(secret: Secret | None) -> str:
    """Return what is to stay hidden."""
    if isinstance(secret, Bins):
        return "where one person's number lies"
    if isinstance(secret, Attributes):
        return "an attribute of one person" if len(secret.words) == 1 else f"{len(secret.words)} attributes"
    if isinstance(secret, Group) and len(secret.records) > 1:
        return f"the answers of {len(secret.records)} people"
    return "a property of the data" if isinstance(secret, Function) else "one person's answer"


def guesses(guessed: Sequence[str], about: str, where: str = "") -> str:
    """Return sentences on guesses as one, which names what is guessed."""
    listed = guessed or ["how much a guess may gain is not known"]
    words = "; ".join(one.replace(" right with chance", f" {about} right with chance", 1) for one in listed)
    return f"{capital(f'{where}{words}')}."


def capital(words: str) -> str:
    """Return words as a sentence begins."""
    return f"{words[0].upper()}{words[1:]}"


def against(adversaries: Sequence[Adversary], records: Sequence[int], unit: str) -> str:
    """Return the adversary without a formula, or several of one kind: the first and the last by what they know."""
    ordered = sorted(adversaries, key=lambda one: math.inf if one.free else one.knowledge)
    first, last = ordered[0], ordered[-1]
    uniform, independent = last.reference.uniform, last.kind == "independent"
    public = "" if uniform else " beyond the public frequencies"
    if independent and last.unlimited:
        if not uniform:
            return "anybody who knows of the other people no more than the public frequencies"
        return "anybody, even one who knows everything about everybody else, if people are unrelated to each other"
    unrelated = ", and takes people to be unrelated to each other" if independent else ""
    several = len(records) > 1
    rest = f"{_worth(last, records, unit)}{unrelated or (ANYHOW if several else '')}"
    people = "these people" if several else "this person"
    if len({(one.free, one.knowledge) for one in ordered}) > 1:
        knows = [_knows(one, unit) for one in (first, last)]
        return (
            f"{len(ordered)} adversaries: before the release the first knows {knows[0]} about {people}{public}, "
            f"the last {knows[1]}{rest}"
        )
    if last.free:
        return f"anybody, whatever they know before the release{unrelated}"
    if last.knowledge == 0:
        return f"anybody who knows nothing before the release{public}{unrelated}"
    return f"anybody who knows {_knows(last, unit)} about {people} before the release{public}{rest}"


def _knows(adversary: Adversary, unit: str) -> str:
    if adversary.free:
        return "everything"
    known = written_down(in_unit(adversary.knowledge, unit))
    return f"at most {known} {unit.removesuffix('s') if known == '1' else unit}" if adversary.knowledge else "nothing"


def _worth(adversary: Adversary, records: Sequence[int], unit: str) -> str:
    """Return what one person's answer is worth, which says how much a unit is; nothing where that differs."""
    measure = f" ({unit} measure information; one person's answer is worth"
    if adversary.reference.kind == "marginal":
        prices = sorted(in_unit(-math.log(p), unit) for p in adversary.reference.laws[0] if p > 0)
        return f"{measure} {short(prices[0])} to {short(prices[-1])} of them, by how rare it is)"
    if not adversary.reference.uniform or len(set(records)) > 1 or min(records, default=1) <= 1:
        return ""
    return f"{measure} {short(in_unit(math.log(records[0]), unit))} of them)"


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
    alone = len(results) == 1
    if any(result.refused for result in results):
        return "A PROOF WAS CHECKED AND IS WRONG: do not rely on this page."
    if all(result.verified for result in results):
        return CHECKED.format(what="the proof" if alone else "all proofs")
    return NOT_CHECKED if alone else NONE_CHECKED
