"""A ledger of releases about the same data: what has leaked so far, and what one more release would add."""

import json
import math
import os
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, get_args

from dalenius import api
from dalenius.errors import InputError
from dalenius.model import checks, storage
from dalenius.model.adversary import Adversary
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.query import Query
from dalenius.numerics.rounding import decimals, round_down, round_up, short
from dalenius.options import Options, check_named
from dalenius.report.text import FROM_FILE, Facts, as_html, checked_words, from_file, problem, stacked
from dalenius.results.audit import Audit
from dalenius.results.units import NATS_PER_UNIT, in_unit
from dalenius.search.deadline import Deadline
from dalenius.settings import DEFAULT
from dalenius.tools.composition import (
    MOST_ENTRIES,
    Group,
    information_bound,
    joint,
    joint_size,
    records_text,
    same_channel,
)

Bound = Literal["audit", "chain rule", "trivial"]

FORMAT = "dalenius/ledger"
VERSION = 1
ROUNDING = 1e-14  # relative: more than sums of a few thousand numbers lose
HOW: dict[str, str] = {
    "audit": "by an audit of all releases together",
    "chain rule": "a sound bound: what an audited part leaks, plus what the others can tell at all",
    "trivial": "only the trivial bound, log|A|: the releases may tell everything about a record",
}
TRUSTED = (
    "read from a file, whose numbers were not computed again and which has no certificate; "
    "Ledger.load(path, verify=True) computes them"
)


@dataclass(frozen=True, eq=False)
class Release:
    """A mechanism that was run; `capacity` bounds what it can tell about the whole dataset, I(X;Y), in the unit."""

    name: str
    mechanism: Mechanism
    capacity: float


@dataclass(frozen=True, eq=False, repr=False)
class Account:
    """lower <= max_i max { I(X_i; Y_1..Y_k) : H(X) >= b } <= upper after k releases, in `unit`.

    bound: how upper was proved: by an "audit" of the whole composition, by the "chain rule", or "trivial", log|A|.
    added: how much the last release has added to the leakage, at least and at most.
    entropy_left: the least average entropy H(X | Y_1..Y_k) that such an adversary still has; an average over
    outputs, not for every output.
    audit: of the composition, where one was made; a ledger read from a file has none until the next release.
    loaded: whether the numbers rest on a file that was read without computing them again; reports then say so.
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

    @property
    def exact(self) -> bool:
        """Whether the bracket is an audit of the whole composition."""
        return self.bound == "audit"

    @property
    def gap(self) -> float:
        """How far apart the bounds are."""
        return self.upper - self.lower

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain data."""
        keys = ("releases", "unit", "lower", "upper", "bound", "exact", "entropy_left")
        return {**{key: getattr(self, key) for key in keys}, "added": list(self.added)}

    def summary(self) -> str:
        """Return the account in plain words, digits rounded outward."""
        return stacked(_facts(self))

    def __repr__(self) -> str:
        return (
            f"<Account of {_counted(self.releases)}: {_bracket(self.lower, self.upper)} {self.unit}, by {self.bound}; "
            f"entropy left at least {round_down(self.entropy_left)}{f', {FROM_FILE}' if self.loaded else ''}>"
        )

    def _repr_html_(self) -> str:
        return as_html(_facts(self))


