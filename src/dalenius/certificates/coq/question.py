"""Coq's words, and the question of a certificate in them: records, answer, rows and what the adversary knows."""

import ast
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.processed import Processed
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.model.gallery.releases import EXACT
from dalenius.model.query import Query
from dalenius.model.statistic import Statistic, Sum

# Beyond these a check takes hours: datasets are listed.
DATASETS = 2**12
ENTRIES = 2**9
# Probabilities that differ by no more are the same but for rounding.
SAME = 1e-12


def refuse(reason: str) -> NoReturn:
    """Raise InputError: this has no proof in Coq."""
    message = f"this certificate has no proof in Coq: {reason}; `dalenius verify` checks it"
    raise InputError(message)


def number(x: float | Fraction) -> str:
    """A number exactly: a float is z / 2^k."""
    exact = Fraction(x)
    z, d = exact.numerator, exact.denominator
    top = f"({z})" if z < 0 else f"{z}"
    if d == 1:
        return f"(Whole {top})"
    if d & (d - 1) == 0:
        return f"(Binary {top} {d.bit_length() - 1})"
    return f"(Over (Whole {top}) (Whole {d}))"


def assumptions(*theorems: str) -> list[str]:
    """Have Coq print what theorems rest on, all at once: looking for axioms takes seconds each time."""
    return [f"Definition proved := ({', '.join(theorems)}).", "Print Assumptions proved."]


def defined(name: str, x: float | Fraction) -> str:
    """The definition of a number."""
    return f"Definition {name} : number := {number(Fraction(x))}."


def table(rows: Iterable[Iterable[float | Fraction]]) -> str:
    """A list of lists of numbers, one a line."""
    return "[\n" + ";\n".join(f"  {listed(map(number, row))}" for row in rows) + "]"


def listed(items: Iterable[object]) -> str:
    """A list."""
    return f"[{'; '.join(map(str, items))}]"


