"""A ledger of releases about the same data: what has leaked so far, and what one more release would add."""

import copy
import json
import math
import os
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from dalenius.api.audits import solve
from dalenius.api.designs import design_beside
from dalenius.certificates.certificate import Certificate
from dalenius.errors import BudgetError, InputError, refuse, show
from dalenius.model import checks, files, storage
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.real_records import RealQuery
from dalenius.model.files import __version__
from dalenius.model.problem import NATS_PER_UNIT, Adversary, down, in_unit, up
from dalenius.model.query import Query
from dalenius.model.reference import UNIFORM, Reference
from dalenius.numerics.rounding import round_down, round_up, short
from dalenius.report.text import problem, reference_words
from dalenius.results import answers
from dalenius.results.audit import Audit
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design
from dalenius.results.guess import about_record
from dalenius.results.options import Options, check_named, distortion_of, names_of
from dalenius.results.result import Result, finite, frame
from dalenius.search.deadline import Deadline, Progress
from dalenius.settings import DEFAULT, Settings
from dalenius.tools import people
from dalenius.tools.account import Account, Bound, counted
from dalenius.tools.calibration import NoiseSearch
from dalenius.tools.columns import Columns
from dalenius.tools.composition import (
    MOST_ENTRIES,
    Group,
    by_structure,
    contracted,
    information_bound,
    joint,
    joint_size,
    records_text,
    stronger,
)

FORMAT = "dalenius/ledger"
VERSION = 1
ROUNDING = 1e-14  # relative: more than sums of a few thousand numbers lose


@dataclass(frozen=True, eq=False)
class Release:
    """A mechanism that was run; `capacity` bounds what it can tell about the whole dataset, I(X;Y), in the unit.

    columns: what it looks at, in a ledger with columns; None for whole records.
    lifted: then the same mechanism over whole records; None where it is accounted for beside the others only (apart).
    alone: what it leaks against independent records. In a ledger against those, capacity is that.
    loaded: capacity is from a file.
    """

    name: str
    mechanism: Mechanism
    capacity: float
    columns: tuple[str, ...] | None = None
    lifted: Mechanism | None = None
    alone: Audit | None = None
    loaded: bool = False

    @property
    def apart(self) -> bool:
        """Whether it cannot be audited together with others."""
        return self.columns is not None and self.lifted is None

    @property
    def whole(self) -> Mechanism:
        """The mechanism over whole records."""
        return self.mechanism if self.lifted is None else self.lifted

    @property
    def about(self) -> str:
        """Words for the columns it looks at."""
        return "" if self.columns is None else f" (columns {', '.join(self.columns)})"