class Ledger:
    """What has been released about one dataset, against adversaries with H(X) >= b.

    data: a query, or the alphabet size of each record. Give exactly one of `entropy` and `knowledge`, in `unit`;
    `tolerance` and `time_limit` (seconds) are those of one account; joint releases of up to `most_entries` rows x
    outputs are built and audited, larger ones are bounded (`account`).

    An account is about the mechanisms listed, run independently. One that was chosen after a look at earlier outputs
    is accounted for as if it had been fixed beforehand.
    """

    # Seconds that every audit has at least.
    least_seconds: ClassVar[float] = 0.05

    def __init__(  # noqa: PLR0913 - the public surface
        self,
        data: Query | Iterable[int],
        *bare: object,
        entropy: float | None = None,
        knowledge: float | None = None,
        unit: str = "nats",
        tolerance: float = 1e-4,
        time_limit: float = 60.0,
        most_entries: int = MOST_ENTRIES,
    ) -> None:
        """Begin an empty ledger."""
        check_named(bare, "dl.Ledger(data")
        self.records = data.records if isinstance(data, Query) else checks.alphabets(data)
        self.adversary = Adversary.from_user(self.records, entropy=entropy, knowledge=knowledge, unit=unit)
        given = entropy if knowledge is None else knowledge
        self._given = {self.adversary.given: math.inf if given is None else float(given)}
        self.unit = unit
        self.tolerance = checks.real("tolerance", tolerance, 0.0, math.inf, open_low=True)
        self.time_limit = checks.real("time_limit", time_limit, 0.0, math.inf, open_low=True)
        self.most_entries = min(MOST_ENTRIES, checks.whole("most_entries", most_entries))
        self._releases: tuple[Release, ...] = ()
        self._account = Account(0, unit, 0.0, 0.0, "audit", (0.0, 0.0), self._left(0.0))

    @property
    def releases(self) -> tuple[Release, ...]:
        """What has been released, in order."""
        return self._releases

    def account(self) -> Account:
        """Return what has leaked so far.

        Guarantee: lower <= max { I(A;Y_1..Y_k) : H(X) >= b } <= upper for the worst record A, with upper the audit of
        all releases together where that fits and closes, and otherwise the least of that, of log|A| and of

            L_E(b) + sum of C_j(b) over the releases j outside E,

        for E the releases before the last one, and for E as many as can be audited together. L_E is the leakage
        of E, C_j(b) bounds I(X;Y_j) over priors with H(X) >= b. Proof: outputs are independent given X, so

            I(A;Y_E,Y_R) = I(A;Y_E) + I(A;Y_R|Y_E) <= L_E(b) + I(X;Y_R|Y_E),
            I(X;Y_R|Y_E) = H(Y_R|Y_E) - H(Y_R|X) <= H(Y_R) - H(Y_R|X) <= sum_j H(Y_j) - H(Y_j|X) <= sum_j C_j(b).

        lower: more outputs never tell less, so any part's lower bound is one of the whole. entropy_left:
        H(X|Y) = H(X) - I(X;Y) >= b - C_E(b) - sum_j C_j(b), by the same steps.
        """
        return self._account

    def release(self, mechanism: Mechanism, name: str | None = None) -> Account:
        """Record that a mechanism has been run; return the new account."""
        new = self._checked(mechanism, name)
        self._account = self._after(new)
        self._releases = (*self._releases, new)
        return self._account

    def what_if(self, mechanism: Mechanism) -> Account:
        """Return the account there would be after one more release; nothing is recorded."""
        return self._after(self._checked(mechanism, None))

    def _checked(self, mechanism: Mechanism, name: str | None) -> Release:
        self._check_data(mechanism)
        if name is not None and not isinstance(name, str):
            message = f"name = {name!r} is not a text"
            raise InputError(message)
        capacity = self._capacity(mechanism, Deadline(self.time_limit))
        return Release(name or problem(mechanism).split(":")[0], mechanism, capacity)

    def _check_data(self, mechanism: Mechanism) -> None:
        if not isinstance(mechanism, Mechanism):
            message = f"a release is a Mechanism, not {type(mechanism).__name__}; see dl.mechanisms"
            raise InputError(message)
        if mechanism.records != self.records:
            message = (
                f"the mechanism is over {records_text(mechanism.records)}, the ledger over "
                f"{records_text(self.records)}; keep one ledger for each dataset"
            )
            raise InputError(message)

    def _capacity(self, mechanism: Mechanism, deadline: Deadline) -> float:
        bound = information_bound(mechanism, self.adversary.knowledge, deadline)
        return self._in_unit(bound)

    def _in_unit(self, nats: float) -> float:
        """Guarantee: result >= nats in the unit, also where a few sums were rounded before."""
        return nats / NATS_PER_UNIT[self.unit] * (1 + ROUNDING)

    def _after(self, new: Release) -> Account:
        """The account after one more release; see `account` for what is proved."""
        before, releases, deadline = self._account, (*self._releases, new), Deadline(self.time_limit)
        groups = _grouped(releases)
        part = groups if self._fits(groups, DEFAULT.portfolio.most_outputs) else self._auditable(groups)
        lower, told = before.lower, math.fsum(r.capacity for r in releases)
        ways: list[tuple[float, Bound]] = [
            (self._in_unit(math.log(max(self.records))), "trivial"),
            ((before.upper + new.capacity) * (1 + ROUNDING), "chain rule"),
        ]
        whole = None
        if self._fits(groups):
            whole = self._audit(groups, deadline.left if part == groups else deadline.left / 2)
            lower, told = max(lower, whole.lower), min(told, self._capacity(whole.mechanism, deadline))
            ways = [*([] if whole.closed else ways), (whole.upper, "audit")]
        if whole is None or (part != groups and not whole.closed):
            some, outside = self._audit(part, deadline.left), _outside(releases, part)
            lower, told = max(lower, some.lower), min(told, self._capacity(some.mechanism, deadline) + outside)
            ways.append(((some.upper + outside) * (1 + ROUNDING), "chain rule"))
        upper, bound = min(ways)
        added = max(0.0, lower - before.upper), max(0.0, upper - before.lower)
        left = self._left(told)
        return Account(len(releases), self.unit, lower, upper, bound, added, left, whole, before.loaded)

    def _audit(self, groups: Sequence[Group], seconds: float) -> Audit:
        options = Options.from_user(
            unit=self.unit,
            tolerance=self.tolerance,
            time_limit=max(self.least_seconds, seconds),
            seed=0,
            progress=False,
        )
        return api.solve(options.audit(joint(groups), self.adversary), options)

    def _fits(self, groups: Sequence[Group], most_outputs: int = MOST_ENTRIES) -> bool:
        """Whether a joint release may be built; a single one always may."""
        if len(groups) == 1 and groups[0][1] == 1:
            return True
        try:
            _, outputs, entries = joint_size(groups)
        except InputError:  # too many datasets for a common table, or too many count vectors
            return False
        return outputs <= most_outputs and entries <= self.most_entries

    def _auditable(self, groups: Sequence[Group]) -> list[Group]:
        """Return as many releases as an audit can bound together, those first that can tell most."""
        chosen: list[Group] = []
        for mechanism, often in groups:
            many = bisect_left(range(1, often + 1), x=True, key=partial(self._too_much, chosen, mechanism))
            chosen += [(mechanism, many)] if many else []
        return chosen

    def _too_much(self, chosen: Sequence[Group], mechanism: Mechanism, often: int) -> bool:
        return not self._fits([*chosen, (mechanism, often)], DEFAULT.portfolio.most_outputs)

    def _left(self, told: float) -> float:
        """Return b - told, rounded down, in the unit."""
        b = in_unit(self.adversary.entropy, self.unit)
        return max(0.0, b * (1 - ROUNDING) - told * (1 + ROUNDING)) if told else b

    def summary(self) -> str:
        """Return what was released and the account, in plain words."""
        return stacked(self._facts())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write releases and account as JSON; the file appears whole or not at all."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "records": list(self.records),
            "adversary": {key: None if value == math.inf else value for key, value in self._given.items()},
            **{key: getattr(self, key) for key in ("unit", "tolerance", "time_limit", "most_entries")},
            "releases": [
                {"name": r.name, "mechanism": json.loads(storage.mechanism_text(r.mechanism)), "capacity": r.capacity}
                for r in self._releases
            ],
            "account": self._account.to_dict(),
        }
        storage.write(storage.path_of(path), (json.dumps(content, allow_nan=False) + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False) -> "Ledger":
        """Read what save wrote.

        A ledger has no certificate. By default the account and what each release can tell at most are trusted as the
        file states them, later accounts build on them, and reports say that they are from the file. With verify=True
        nothing but the list of releases is trusted: every number is computed again, which takes as long as it did.
        """
        if not isinstance(verify, bool):
            message = f"verify = {verify!r} must be True or False"
            raise InputError(message)
        content = storage.read_format(storage.path_of(path), "a saved ledger", FORMAT, VERSION)
        try:
            return cls._read(content, verify=verify)
        except KeyError as error:
            message = f"{path} is not a whole ledger: {error} is missing"
            raise InputError(message) from error
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RuntimeError) as error:
            message = f"{path} is not a sound ledger: {error}"
            raise InputError(message) from error

    @classmethod
    def _read(cls, content: dict[str, Any], *, verify: bool) -> "Ledger":
        given: dict[str, Any] = {k: math.inf if v is None else v for k, v in content["adversary"].items()}
        settings = {key: content[key] for key in ("unit", "tolerance", "time_limit", "most_entries")}
        ledger = cls(content["records"], **given, **settings)
        for entry in content["releases"]:
            mechanism = storage.mechanism_from(entry["mechanism"])
            ledger._check_data(mechanism)
            capacity = checks.real("capacity", entry["capacity"], 0.0, math.inf)
            if not isinstance(entry["name"], str):
                message = f"the name of a release is {entry['name']!r}, not a text"
                raise InputError(message)
            if verify:
                ledger.release(mechanism, entry["name"])
            else:
                ledger._releases += (Release(entry["name"], mechanism, capacity),)
        account = _account(content["account"], ledger)
        ledger._account = ledger.account() if verify else account
        return ledger

    def __repr__(self) -> str:
        return f"<Ledger over {records_text(self.records)}, {self._knows()}: {self._account!r}>"

    def _repr_html_(self) -> str:
        return as_html(self._facts())

    def _knows(self) -> str:
        (given, value), most = *self._given.items(), in_unit(checks.log_universe(self.records), self.unit)
        limit = "H(X) >= " if given == "entropy" else "knowledge <= "
        return f"{limit}{value:.6g} of {short(most)} {self.unit}"

    def _facts(self) -> Facts:
        shown = [
            f"{k}. {r.name}: at most {round_up(r.capacity)} {self.unit} about the data"
            for k, r in enumerate(self._releases, 1)
        ]
        shown = from_file(self._account, shown)
        return [("Data", [records_text(self.records)]), ("Adversary", [self._knows()]), *_facts(self._account, shown)]