@dataclass(frozen=True)
class Problem:
    """A finite channel: rows in floats, which guide, and in Coq's words, which count."""

    records: tuple[int, ...]
    classes: tuple[int, ...]
    rows: list[list[float]]
    text: list[str]
    # The answer as a formula; None for a table of classes.
    answer: str | None = None
    words: str = ""
    statistic: Statistic | None = None

    def masses(self, record: int) -> list[list[int]]:
        """How many datasets have each value of a record, and each class."""
        found = [[0] * len(self.rows) for _ in range(self.records[record])]
        step = math.prod(self.records[record + 1 :])
        for x, t in enumerate(self.classes):
            found[x // step % self.records[record]][t] += 1
        return found

    def cells(self, record: int) -> list[list[int]]:
        """Classes that occur with each value of a record."""
        return [[t for t, many in enumerate(row) if many] for row in self.masses(record)]


def read_problem(data: dict[str, Any], forms: Sequence[str] = ("rows",)) -> Problem:
    """Rebuild the channel of the certificate of an audit."""
    if data["form"] not in forms:
        refuse(f"releases of the form {data['form']!r} have none yet, only {' and '.join(map(repr, forms))}")
    if "reference" in data["adversary"]:
        refuse("an adversary with a reference prior has none yet")
    if "secret" in data:
        refuse("a secret other than every record has none yet")
    given = data["problem"]
    if "quadrature" in given or "samples" in given or given.get("statistic") is not None:
        refuse("count vectors, real outputs and samples have none yet")
    if "query" not in given:
        # Whole numbers, as they become Coq's text.
        sizes = tuple(checks.whole("a number of values", k, 1) for k in given["records"])
        listed_classes = given["classes"]
        if listed_classes is None:
            listed_classes = range(math.prod(sizes))
        classes = tuple(checks.whole("a class", t, 0) for t in listed_classes)
        return _checked(_of_rows(sizes, classes, given["rows"]))
    query = parse_query(given["query"])
    if checks.log_universe(query.records) > math.log(DATASETS) + 1e-9:
        refuse(f"it has {checks.size_text(query.records)} datasets, more than {DATASETS}")
    classes = tuple(int(t) for t in query.statistic.class_table())
    answer, words = _answer(query), str(query)
    if "mechanism" not in given:
        found = _of_rows(query.records, classes, given["rows"])
    else:
        found = _named(given["mechanism"], query, classes)
        words = f"{given['mechanism']} of {words}"
    return _checked(replace(found, answer=answer, words=words, statistic=query.statistic))


def _checked(problem: Problem) -> Problem:
    """Refuse what is too large."""
    if len(problem.classes) > DATASETS:
        refuse(f"it has {len(problem.classes)} datasets, more than {DATASETS}")
    entries = len(problem.rows) * len(problem.rows[0]) * max(problem.records)
    if entries > ENTRIES:
        refuse(f"its channel has {entries} entries of a value, a class and an output, more than {ENTRIES}")
    return problem


def _of_rows(records: Sequence[int], classes: tuple[int, ...], rows: Sequence[Sequence[float | Fraction]]) -> Problem:
    text = [f"Definition rows : list (list number) := {table(rows)}."]
    laws = [[float(Fraction(x) / sum(Fraction(z) for z in row)) for x in row] for row in rows]
    return Problem(tuple(records), classes, laws, text)


def _named(text: str, query: Query, classes: tuple[int, ...]) -> Problem:
    """A mechanism of the gallery whose probabilities are rational or powers of one exponential."""
    mechanism = parse_mechanism(text, query).written()
    exactly = None if query.vector else _fractions(mechanism)
    if exactly is not None:
        return _of_rows(query.records, classes, exactly)
    family, labels = _FAMILIES.get(text.partition("(")[0].strip()), list(mechanism.labels)
    answers = [] if query.vector else np.asarray(query.answers, dtype=np.int64).tolist()
    known = ", ".join(_FAMILIES)
    if family is None or query.vector or not set(answers) <= set(labels):
        refuse(f"{text} of {query} has none yet, only {known} on whole numbers, and what is made of the exact answer")
    places, width = [labels.index(f) for f in answers], len(labels)
    lines, weight = family(_arguments(text), query, width)
    rows = [[float(x) for x in row] for row in mechanism.rows]
    # The formula is written anew here: it must be the mechanism's.
    for f, row in zip(places, rows, strict=True):
        weights = [weight(abs(y - f), y in (0, width - 1)) for y in range(width)]
        if any(abs(w / math.fsum(weights) - x) > SAME for w, x in zip(weights, row, strict=True)):
            refuse(f"{text} of {query} has other probabilities than were expected")
    lines.append(
        f"Definition rows : list (list number) := map (fun f => map (weight f) (seq 0 {width})) {listed(places)}."
    )
    return Problem(tuple(query.records), classes, rows, lines)


def _fractions(mechanism: Mechanism) -> list[list[Fraction]] | None:
    """Rows of what becomes of the exact answer: rounded, perturbed or suppressed. None for other mechanisms."""
    before = mechanism.before if isinstance(mechanism, Processed) else None
    if not isinstance(mechanism, Processed) or before is None or before.name != EXACT:
        return None
    laws = [mechanism.laws[row.index(1.0)] for row in before.rows.tolist()]
    return [[law.get(label, Fraction(0)) for label in mechanism.labels] for law in laws]


def _arguments(text: str) -> dict[str, Any]:
    call = ast.parse(text.strip(), mode="eval").body
    if not isinstance(call, ast.Call) or call.args:
        refuse(f"the arguments of {text} must have their names")
    return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}


# What is written for a family, and the weight at a distance from the answer, inside the range or at its ends.
Written = tuple[list[str], Callable[[int, bool], float]]


def _geometric(given: dict[str, Any], query: Query, width: int) -> Written:
    """alpha^|y-f|, times 1 - alpha inside the range; rows are divided by their sums, which are 1 + alpha."""
    if given.get("scale") is not None:
        rate = query.unit / Fraction(given["scale"])
    elif given.get("sensitivity") is not None:
        rate = Fraction(given["epsilon"]) / Fraction(given["sensitivity"]) * query.unit
    else:
        rate = Fraction(given["epsilon"]) / Fraction(query.sensitivity)
    lines = [
        "(* Geometric noise: alpha^|y-f| with alpha = exp(-rate), times 1 - alpha inside the range. *)",
        f"Definition alpha (k : nat) : number := Exp (Times (Whole (- Z.of_nat k)) {number(rate)}).",
        "Definition weight (f y : nat) : number :=",
        f"  if ((y =? 0) || (y =? {width - 1}))%nat then alpha (max (y - f) (f - y))",
        "  else Times (Minus (Whole 1) (alpha 1)) (alpha (max (y - f) (f - y))).",
    ]
    return lines, lambda d, end: math.exp(-rate * d) * (1.0 if end else -math.expm1(-rate))


