"""The account of a ledger: how much its releases have leaked so far."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from dalenius.certificates.certificate import Certificate
from dalenius.numerics.rounding import outward, round_down
from dalenius.report.text import FROM_FILE, Facts, checked_words, from_file
from dalenius.results.audit import Audit
from dalenius.results.guess import sentence, sentences
from dalenius.results.result import Shown, finite

Bound = Literal["audit", "one release", "chain rule", "contraction", "people", "trivial"]

HOW: dict[str, str] = {
    "audit": "by an audit of all releases together",
    "one release": "a sound bound: an audit in which one release stands for those of one sum, and tells no less",
    "chain rule": "a sound bound: what an audited part leaks, plus the most that the others can leak",
    "contraction": "a sound bound: what the noise of all releases together leaves of the adversary's knowledge",
    "people": "a sound bound: what each release leaks of a record given all others, plus what ties the record to them",
    "trivial": "only the trivial bound, log|A|: the releases may leak everything about a record",
}
# What checks the certificate of an account: the file of a ledger has none.
BY_LEDGER = "account().audit.verify() or dalenius ledger show FILE --verify"
TRUSTED = (
    "earlier numbers are from a file without certificates; Ledger.load(path, verify=True) "
    "(dalenius ledger show FILE --verify) computes them again"
)


@dataclass(frozen=True, eq=False, repr=False)
class Account(Shown):
    """lower <= max_i max I(X_i; Y_1..Y_k) <= upper after k releases, over the priors of the adversary, in `unit`.

    Attributes:
        releases: k.
        bound: how `upper` was proved: by an "audit" of the whole composition, by an audit in which "one release" stands
            for those of one sum (docs/mathematics.md 4.14), by the "chain rule", by the "contraction" of all noise
            (docs/proofs/product-laws.md 7), by "people" (what each release leaks of a record given all others), or
            "trivial", log|A|.
        added: how much the last release has added to the leakage, at least and at most.
        entropy_left: the least average entropy H(X | Y_1..Y_k) that such an adversary still has; an average over
            outputs, not for every output. nan with a reference prior, from which entropy does not count.
        audit: of the composition, where one was made; a ledger read from a file has none until the next release.
        loaded: whether the numbers rest on a file that was read without computing them again; reports then say so.

    Example:
        >>> query = dl.queries.count(n=4)
        >>> account = dl.Ledger(query, knowledge=0.5).release(dl.mechanisms.geometric(query, epsilon=0.3))
        >>> account.bound, account.releases
        ('audit', 1)
    """

    releases: int
    unit: str
    lower: float
    upper: float
    bound: Bound
    added: tuple[float, float]
    entropy_left: float
    audit: Audit | None = None
    loaded: bool = False
    joint: Certificate | None = None

    @property
    def certificate(self) -> Certificate | None:
        """The certificate of all releases together, which `verify` re-checks; None if `upper` is a sum of bounds."""
        if self.joint is not None:
            return self.joint
        return self.audit.certificate if self.audit is not None and self.exact else None

    @property
    def exact(self) -> bool:
        """Whether the bracket is an audit of the whole composition."""
        return self.bound == "audit"

    @property
    def gap(self) -> float:
        """How far apart the bounds are."""
        return self.upper - self.lower

    @property
    def computed(self) -> bool:
        """Whether the bracket was computed here, whatever the numbers of earlier releases rest on."""
        return not self.loaded or (self.exact and self.audit is not None and self.lower <= self.audit.lower)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        keys = ("releases", "unit", "lower", "upper", "bound", "exact")
        left = finite(self.entropy_left)
        return {**{key: getattr(self, key) for key in keys}, "entropy_left": left, "added": list(self.added)}

    def __repr__(self) -> str:
        left = "" if math.isnan(self.entropy_left) else f"; entropy left at least {round_down(self.entropy_left)}"
        return (
            f"<Account of {counted(self.releases)}: {bracket(self.lower, self.upper)} {self.unit}, by {self.bound}"
            f"{left}{f', {FROM_FILE}' if self.loaded else ''}>"
        )


def counted(many: int) -> str:
    """Return `1 release` or `2 releases`."""
    return "1 release" if many == 1 else f"{many} releases"


def bracket(lower: float, upper: float) -> str:
    """Return both bounds in words, digits rounded outward."""
    return " <= leakage <= ".join(outward(lower, upper))


def _how(account: Account) -> str:
    """How the upper bound was found; and whether its certificate was checked, where there is one."""
    proof = f"; {checked_words(account.audit, by=BY_LEDGER)}" if account.audit is not None and account.exact else ""
    return f"{HOW[account.bound]}{proof}"


def account_facts(account: Account, releases: Sequence[str] = (), guessed: Sequence[str] = ()) -> Facts:
    """Return what an account says as pairs of a heading and lines of text.

    guessed: what it means for a guess, where the records are known.
    """
    if not guessed:
        audit, upper = account.audit, account.upper
        guessed = [sentence(upper, unit=account.unit)] if audit is None else sentences(audit, upper)
    low, high = outward(*account.added)
    how, mark, here = _how(account), partial(from_file, account), account.computed
    left = [
        *mark([f"at least {round_down(account.entropy_left)} {account.unit} of entropy about the data"]),
        "an average over outputs, not for every output",
    ]
    return [
        ("Released", [counted(account.releases), *releases]),
        (
            "Leaked",
            mark([f"{bracket(account.lower, account.upper)} {account.unit} about a record", how], certified=here),
        ),
        *([("Guess", mark(list(guessed), certified=here))] if account.releases else []),
        *([("Added", mark([f"{low} to {high} {account.unit} by the last release"]))] if account.releases else []),
        *([] if math.isnan(account.entropy_left) else [("Left", left)]),
        *([("Loaded", [TRUSTED])] if account.loaded else []),
    ]