def _account(content: dict[str, Any], ledger: Ledger, loose: float = 1e-9) -> Account:
    """The account of a file, its numbers checked as far as they can be without computing them.

    They may contradict each other by `loose`: rounding and the margins of audits.
    """
    lower, upper, left, least, most = (
        checks.real("a number of the account", x, 0.0, math.inf)
        for x in (content["lower"], content["upper"], content["entropy_left"], *content["added"])
    )
    bound, many = content["bound"], len(ledger.releases)
    sound = bound in get_args(Bound) and content["releases"] == many and content["unit"] == ledger.unit
    told = math.fsum(release.capacity for release in ledger.releases)
    trivial = math.log(max(ledger.records)) / NATS_PER_UNIT[ledger.unit]
    highest = in_unit(ledger.adversary.entropy, ledger.unit)
    crossed = lower > upper or least > most or (not many and (upper > 0 or most > 0))
    beyond = upper > (trivial + loose) * (1 + loose) or most > (upper + loose) * (1 + loose)
    beyond = beyond or lower > (told + loose) * (1 + loose) or left > highest * (1 + loose)
    if not sound or crossed or beyond:
        message = f"its account is not one of {_counted(many)}"
        raise InputError(message)
    return Account(many, ledger.unit, lower, upper, bound, (least, most), left, loaded=True)