class Ledger(Result):
    """What has been released about one dataset, and what has leaked together.

    An account is about the mechanisms listed, run independently. One that was chosen after a look at earlier outputs is
    accounted for as if it had been fixed before; dl.adaptive builds a release with its rule of choice.

    Args:
        data: a query, or the alphabet size of each record. Or
        bare: not used; a second number without a name raises InputError.
        columns: such as {"age": 8, "smokes": 2}, with `n`: every record has these columns, and a release may look at
            some of them.
        n: number of records, with `columns`.
        entropy: as for `audit`; give exactly one of knowledge and entropy.
        knowledge: as for `audit`; or a schedule such as [0.1, 0.3, 0.5] that never falls: what the adversary may know
            from elsewhere when the first, the second, ... release is published; the last number also holds for all
            later ones. An account is then about the knowledge of its last release (`account`).
        adversary: "independent" for any prior under which the records are independent, in place of entropy and
            knowledge. Releases then add up: each counts for what it leaks given all other records, and
            `account().certificate` proves the sum.
        unit: "nats" or "bits".
        reference: what everybody knows, as for `audit`, with `knowledge`.
        budget: the most that all releases together may leak about a record. A release that cannot be proved to keep it
            is refused; `remaining`, `calibrate` and `design` find what may still be published.
        tolerance: gap of one account.
        time_limit: seconds of one account.
        most_entries: joint releases of up to this many rows x outputs are built and audited, larger ones are bounded
            (`account`).

    Raises:
        InputError: an argument is wrong. BudgetError, which is one, where a release would exceed the budget.

    Example:
        >>> query = dl.queries.count(n=4)
        >>> ledger = dl.Ledger(query, knowledge=0.5, budget=0.15)
        >>> ledger.release(dl.mechanisms.geometric(query, epsilon=0.3), name="week 1")
        <Account of 1 release: 0.058303 <= leakage <= 0.058310 nats, by audit; entropy left at least 2.189019>
    """

    # Seconds that every audit has at least.
    least_seconds: ClassVar[float] = 0.05

    def __init__(
        self,
        data: Query | Iterable[int] | None = None,
        *bare: object,
        columns: Mapping[str, int] | None = None,
        n: int | None = None,
        entropy: float | None = None,
        knowledge: float | Sequence[float] | None = None,
        adversary: Literal["bounded", "independent"] = "bounded",
        unit: str = "nats",
        reference: object = None,
        budget: float | None = None,
        tolerance: float = 1e-4,
        time_limit: float = 60.0,
        most_entries: int = MOST_ENTRIES,
    ) -> None:
        """Begin an empty ledger."""
        check_named(bare, "dl.Ledger(data")
        self.columns, self.records = _data(data, columns, n)
        checks.choice("unit", unit, ("nats", "bits"))
        if checks.choice("adversary", adversary, ("bounded", "independent")) == "independent":
            for name, value in (("entropy", entropy), ("knowledge", knowledge), ("reference", reference)):
                if value is not None:
                    alone = 'with adversary="independent"; a ledger against independent records has none'
                    refuse(f"{name} = {value!r} {alone}")
            self._given: dict[str, Any] = {"independent": True}
            self._scheduled: tuple[Adversary, ...] = (Adversary.independent(self.records, None, unit, UNIFORM),)
        else:
            law = Reference.from_user(reference, self.records, names_of(data) if isinstance(data, Query) else ())
            if isinstance(entropy, (list, tuple, np.ndarray)):
                refuse(
                    f"entropy = {show(entropy)} is a list; give one number, or for an adversary who learns between "
                    "releases knowledge= (--knowledge), such as 0.1,0.3"
                )
            limits: dict[str, Any] = {"entropy": entropy, "unit": unit, "reference": law}
            self._scheduled = tuple(
                Adversary.from_user(self.records, knowledge=k, **limits) for k in _schedule(knowledge)
            )
            given = [float(k) for k in _schedule(knowledge if entropy is None else entropy) if k is not None]
            self._given = {self._scheduled[0].given: given if len(given) > 1 else given[0]}
        # The adversary that the account is about; `_next` goes on to that of the next release.
        self.adversary = self._scheduled[0]
        self._ahead: Ledger | None = None
        self.unit = unit
        self.budget = None if budget is None else checks.real("budget", budget, 0.0, math.inf)
        self.tolerance = checks.real("tolerance", tolerance, 0.0, math.inf, open_low=True)
        self.time_limit = checks.real("time_limit", time_limit, 0.0, math.inf, open_low=True)
        self.most_entries = min(MOST_ENTRIES, checks.whole("most_entries", most_entries))
        self._releases: tuple[Release, ...] = ()
        self._account = Account(0, unit, 0.0, 0.0, "audit", (0.0, 0.0), self._left(0.0))
        # Accounts of releases that were computed, and not recorded: a release costs nothing after its what_if.
        self._foreseen: list[tuple[Release, Account]] = []

    @property
    def releases(self) -> tuple[Release, ...]:
        """What has been released, in order."""
        return self._releases

    @property
    def loaded(self) -> bool:
        """Whether its numbers rest on a file that was read without computing them again."""
        return self._account.loaded

    def account(self) -> Account:
        """Return what has leaked so far.

        Guarantee: lower <= max { I(A;Y_1..Y_k) : H(X) >= b } <= upper for the worst record A, with upper the audit of
        all releases together where that fits and closes, and otherwise the least of that, of log|A|, of what all noise
        together leaves of the knowledge (docs/proofs/product-laws.md, 7) and of

            L_E(b) + sum of C_j(b) over the releases j outside E,

        for E the releases before the last one, and for E as many as can be audited together. L_E is the leakage
        of E, C_j(b) bounds I(X;Y_j) over priors with H(X) >= b. Proof: outputs are independent given X, so

            I(A;Y_E,Y_R) = I(A;Y_E) + I(A;Y_R|Y_E) <= L_E(b) + I(X;Y_R|Y_E),
            I(X;Y_R|Y_E) = H(Y_R|Y_E) - H(Y_R|X) <= H(Y_R) - H(Y_R|X) <= sum_j H(Y_j) - H(Y_j|X) <= sum_j C_j(b).

        lower: more outputs never leak less, so any part's lower bound is one of the whole. entropy_left:
        H(X|Y) = H(X) - I(X;Y) >= b - C_E(b) - sum_j C_j(b), by the same steps.

        With a schedule of knowledge b is that of the last release. The adversary keeps all outputs, and what it learns
        from elsewhere, independently of them given the data, also serves it to read the earlier ones. So the account
        counts all releases anew at today's knowledge, and `added` is what the last release adds there.
        """
        return self._account

    def remaining(self) -> float:
        """Return what may still leak: budget - account().upper, rounded down, never below 0.

        Where a schedule of knowledge rises at the next release, that one finds less: see its `what_if`.
        """
        budget = self._limit()
        upper = self._account.upper
        return budget if upper == 0 else max(0.0, math.nextafter(budget - upper, -math.inf))

    def release(
        self,
        mechanism: Mechanism,
        name: str | None = None,
        columns: Sequence[str] | None = None,
        *,
        force: bool = False,
    ) -> Account:
        """Record that a mechanism has been run; return the new account.

        name: of its own, by default that of the mechanism. columns: the columns that it looks at, of a ledger that has
        columns; the mechanism is then over n records of the product of their sizes, first column slowest. Raises
        BudgetError, and records nothing, where all releases together are not proved to keep the budget, unless
        force=True.
        """
        checks.flag("force", force)
        if name is not None and not isinstance(name, str):
            refuse(f"name = {show(name)} is not a text")
        taken = [k for k, release in enumerate(self._releases, 1) if name is not None and release.name == name]
        if taken:
            refuse(f"name = {name!r} is that of release {taken[0]}; give every release a name of its own")
        return self._record(mechanism, name, columns, force=force)

    def what_if(self, mechanism: Mechanism, columns: Sequence[str] | None = None) -> Account:
        """Return the account as it would be after one more release; record nothing."""
        book: Ledger = self._next()
        return book._foresee(mechanism, columns)[1]

    def _record(self, mechanism: Mechanism, name: str | None, columns: Sequence[str] | None, *, force: bool) -> Account:
        book: Ledger = self._next()
        new, account = book._foresee(mechanism, columns)
        new = replace(new, name=name or new.name)
        if book.budget is not None and account.upper > book.budget and not force:
            raise BudgetError(book._refusal(new, account, book.budget))
        book._releases, book._account, book._foreseen, book._ahead = (*book._releases, new), account, [], None
        vars(self).update(vars(book))
        return account

    def calibrate(
        self,
        family: str,
        query: Query,
        *,
        columns: Sequence[str] | None = None,
        accuracy: float = 1e-3,
        time_limit: float = 300.0,
        seed: int = 0,
        progress: bool | Callable[[Progress], None] = False,
        settings: Settings | None = None,
    ) -> Calibration:
        """Return the least noise of a named family with which all releases together keep the budget.

        `release` accepts its mechanism. Its `leakage` is the audit of that mechanism alone, its `together` the bracket
        of all releases and this one; `time_limit` is for all of it. Other options as for dl.calibrate.
        """
        book: Ledger = self._next()
        budget = book._limit()
        if budget <= book._account.upper:
            raise BudgetError(book._nothing_left())
        options = Options.from_user(
            unit=book.unit,
            tolerance=min(book.tolerance, 1e-6),
            time_limit=time_limit,
            seed=seed,
            progress=progress,
            settings=settings,
        )

        def judge(mechanism: Mechanism, options: Options) -> Account:
            return book._after(book._release(mechanism, columns, options.time_limit), options)

        limits = Deadline(options.time_limit)
        beside = f" after the {counted(len(book._releases))} before" if book._releases else ""
        search = NoiseSearch(family, query, judge, budget=budget, accuracy=accuracy, options=options, context=beside)
        best = search.run()
        account, new = best.found, book._release(best.mechanism, columns, book.time_limit)
        book._remember(new, account)
        if account.audit is not None and account.audit.mechanism is best.mechanism:
            return search.answer(account.audit)
        alone = new.alone or book._audit([(new.whole, 1)], limits.left, options)
        return search.answer(alone, (account.lower, account.upper))

    def design(
        self,
        query: Query,
        *,
        p0: ArrayLike | None = None,
        measure: str | ArrayLike = "absolute",
        outputs: Sequence[object] | None = None,
        tolerance: float = 1e-4,
        time_limit: float = 300.0,
        seed: int = 0,
        progress: bool | Callable[[Progress], None] = False,
        verify: answers.Verify = "auto",
        settings: Settings | None = None,
    ) -> Design:
        """Return the mechanism of least distortion with which everything released together keeps the budget.

        The bracket is on the least expected distortion of all mechanisms with that property, run independently of
        the earlier ones; `release` accepts the one returned. After a release its `leakage` and its certificate are
        about everything together. Where the earlier releases are too large to be written out, and are of one sum with
        geometric or Laplace noise, they are about such noise of all rates together, which tells no less: the mechanism
        keeps the budget, and the bracket is on what is best beside that.
        `tolerance` is in units of distortion; options as for dl.design.
        """
        book: Ledger = self._next()
        budget = book._limit()
        if book.independent and book._releases:
            refuse(
                "a design after earlier releases is against adversaries of bounded knowledge; with "
                'adversary="independent" use ledger.calibrate'
            )
        task = distortion_of(query, measure, outputs, p0)
        if query.records != book.records:
            refuse(
                f"{query} is over {records_text(query.records)}, the ledger over {records_text(book.records)}; "
                "a design is about whole records"
            )
        if book._releases and budget <= book._account.upper:
            raise BudgetError(book._nothing_left())
        options = Options.from_user(
            unit=book.unit, tolerance=tolerance, time_limit=time_limit, seed=seed, progress=progress, settings=settings
        )
        groups = _grouped(book._releases)
        spent, instead = book._account.upper, None
        fits = not groups or (book._fits(groups) and joint(groups).as_joint is None)
        pairs = query.statistic.size * len(task.outputs) * (joint(groups).n_outputs if groups and fits else 1)
        if not fits or pairs > DEFAULT.limits.design_pairs:
            instead = book._in_place(groups)
        if not fits and instead is None:
            refuse(
                f"the {counted(len(book._releases))} before are too large to be audited together (at most "
                f"{book.most_entries} rows x outputs); use ledger.calibrate, which bounds what does not fit"
            )
        if instead is not None:
            groups = instead
            spent = book._audit(groups).upper
            if budget <= spent:
                raise BudgetError(book._nothing_left())
        first = joint(groups).written() if groups else None
        found = design_beside(task, first, book.adversary, options, budget=budget, spent=spent, verify=verify)
        new, lower = book._release(found.mechanism, None, book.time_limit), found.leakage.lower
        if instead is None:
            account = book._booked(new, (lower, found.leakage.upper), "audit", audit=found.leakage)
        else:
            alone = book._audit([(new.whole, 1)])
            account = book._booked(new, (alone.lower, found.leakage.upper), "one release")
        book._remember(new, account)
        return found

    def _next(self) -> "Ledger":
        """This ledger; or, where the next release finds more knowledge, a copy in which all before is counted anew."""
        adversary = self._scheduled[min(len(self._releases), len(self._scheduled) - 1)]
        if adversary is self.adversary:
            return self
        if self._ahead is None:
            book: Ledger = copy.copy(self)
            book.adversary, book._foreseen = adversary, []
            deadline = Deadline(self.time_limit)
            *earlier, last = (
                replace(r, capacity=book._capacity(r.whole, deadline), loaded=False) for r in self._releases
            )
            # The upper bound was of less knowledge: nothing may rest on it.
            book._releases, book._account = tuple(earlier), replace(self._account, upper=math.inf)
            book._account = book._after(last, book._options)
            book._releases = (*earlier, last)
            self._ahead = book
        self._ahead.budget = self.budget
        return self._ahead

    def _in_place(self, groups: Sequence[Group]) -> list[Group] | None:
        """Releases that tell no less than these, and can be audited together by their rows."""
        found = stronger(groups)
        fits = found is not None and self._fits(found) and joint(found).as_joint is None
        return found if fits else None

    def _booked(
        self,
        new: Release,
        bracket: tuple[float, float],
        bound: Bound,
        *,
        information: float | None = None,
        audit: Audit | None = None,
        joint: Certificate | None = None,
    ) -> Account:
        """The account after one more release; information: about the whole data, by default that of all releases."""
        before, lower = self._account, max(self._account.lower, bracket[0])
        upper = max(lower, bracket[1])
        added = max(0.0, lower - before.upper), max(0.0, upper - before.lower)
        told = math.fsum(r.capacity for r in (*self._releases, new)) if information is None else information
        left = math.nan if self.independent else self._left(told)
        many = len(self._releases) + 1
        return Account(many, self.unit, lower, upper, bound, added, left, audit, before.loaded, joint=joint)

    def _limit(self) -> float:
        if self.budget is None:
            refuse("this ledger has no budget; give one: Ledger(..., budget=0.1) or Ledger.load(path, budget=0.1)")
        return self.budget

    def _nothing_left(self) -> str:
        leaked = short(self._account.upper)
        return (
            f"nothing of the budget is left: what was released may leak {leaked} of {self.budget:.9g} {self.unit}; "
            "publish a constant, or begin with a larger budget: Ledger.load(path, budget=...)"
        )

    def _refusal(self, new: Release, account: Account, budget: float) -> str:
        leaks = f"{round_down(account.lower)} to {round_up(account.upper)} {self.unit}"
        return (
            f"{new.name} was not recorded: with it everything released leaks {leaks} about a record, and the budget is "
            f"{budget:.9g}, of which {round_down(self.remaining())} are left; add noise (ledger.calibrate finds the "
            "least; on the command line try dalenius ledger what-if), or record it anyway with force=True (--force)"
        )

    def _foresee(self, mechanism: Mechanism, columns: Sequence[str] | None) -> tuple[Release, Account]:
        """A release and the account after it, as it was computed before if it was."""
        if columns is not None:
            columns = checks.listed(columns, f"columns = {show(columns)} must list names of columns")  # type: ignore[assignment]
        for release, account in self._foreseen:
            if release.mechanism is mechanism and release.columns == columns:
                return release, account
        new = self._release(mechanism, columns, self.time_limit)
        account = self._after(new, self._options)
        self._remember(new, account)
        return new, account

    def _remember(self, new: Release, account: Account, most: int = 8) -> None:
        self._foreseen = [*self._foreseen, (new, account)][-most:]

    def _release(self, mechanism: Mechanism, columns: Sequence[str] | None, seconds: float) -> Release:
        deadline = Deadline(seconds)
        chosen, lifted = self._lifted(mechanism, columns)
        new = Release(problem(mechanism).split(":")[0], mechanism, math.inf, chosen, lifted)
        audit = self._alone(mechanism, deadline) if self.independent or new.apart else None
        most = audit.upper if audit is not None and self.independent else self._capacity(new.whole, deadline)
        return replace(new, capacity=most, alone=audit)

    @property
    def independent(self) -> bool:
        """Whether the adversary is one under whose prior the records are independent."""
        return self.adversary.kind == "independent"

    def _alone(self, mechanism: Mechanism, deadline: Deadline) -> Audit | None:
        """What a release leaks against independent records; None where that needs more than a formula, and may fail."""
        for release in self._releases:
            if release.alone is not None and release.mechanism == mechanism:
                return release.alone
        seconds = max(self.least_seconds, deadline.left)
        options = replace(self._options, tolerance=min(self.tolerance, 1e-6), time_limit=seconds)
        try:
            return people.alone(mechanism, options)
        except InputError:
            if self.independent:
                raise
            return None

    def _lifted(
        self, mechanism: Mechanism, columns: Sequence[str] | None
    ) -> tuple[tuple[str, ...] | None, Mechanism | None]:
        """The columns and the mechanism over whole records, where a release looks at some columns."""
        if not isinstance(mechanism, Mechanism):
            refuse(f"a release is a Mechanism, not {type(mechanism).__name__}; see dl.mechanisms")
        if columns is None:
            if mechanism.records != self.records:
                hint = "keep one ledger for each dataset"
                if self.columns is not None:
                    names = ", ".join(name for name, _ in self.columns.sizes)
                    hint = f"name the columns that it looks at, out of {names}"
                refuse(
                    f"the mechanism is over {records_text(mechanism.records)}, the ledger over "
                    f"{records_text(self.records)}; {hint}"
                )
            self.adversary.reference.check(mechanism.statistic)
            return None, None
        if self.columns is None:
            begin = "begin it with Ledger(columns={...}, n=...)"
            refuse(f"columns = {show(columns)}, but this ledger has none; {begin}")
        chosen = self.columns.chosen(columns)
        self.columns.check(mechanism, chosen)
        if self.independent or not self.columns.lifts(mechanism, chosen, self.most_entries):
            return chosen, None
        lifted = self.columns.lifted(mechanism, chosen)
        self.adversary.reference.check(lifted.statistic)
        return chosen, lifted

    def _capacity(self, mechanism: Mechanism, deadline: Deadline) -> float:
        bound = information_bound(mechanism, self.adversary.knowledge, deadline, self.adversary.reference)
        return self._in_unit(bound)

    def _in_unit(self, nats: float) -> float:
        """Guarantee: result >= nats in the unit, also where a few sums were rounded before."""
        return nats / NATS_PER_UNIT[self.unit] * (1 + ROUNDING)

    def _after(self, new: Release, options: Options) -> Account:
        """The account after one more release; see `account` for what is proved."""
        before, releases, deadline = self._account, (*self._releases, new), Deadline(options.time_limit)
        if self.independent or any(r.apart for r in releases):
            return self._by_people(new, deadline)
        groups = _grouped(releases)
        part = groups if self._fits(groups, DEFAULT.portfolio.most_outputs) else self._auditable(groups)
        lower, information = 0.0, math.fsum(r.capacity for r in releases)
        ways: list[tuple[float, Bound]] = [
            (self._trivial, "trivial"),
            ((before.upper + new.capacity) * (1 + ROUNDING), "chain rule"),
        ]
        whole = None
        if self._fits(groups):
            whole = self._audit(groups, deadline.left if part == groups else deadline.left / 2, options)
            lower, information = whole.lower, min(information, self._capacity(whole.mechanism, deadline))
            ways = [*([] if whole.closed else ways), (whole.upper, "audit")]
        elif (instead := self._in_place(groups)) is not None:
            ways.append((self._audit(instead, deadline.left / 2, options).upper, "one release"))
        if whole is None or (part != groups and not whole.closed):
            some, outside = self._audit(part, deadline.left, options), _outside(releases, part)
            lower = max(lower, some.lower)
            information = min(information, self._capacity(some.mechanism, deadline) + outside)
            ways.append(((some.upper + outside) * (1 + ROUNDING), "chain rule"))
            left = contracted([r.whole for r in releases], self.adversary.knowledge, self.adversary.reference)
            ways.append((self._in_unit(left), "contraction"))
        upper, bound = min(ways)
        return self._booked(new, (lower, upper), bound, information=information, audit=whole)

    def _by_people(self, new: Release, deadline: Deadline) -> Account:
        """The account by what each release tells of one record beside all others (docs/mathematics.md 10.1).

        Where records may depend on each other it is that and the knowledge; or what all releases tell at all.
        """
        releases, unit = (*self._releases, new), NATS_PER_UNIT[self.unit]
        information = math.fsum(r.capacity for r in releases) * (1 + ROUNDING)
        ways: list[tuple[float, Bound]] = [
            (self._trivial, "trivial"),
            (information, "people" if self.independent else "chain rule"),
        ]
        sizes, audits = self._sizes(), [r.alone or self._alone(r.mechanism, deadline) for r in releases]
        proof, lower = None, 0.0
        if sizes and all(audit is not None for audit in audits):
            runs = [(audit, r.columns or tuple(sizes)) for r, audit in zip(releases, audits, strict=True) if audit]
            proof = people.certificate(runs, sizes, len(self.records), self._known())
            lower = down(proof.lower, unit)
            ways.append((up(proof.upper, unit), "people"))
        upper, bound = min(ways)
        if bound == "people" and self.independent and len(releases) == 1:
            return self._booked(new, (lower, upper), "audit", audit=audits[0], joint=proof)
        return self._booked(new, (lower, upper), bound, joint=None if bound == "chain rule" else proof)

    @property
    def _trivial(self) -> float:
        """All that a record can hold, in the unit."""
        return self._in_unit(math.log(max(self.records)))

    def _known(self) -> float | None:
        """Guarantee: result >= the adversary's knowledge, in nats; the number given, where it was; None of no limit."""
        adversary = self.adversary
        if self.independent:
            return None
        return adversary.value if adversary.given == "knowledge" else math.nextafter(adversary.knowledge, math.inf)

    def _sizes(self) -> dict[str, int]:
        """The columns of a record; a record is one where there are none, and nothing where records differ."""
        if self.columns is not None:
            return dict(self.columns.sizes)
        return {"record": self.records[0]} if len(set(self.records)) == 1 else {}

    @property
    def _options(self) -> Options:
        """How an account is searched for."""
        return Options.from_user(
            unit=self.unit, tolerance=self.tolerance, time_limit=self.time_limit, seed=0, progress=False
        )

    def _audit(self, groups: Sequence[Group], seconds: float | None = None, options: Options | None = None) -> Audit:
        limit = self.time_limit if seconds is None else max(self.least_seconds, seconds)
        limited, together = replace(options or self._options, time_limit=limit), joint(groups)
        self.adversary.reference.check(together.statistic)
        return solve(limited.audit(together, self.adversary), limited)

    def _fits(self, groups: Sequence[Group], most_outputs: int = MOST_ENTRIES) -> bool:
        """Whether a joint release may be built; a single one always may."""
        if len(groups) == 1 and groups[0][1] == 1:
            return True
        try:
            if by_structure(groups) is not None:
                return True
            _, outputs, entries = joint_size(groups)
        except InputError:  # too many datasets for a common table, or too many count vectors
            return False
        return outputs <= most_outputs and entries <= self.most_entries

    def _auditable(self, groups: Sequence[Group]) -> list[Group]:
        """Return as many releases as an audit can bound together, those first that can tell most."""
        chosen: list[Group] = []
        for group in groups:
            chosen += self._most_of(chosen, *group)
        return chosen

    def _most_of(self, chosen: Sequence[Group], mechanism: Mechanism, often: int) -> list[Group]:
        """As many runs of a mechanism as fit beside those chosen."""
        few = DEFAULT.portfolio.most_outputs
        many = bisect_left(range(1, often + 1), x=True, key=lambda k: not self._fits([*chosen, (mechanism, k)], few))
        return [(mechanism, many)] if many else []

    def _left(self, information: float) -> float:
        """Return b - information, rounded down, in the unit; nan where no b is given, with a reference."""
        b = in_unit(self.adversary.entropy, self.unit)
        if math.isnan(b) or not information:
            return b
        return max(0.0, b * (1 - ROUNDING) - information * (1 + ROUNDING))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row per release."""
        return frame(
            [
                {
                    "name": release.name,
                    "mechanism": release.mechanism.name,
                    "columns": None if release.columns is None else ", ".join(release.columns),
                    "capacity": release.capacity,
                    "unit": self.unit,
                }
                for release in self._releases
            ]
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write releases and account as JSON; the file appears whole or not at all."""
        reference = self.adversary.reference
        # JSON has no infinity: null stands for it.
        listed = {key: [finite(k) for k in x] if isinstance(x, list) else x for key, x in self._given.items()}
        adversary: dict[str, Any] = {key: None if x == math.inf else x for key, x in listed.items()}
        # Beside the number that it belongs to: an older reader refuses the file, and counts from no other prior.
        adversary |= {} if reference.uniform else {"reference": reference.describe()}
        content = {
            "format": FORMAT,
            "version": VERSION,
            "dalenius": __version__,
            "records": list(self.records),
            "adversary": adversary,
            **({} if self.budget is None else {"budget": self.budget}),
            **({} if self.columns is None else {"columns": dict(self.columns.sizes)}),
            **{key: getattr(self, key) for key in ("unit", "tolerance", "time_limit", "most_entries")},
            "releases": [
                {
                    "name": r.name,
                    "mechanism": json.loads(storage.mechanism_text(r.mechanism)),
                    "capacity": r.capacity,
                    **({} if r.columns is None else {"columns": list(r.columns)}),
                }
                for r in self._releases
            ],
            "account": self._account.to_dict(),
        }
        files.write(files.path_of(path), (json.dumps(content, allow_nan=False) + "\n").encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False, budget: float | None = None) -> "Ledger":
        """Read what save wrote; `budget` takes the place of the one in the file.

        A saved ledger holds no certificate. By default the account and the most that each release can leak are trusted
        as the file states them, later accounts build on them, and reports say that they are from the file. With
        verify=True only the list of releases is trusted: every number is computed again, which takes as long as before.
        A budget below the account is refused.
        """
        given = None if budget is None else checks.real("budget", budget, 0.0, math.inf)
        if not isinstance(verify, bool):
            refuse(f"verify = {show(verify)} must be True or False")
        content = files.read_format(files.path_of(path), "a saved ledger", FORMAT, VERSION)
        try:
            ledger = cls._read(content, verify=verify)
        except KeyError as error:
            refuse(f"{path} is not a whole ledger: {error} is missing", error)
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RuntimeError) as error:
            refuse(f"{path} is not a sound ledger: {error}", error)
        upper = ledger.account().upper
        if given is not None and given < upper:
            message = (
                f"budget = {given:.9g} {ledger.unit} is below what the releases in {path} may have leaked already, "
                f"{round_up(upper)}; give that much or more"
            )
            raise BudgetError(message)
        ledger.budget = ledger.budget if given is None else given
        return ledger

    @classmethod
    def _read(cls, content: dict[str, Any], *, verify: bool) -> "Ledger":
        named = dict(content["adversary"])
        laws = named.pop("reference", None)
        given: dict[str, Any] = {k: math.inf if v is None else v for k, v in named.items()}
        if isinstance(scheduled := given.get("knowledge"), list):
            given["knowledge"] = [math.inf if k is None else k for k in scheduled]
        if given.pop("independent", False) is True:
            given["adversary"] = "independent"
        settings = {key: content[key] for key in ("unit", "tolerance", "time_limit", "most_entries")}
        reference = None if laws is None else next(iter(laws.values()))
        data: dict[str, Any] = {"data": content["records"]}
        if "columns" in content:
            data = {"columns": content["columns"], "n": len(content["records"])}
        ledger = cls(**data, **given, reference=reference, budget=content.get("budget"), **settings)
        if list(ledger.records) != list(content["records"]):
            refuse("its records are not those of its columns")
        for entry in content["releases"]:
            mechanism, columns = storage.mechanism_from(entry["mechanism"]), entry.get("columns")
            capacity = checks.real("capacity", entry["capacity"], 0.0, math.inf)
            if not isinstance(entry["name"], str):
                refuse(f"the name of a release is {entry['name']!r}, not a text")
            if verify:
                ledger._record(mechanism, entry["name"], columns, force=True)
            else:
                chosen, lifted = ledger._lifted(mechanism, columns)
                ledger._releases += (Release(entry["name"], mechanism, capacity, chosen, lifted, loaded=True),)
        if not verify:
            ledger.adversary = ledger._scheduled[min(max(len(ledger.releases), 1), len(ledger._scheduled)) - 1]
        account = _account(content["account"], ledger)
        if verify and (found := ledger.account()).audit is not None and found.exact:
            found.audit.verify()
        ledger._account = ledger.account() if verify else account
        return ledger

    def __repr__(self) -> str:
        return f"<Ledger over {records_text(self.records)}, {self.knows()}: {self._account!r}>"

    def knows(self) -> str:
        """Return in words what the adversary may know."""
        if self.independent:
            return "any prior under which the records are independent"
        ((given, value),) = self._given.items()
        words = f"{value:.6g}" if isinstance(value, float) else ""
        if isinstance(value, list):
            now = value[next(k for k, one in enumerate(self._scheduled) if one is self.adversary)]
            words = f"{now:.6g} (by release: {', '.join(f'{k:.6g}' for k in value)})"
        if not self.adversary.reference.uniform:
            return f"knowledge <= {words} {self.unit} beyond {reference_words(self.adversary.reference)}"
        most = in_unit(checks.log_universe(self.records), self.unit)
        limit = "H(X) >= " if given == "entropy" else "knowledge <= "
        return f"{limit}{words} of {short(most)} {self.unit}"

    def guessed(self) -> list[str]:
        """Return what the account means for a guess of one record, in sentences."""
        return about_record(self._account.upper, self.unit, self.records, self.adversary.reference)


