"""A design in Coq's words: the lower bound of its optimum by weak duality, and what the designed mechanism does.

A certificate's pool has one prior for all that are alike by symmetry. Here each stands for itself, once for every
record and every renaming that leaves the problem alone, so that Coq needs no theorem about symmetric mechanisms.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from dalenius.certificates.coq.question import (
    Problem,
    assumptions,
    bounded,
    defined,
    listed,
    number,
    read_problem,
    refuse,
    table,
)
from dalenius.certificates.coq.trees import upper_bound
from dalenius.model import checks
from dalenius.model.distortion import Distortion
from dalenius.model.gallery.parse import parse_query

# Products of a prior, a dataset and an output that Coq adds up: a thousand take about a second.
PRODUCTS = 2**17

Table = tuple[tuple[Fraction, ...], ...]


def design(data: dict[str, Any]) -> list[str]:
    """The lower bound of the optimum, and the distortion and the leakage of the mechanism."""
    if "beside" in data:
        refuse("a design beside earlier releases has none yet")
    if kept := {"max_epsilon", "floor", "unbiased", "within", "keep_zero"}.intersection(data["problem"]):
        refuse(f"a design with {min(kept)} has none yet")
    if not data["lower"] > 0:
        refuse("its lower bound is 0, which needs none")
    audit = data["audit"]
    problem = read_problem(audit)
    ((kind, budget),) = data["budget"].items()
    primal = kind == "distortion"
    lower, most, leaked = (float(x) for x in (data["lower"], data["distortion"], audit["upper"]))
    best = (
        f"no mechanism of expected distortion at most {float(budget)!r} leaks less than {lower!r} nats,"
        if primal
        else f"no mechanism that leaks at most {float(budget)!r} nats has an expected distortion below {lower!r},"
    )
    made = f"and the one below leaks at most {leaked!r} nats of any record and has one of at most {most!r}."
    total = sum(Fraction(item["weight"]) for item in data["pool"])
    return [
        *bounded(problem, data["adversary"], (best, made)),
        "(* The error d by row and output; how likely every dataset is by its row, before division by the sum. *)",
        f"Definition errors : list (list number) := {table(_errors(problem, data['problem']))}.",
        f"Definition data : list number := {listed(map(number, _data(problem, data['problem'])))}.",
        defined("budget", budget),
        defined("lower", lower),
        defined("upper", leaked),
        defined("most", most),
        "",
        "(* Priors, the mass of a dataset by value of the record and row; logarithms of ratios; and weights. *)",
        f"Definition pool : list belief := {_pool(problem, data)}.",
        defined("price", Fraction(data["multiplier"]) * total if primal else 1),
        *_lower_bound("leakage" if primal else "distortion"),
        "Theorem distortion_bound : (distortion sizes answer rows errors data (designed answer rows) <= value most)%R.",
        "Proof. apply errs_at_most. vm_cast_no_check (eq_refl true). Qed.",
        "",
        *upper_bound(problem, audit["proofs"]),
        *assumptions("lower_bound", "distortion_bound", "upper_bound"),
    ]


def _lower_bound(goal: str) -> list[str]:
    bounded = "(distortion sizes answer rows errors data q <= value budget)%R"
    if goal == "leakage":
        states = [
            f"Theorem lower_bound : forall q, mechanism sizes rows q -> {bounded} ->",
            "  exists i p, (i < length sizes)%nat /\\ law sizes p /\\ (knowledge sizes p <= value limit)%R",
            "    /\\ (value lower <= tells sizes rows q i p)%R.",
        ]
    else:
        states = [
            "Theorem lower_bound : forall q, mechanism sizes rows q ->",
            "  (forall i p, (i < length sizes)%nat -> law sizes p -> (knowledge sizes p <= value limit)%R ->",
            "    (tells sizes rows q i p <= value budget)%R) ->",
            "  (value lower <= distortion sizes answer rows errors data q)%R.",
        ]
    proof = f"apply (least_{goal} sizes answer rows errors data pool limit price budget lower)."
    return [*states, f"Proof. {proof} vm_cast_no_check (eq_refl true). Qed.", ""]


def _errors(problem: Problem, given: dict[str, Any]) -> list[list[float]]:
    """The table d, exactly."""
    wanted = given["distortion"]
    if not isinstance(wanted, str):
        return [list(row) for row in wanted]
    query = parse_query(given["query"])
    if not (query.numeric or query.vector):
        refuse(f"errors of {query}, whose answers are not whole numbers, have none yet; give a table of distortions")
    found: list[list[float]] = Distortion.from_user(query, wanted, given.get("outputs")).table.tolist()
    if len(found) != len(problem.rows):
        refuse("its rows are not one for each answer")
    return found


def _data(problem: Problem, given: dict[str, Any]) -> list[Fraction]:
    """The probability of one dataset by its class, up to a factor."""
    if given["distribution"] == "uniform":
        return [Fraction(1)] * len(problem.rows)
    return [Fraction(p) / problem.classes.count(t) for t, p in enumerate(given["distribution"])]


# The pool


@dataclass(frozen=True)
class _Prior:
    """A prior about one record: the mass of a dataset by value and class, and log ratios by value and output."""

    record: int
    density: Table
    logs: Table


@dataclass(frozen=True)
class _Map:
    """Value v of record i becomes value values[i][v] of record records[i]; classes and outputs move likewise."""

    records: Sequence[int]
    values: Sequence[Sequence[int]]
    classes: Sequence[int]
    outputs: Sequence[int]

    def image(self, prior: _Prior) -> _Prior:
        values = self.values[prior.record]
        return _Prior(
            self.records[prior.record],
            _moved(prior.density, values, self.classes),
            _moved(prior.logs, values, self.outputs),
        )


def _moved(given: Table, rows: Sequence[int], columns: Sequence[int]) -> Table:
    found = [[Fraction(0)] * len(columns) for _ in given]
    for i, row in enumerate(given):
        for j, x in enumerate(row):
            found[rows[i]][columns[j]] = x
    return tuple(map(tuple, found))


def _pool(problem: Problem, data: dict[str, Any]) -> str:
    """All priors of the pool and their images; an orbit shares the weight of its prior."""
    maps = [*_same_classes(problem), *(_symmetry(problem, given) for given in data["symmetries"])]
    lines: list[str] = []
    for item in data["pool"]:
        if not item["weight"] > 0:
            continue
        record = checks.whole("the record of a prior", item["record"], 0)
        spread = tuple(
            tuple(Fraction(m) / many if many else Fraction(0) for m, many in zip(masses, counts, strict=True))
            for masses, counts in zip(item["masses"], problem.masses(record), strict=True)
        )
        orbit = [_Prior(record, spread, tuple(tuple(map(Fraction, row)) for row in item["ratios"]))]
        seen = set(orbit)
        for prior in orbit:  # which grows
            new = [image for image in (g.image(prior) for g in maps) if image not in seen]
            orbit += dict.fromkeys(new)
            seen.update(new)
            products = (len(lines) + len(orbit)) * len(problem.classes) * len(problem.rows[0])
            if products > PRODUCTS:
                refuse(f"its pool needs more than {PRODUCTS} products of a prior, a dataset and an output")
        share = number(Fraction(item["weight"]) / len(orbit))
        lines += [f"  Belief {share} {p.record} {table(p.density)} {table(p.logs)}" for p in orbit]
    return "[\n" + ";\n".join(lines) + "]"


def _same_classes(problem: Problem) -> Iterator[_Map]:
    """Maps under which every dataset keeps its class: two records change places, or the bits of both are flipped."""
    n, outputs = len(problem.records), range(len(problem.rows[0]))
    plain: list[Sequence[int]] = [range(k) for k in problem.records]
    for i in range(n - 1):
        if problem.records[i] != problem.records[i + 1]:
            continue
        places = [*range(i), i + 1, i, *range(i + 2, n)]
        flipped = [[*reversed(v)] if j in (i, i + 1) else v for j, v in enumerate(plain)]
        for records, values in ((places, plain), (range(n), flipped)):
            classes = _classes(problem, records, values)
            if classes == [*range(len(problem.rows))]:
                yield _Map(records, values, classes, outputs)


def _symmetry(problem: Problem, given: dict[str, Any]) -> _Map:
    """A symmetry that the certificate states."""
    n = len(problem.records)
    records = given.get("records", range(n))
    values = given["values"] if "records" in given else [given["values"]] * n
    return _Map(records, values, _classes(problem, records, values), given["outputs"])


def _classes(problem: Problem, records: Sequence[int], values: Sequence[Sequence[int]]) -> list[int]:
    """Where every class goes; empty where a class is torn apart."""
    sizes = problem.records
    steps = [math.prod(sizes[i + 1 :]) for i in range(len(sizes))]
    found: list[set[int]] = [set() for _ in problem.rows]
    for x, t in zip(product(*map(range, sizes)), problem.classes, strict=True):
        found[t].add(problem.classes[sum(values[i][v] * steps[records[i]] for i, v in enumerate(x))])
    return [t for (t,) in found] if all(len(images) == 1 for images in found) else []