def _grouped(releases: Sequence[Release]) -> list[Group]:
    """Each channel with how often it was released; those first that can tell most."""
    groups: list[Group] = []
    for r in sorted(releases, key=lambda r: -r.capacity):
        place = next((i for i, (m, _) in enumerate(groups) if same_channel(m, r.mechanism)), len(groups))
        groups[place : place + 1] = [(r.mechanism, groups[place][1] + 1 if place < len(groups) else 1)]
    return groups


def _outside(releases: Sequence[Release], part: Sequence[Group]) -> float:
    """Return the capacities of the releases outside a part, added up."""
    left = [mechanism for mechanism, often in part for _ in range(often)]
    rest = []
    for r in releases:
        place = next((i for i, m in enumerate(left) if same_channel(m, r.mechanism)), None)
        if place is None:
            rest.append(r.capacity)
        else:
            left.pop(place)
    return math.fsum(rest)


def _counted(many: int) -> str:
    return "1 release" if many == 1 else f"{many} releases"


def _bracket(lower: float, upper: float) -> str:
    digits = decimals(upper)
    return f"{round_down(lower, digits)} <= leakage <= {round_up(upper, digits)}"


def _how(account: Account) -> str:
    """How the upper bound was found; and whether its certificate was checked, where there is one."""
    proof = f"; {checked_words(account.audit)}" if account.audit is not None and account.exact else ""
    return f"{HOW[account.bound]}{proof}"


def _facts(account: Account, releases: Sequence[str] = ()) -> Facts:
    low, high = (
        turn(x, decimals(account.added[1])) for turn, x in zip((round_down, round_up), account.added, strict=True)
    )
    how, mark = _how(account), partial(from_file, account)
    return [
        ("Released", [_counted(account.releases), *releases]),
        ("Leaked", mark([f"{_bracket(account.lower, account.upper)} {account.unit} about a record", how])),
        ("Added", mark([f"{low} to {high} {account.unit} by the last release"])),
        (
            "Left",
            [
                *mark([f"at least {round_down(account.entropy_left)} {account.unit} of entropy about the data"]),
                "an average over outputs, not for every output",
            ],
        ),
        *([("Loaded", [TRUSTED])] if account.loaded else []),
    ]