def records_of(data: Query | Iterable[int] | None = None, columns: object = None, n: object = None) -> tuple[int, ...]:
    """Return the alphabet size of each record of the data that a ledger is about."""
    return _data(data, columns, n)[1]


def _data(data: Query | Iterable[int] | None, columns: object, n: object) -> tuple[Columns | None, tuple[int, ...]]:
    """The columns, if there are any, and the alphabet size of each record."""
    if (data is None) == (columns is None):
        how = "neither was given" if data is None else "both were given"
        refuse(f"give the data (a query, or the values of each record) or columns= with n=; {how}")
    if columns is not None:
        found = Columns.from_user(columns, n)
        return found, found.records
    if n is not None:
        refuse(f"n = {show(n)} goes with columns=; the data already fix the number of records")
    if isinstance(data, RealQuery):
        refuse(
            f"a ledger keeps releases about records of finitely many values, not of {data}; round the records, with "
            "queries.total or queries.mean"
        )
    return None, data.records if isinstance(data, Query) else checks.alphabets(data)


def _schedule(knowledge: Any) -> list[Any]:
    """What the adversary may know at each release; one number is a schedule of one."""
    if not isinstance(knowledge, (list, tuple, np.ndarray)):
        return [knowledge]
    if not len(knowledge):
        refuse("knowledge = [] is an empty schedule; give one number or more, such as [0.1, 0.3]")
    numbers = [checks.real("a knowledge of the schedule", k, 0.0, math.inf) if k != math.inf else k for k in knowledge]
    for k, (before, after) in enumerate(pairwise(numbers), start=2):
        if after < before:
            refuse(
                f"knowledge = {show(knowledge)} falls to {after:g} at release {k}; what an adversary has learned it "
                "keeps: give a schedule that never falls"
            )
    return numbers