def _symmetric(given: dict[str, Any], query: Query, width: int) -> Written:  # noqa: ARG001 - as the others
    """1 - flip on the answer, flip / (|range| - 1) on every other value."""
    flip = Fraction(given["flip"])
    lines = [
        "Definition weight (f y : nat) : number :=",
        f"  if (y =? f)%nat then {number(1 - flip)} else {number(flip / (width - 1))}.",
    ]
    return lines, lambda d, _: float(flip / (width - 1) if d else 1 - flip)


_FAMILIES: dict[str, Callable[[dict[str, Any], Query, int], Written]] = {
    "geometric": _geometric,
    "symmetric": _symmetric,
}


def _answer(query: Query) -> str | None:
    """The answer of a sum of bits as a formula, whose value is the class."""
    statistic = query.statistic
    if not isinstance(statistic, Sum) or statistic.contributions != tuple(range(len(statistic.contributions))):
        return None
    return "list_sum x" if statistic.modulus is None else f"(list_sum x) mod {statistic.modulus}"


def preamble(problem: Problem, adversary: str, claims: Sequence[str]) -> list[str]:
    """The first lines of a file; claims: what is proved against whom, in words that a comment may hold."""
    if problem.answer is None:
        place = "fold_left (fun n c => (n * snd c + fst c)%nat) (combine x sizes) 0%nat"
        answer = f"nth ({place}) {listed(problem.classes)} 0%nat"
    else:
        answer = problem.answer
    about = problem.words or f"{len(problem.records)} records, {len(problem.rows)} rows"
    return [
        # A comment that holds no star ends where it should.
        f"(* {about.replace('*', ' ')}, {adversary}:",
        *(f"   {claim}" for claim in claims[:-1]),
        f"   {claims[-1]} *)",
        "From Coq Require Import Reals ZArith List Arith Bool Lia.",
        "From Dalenius Require Import Numbers Tables Trees ChoiceTrees Audit Designs Independent.",
        "Import ListNotations.",
        "",
        "(* How many values every record has, the row that a dataset has, and the rows, each divided by its sum. *)",
        f"Definition sizes : list nat := {listed(problem.records)}.",
        f"Definition answer (x : list nat) : nat := {answer}.",
        *problem.text,
    ]


def bounded(problem: Problem, adversary: dict[str, Any], claims: Sequence[str]) -> list[str]:
    """The same, and what an adversary of bounded knowledge or entropy knows at most."""
    if "independent" in adversary:
        refuse("a design against independent records has none yet")
    if "knowledge" in adversary:
        limit, words = number(Fraction(adversary["knowledge"])), f"knowledge {float(adversary['knowledge'])!r}"
    else:
        limit = f"Minus (Log (Whole {math.prod(problem.records)})) {number(Fraction(adversary['entropy']))}"
        words = f"entropy {float(adversary['entropy'])!r}"
    return [*preamble(problem, words, claims), f"Definition limit : number := {limit}."]


def every_record(problem: Problem, given: str, leaks: str, follows: Callable[[int], str | None]) -> list[str]:
    """The theorem about every record; follows: how it is proved of one, None where it is not."""
    lines = [
        f"Theorem upper_bound : forall i, (i < {len(problem.records)})%nat -> forall {given}",
        f"  {leaks}",
        "Proof.",
        "  intros i I.",
    ]
    for j in range(len(problem.records)):
        proof = follows(j)
        if proof is None:
            refuse(f"record {j} is interchangeable with others in a way that has none yet")
        lines.append(f"  destruct i as [|i]. {{ {proof} }}")
    return [*lines, "  lia.", "Qed.", ""]