def _account(content: dict[str, Any], ledger: Ledger, loose: float = 1e-9) -> Account:
    """The account of a file, its numbers checked as far as they can be without computing them.

    They may contradict each other by `loose`: rounding and the margins of audits.
    """
    lower, upper, least, most = (
        checks.real("a number of the account", x, 0.0, math.inf)
        for x in (content["lower"], content["upper"], *content["added"])
    )
    highest = in_unit(ledger.adversary.entropy, ledger.unit)
    left = math.nan
    if not math.isnan(highest):
        left = checks.real("a number of the account", content["entropy_left"], 0.0, math.inf)
    bound, many = content["bound"], len(ledger.releases)
    sound = bound in get_args(Bound) and content["releases"] == many and content["unit"] == ledger.unit
    information = math.fsum(release.capacity for release in ledger.releases)
    trivial = math.log(max(ledger.records)) / NATS_PER_UNIT[ledger.unit]
    crossed = lower > upper or least > most or (not many and (upper > 0 or most > 0))
    beyond = upper > (trivial + loose) * (1 + loose) or most > (upper + loose) * (1 + loose)
    beyond = beyond or lower > (information + loose) * (1 + loose) or left > highest * (1 + loose)
    if not sound or crossed or beyond:
        refuse(f"its account is not one of {counted(many)}")
    return Account(many, ledger.unit, lower, upper, bound, (least, most), left, loaded=many > 0)


def _grouped(releases: Sequence[Release]) -> list[Group]:
    """Each channel with how often it was released; those first that can tell most."""
    return list(Counter(r.whole for r in sorted(releases, key=lambda r: -r.capacity)).items())


def _outside(releases: Sequence[Release], part: Sequence[Group]) -> float:
    """Return the capacities of the releases outside a part, added up."""
    left, rest = Counter(dict(part)), []
    for r in releases:
        if left[r.whole] > 0:
            left[r.whole] -= 1
        else:
            rest.append(r.capacity)
    return math.fsum(rest)
