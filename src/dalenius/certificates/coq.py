"""From a certificate to a file that Coq checks: data, and two theorems that follow from proofs/ by computing.

Nothing here is trusted. What is written is a question, a witness and trees; the theorems of `proofs/` say what follows
where Coq's own arithmetic accepts them. Boxes are made again as the page on the certificate format says; a cut that is
carried to another output, and what posteriors that sum to one imply, become sums of bounds that hold already.
"""

import ast
import base64
import math
import zlib
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.model.gallery.parse import parse_mechanism, parse_query
from dalenius.model.query import Query
from dalenius.model.statistic import Sum

# Beyond these a check takes hours: a leaf takes about a second of Coq's time, and datasets are listed.
LEAVES = 2_000
DATASETS = 2**12
ENTRIES = 2**9
# By how much, relatively, an end that is carried is moved outward, so that intervals show it.
OUTWARD = 2.0**-44
# Probabilities that differ by no more are the same but for rounding.
SAME = 1e-12

Box = dict[tuple[int, int], float]  # of a value and an output
Ends = tuple[float, float]  # the least and the greatest


def to_coq(certificate: Any) -> str:
    """Return a file for Coq with Coq-Interval that is accepted exactly if the certificate's bounds are proved.

    Compile it beside the files of `proofs/`, as `make prove` does. It needs an audit of a finite channel at bounded
    knowledge from the uniform prior, every record, whose upper bounds are trees of posteriors or of choices.

    Args:
        certificate: a Certificate, its data, or an Audit.

    Returns:
        The text of the file: the question, both bounds, and two theorems, `lower_bound` and `upper_bound`.

    Raises:
        InputError: the certificate is of a form that has no proof in Coq, or too large for one.

    Example:
        >>> audit = dl.audit(dl.mechanisms.symmetric(dl.queries.modular_sum(n=2, modulus=2), flip=0.3), entropy=0)
        >>> "Theorem upper_bound" in dl.to_coq(audit)
        True
    """
    found = getattr(certificate, "certificate", certificate)
    data = getattr(found, "data", found)
    if not isinstance(data, dict) or data.get("format") != "dalenius/audit-certificate":
        _refuse("it is not the certificate of an audit")
    if data.get("form") != "rows":
        _refuse(f"releases of the form {data.get('form')!r} have none yet, only 'rows'")
    for key, words in (("reference", "a reference prior"), ("independent", "independent records")):
        if key in data.get("adversary", ()):
            _refuse(f"an adversary with {words} has none yet")
    if "secret" in data:
        _refuse("a secret other than every record has none yet")
    try:
        return _written(data)
    except (LookupError, TypeError, ValueError, ArithmeticError, zlib.error) as error:
        if isinstance(error, InputError):
            raise
        _refuse(f"it is damaged ({type(error).__name__}: {error})")


def _written(data: dict[str, Any]) -> str:
    problem = _problem(data["problem"])
    proofs = [line for proof in data["proofs"] for line in _proof(problem, proof)]
    return "\n".join([*_question(problem, data), *_witness(data), *proofs, *_all_records(problem, data["proofs"]), ""])


def _refuse(reason: str) -> NoReturn:
    message = f"this certificate has no proof in Coq: {reason}; `dalenius verify` checks it"
    raise InputError(message)


# The question


@dataclass(frozen=True)
class _Problem:
    """A finite channel: rows in floats, which guide, and in Coq's words, which count."""

    records: tuple[int, ...]
    classes: tuple[int, ...]
    rows: list[list[float]]
    text: list[str]
    # The answer as a formula; None for a table of classes.
    answer: str | None = None
    words: str = ""

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


def _problem(given: dict[str, Any]) -> _Problem:
    """Rebuild the channel of a description."""
    if "quadrature" in given or "samples" in given or given.get("statistic") is not None:
        _refuse("count vectors, real outputs and samples have none yet")
    if "query" not in given:
        classes = given["classes"]
        sizes = tuple(given["records"])
        listed = tuple(range(math.prod(sizes))) if classes is None else tuple(classes)
        return _checked(_of_rows(sizes, listed, given["rows"]))
    query = parse_query(given["query"])
    if checks.log_universe(query.records) > math.log(DATASETS) + 1e-9:
        _refuse(f"it has {checks.size_text(query.records)} datasets, more than {DATASETS}")
    classes = tuple(int(t) for t in query.statistic.class_table())
    answer, words = _answer(query), str(query)
    if "mechanism" not in given:
        found = _of_rows(query.records, classes, given["rows"])
    else:
        found = _named(given["mechanism"], query, classes)
        words = f"{given['mechanism']} of {words}"
    return _checked(replace(found, answer=answer, words=words))


def _checked(problem: _Problem) -> _Problem:
    """Refuse what is too large."""
    if len(problem.classes) > DATASETS:
        _refuse(f"it has {len(problem.classes)} datasets, more than {DATASETS}")
    entries = len(problem.rows) * len(problem.rows[0]) * max(problem.records)
    if entries > ENTRIES:
        _refuse(f"its channel has {entries} entries of a value, a class and an output, more than {ENTRIES}")
    return problem


def _of_rows(records: Sequence[int], classes: tuple[int, ...], rows: list[list[float]]) -> _Problem:
    text = [
        "Definition rows : list (list number) := [",
        ";\n".join(f"  {_list(map(_number, row))}" for row in rows) + "].",
    ]
    return _Problem(tuple(records), classes, [[x / math.fsum(row) for x in row] for row in rows], text)


def _named(text: str, query: Query, classes: tuple[int, ...]) -> _Problem:
    """A mechanism of the gallery whose probabilities are rational or powers of one exponential."""
    mechanism = parse_mechanism(text, query).written()
    family, labels = _FAMILIES.get(text.partition("(")[0].strip()), list(mechanism.labels)
    answers = [] if query.vector else np.asarray(query.answers, dtype=np.int64).tolist()
    if family is None or query.vector or not set(answers) <= set(labels):
        _refuse(f"{text} of {query} has none yet, only {', '.join(_FAMILIES)} on whole numbers")
    places, width = [labels.index(f) for f in answers], len(labels)
    lines, weight = family(_arguments(text), query, width)
    rows = [[float(x) for x in row] for row in mechanism.rows]
    # The formula is written anew here: it must be the mechanism's.
    for f, row in zip(places, rows, strict=True):
        weights = [weight(abs(y - f), y in (0, width - 1)) for y in range(width)]
        if any(abs(w / math.fsum(weights) - x) > SAME for w, x in zip(weights, row, strict=True)):
            _refuse(f"{text} of {query} has other probabilities than were expected")
    lines.append(
        f"Definition rows : list (list number) := map (fun f => map (weight f) (seq 0 {width})) {_list(places)}."
    )
    return _Problem(tuple(query.records), classes, rows, lines)


def _arguments(text: str) -> dict[str, Any]:
    call = ast.parse(text.strip(), mode="eval").body
    if not isinstance(call, ast.Call) or call.args:
        _refuse(f"the arguments of {text} must have their names")
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
        f"Definition alpha (k : nat) : number := Exp (Times (Whole (- Z.of_nat k)) {_number(rate)}).",
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
        f"  if (y =? f)%nat then {_number(1 - flip)} else {_number(flip / (width - 1))}.",
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


def _question(problem: _Problem, data: dict[str, Any]) -> list[str]:
    many = math.prod(problem.records)
    adversary = data["adversary"]
    if "knowledge" in adversary:
        limit = _number(Fraction(adversary["knowledge"]))
    else:
        limit = f"Minus (Log (Whole {many})) {_number(Fraction(adversary['entropy']))}"
    if problem.answer is None:
        place = "fold_left (fun n c => (n * snd c + fst c)%nat) (combine x sizes) 0%nat"
        answer = f"nth ({place}) {_list(problem.classes)} 0%nat"
    else:
        answer = problem.answer
    about = problem.words or f"{len(problem.records)} records, {len(problem.rows)} rows"
    knows = "knowledge" if "knowledge" in adversary else "entropy"
    lower, upper = float(data["lower"]), float(data["upper"])
    return [
        # A comment that holds no star ends where it should.
        f"(* {about.replace('*', ' ')}, {knows} {float(adversary[knows])!r}:",
        f"   at most {upper!r} nats leak of any record, and at least {lower!r} of one. *)",
        "From Coq Require Import Reals ZArith List Arith Bool Lia.",
        "From Dalenius Require Import Numbers Tables Trees ChoiceTrees Audit.",
        "Import ListNotations.",
        "",
        "(* How many values every record has, the row that a dataset has, and the rows, each divided by its sum. *)",
        f"Definition sizes : list nat := {_list(problem.records)}.",
        f"Definition answer (x : list nat) : nat := {answer}.",
        *problem.text,
        f"Definition limit : number := {limit}.",
        f"Definition lower : number := {_number(Fraction(data['lower']))}.",
        f"Definition upper : number := {_number(Fraction(data['upper']))}.",
        "",
    ]


def _witness(data: dict[str, Any]) -> list[str]:
    witness = data["witness"]
    masses = ";\n".join(f"  {_list(map(_number, map(Fraction, row)))}" for row in witness["masses"])
    i = checks.whole("the record of the witness", witness["record"], 0)
    return [
        "(* A prior that is allowed, by value of the record and row, before division by its sum. *)",
        f"Definition witness : list (list number) := [\n{masses}].",
        "Theorem lower_bound : exists p, law sizes p /\\ (knowledge sizes p <= value limit)%R",
        f"  /\\ (value lower <= leakage sizes answer rows {i} p)%R.",
        "Proof.",
        "  apply audited_below; [vm_compute; reflexivity|].",
        "  apply (witness_proves _ _ witness). vm_cast_no_check (eq_refl true).",
        "Qed.",
        "",
    ]


# The upper bound


def _proof(problem: _Problem, proof: dict[str, Any]) -> list[str]:
    """The tree of one record, which Coq accepts or not."""
    if proof.get("steps"):
        _refuse("steps before a proof have none yet")
    kind, i = proof["kind"], proof["record"]
    if kind == "choices":
        kind, check, tree = "choice_tree", f"choices_right rows masses_{i} upper", _choices(problem, i, proof["tree"])
    elif kind == "posteriors" and len(set(proof["groups"])) == len(proof["groups"]):
        kind, check, tree = "tree", f"posteriors_right rows masses_{i} limit upper", _Tree(problem, i, proof).text()
    else:
        words = "posteriors of groups of outputs" if kind == "posteriors" else f"the kind {kind!r}"
        _refuse(
            f"{words} has none yet; audit with Settings(portfolio=only('choices', 'posteriors')) of dalenius.settings"
        )
    return [
        f"Definition masses_{i} := Eval vm_compute in cell_masses sizes answer rows {i}.",
        f"Definition tree_{i} : {kind} :=\n{tree}.",
        f"Lemma checked_{i} : {check} tree_{i} = true.",
        "Proof. vm_cast_no_check (eq_refl true). Qed.",
        "",
    ]


def _all_records(problem: _Problem, proofs: list[dict[str, Any]]) -> list[str]:
    """The theorem about every record, each by a proof about the same cells."""
    lines = [
        f"Theorem upper_bound : forall i, (i < {len(problem.records)})%nat -> forall p, law sizes p ->",
        "  (knowledge sizes p <= value limit)%R -> (leakage sizes answer rows i p <= value upper)%R.",
        "Proof.",
        "  intros i I.",
    ]
    for j in range(len(problem.records)):
        proof = next((x for x in proofs if problem.masses(x["record"]) == problem.masses(j)), None)
        if proof is None:
            _refuse(f"record {j} is interchangeable with others in a way that has none yet")
        i, by = proof["record"], "choices_prove" if proof["kind"] == "choices" else "posteriors_prove"
        lines += [
            "  destruct i as [|i].",
            "  { apply audited_above; [vm_compute; reflexivity|].",
            f"    replace (cell_masses sizes answer rows {j}) with masses_{i} by (vm_compute; reflexivity).",
            f"    exact ({by} rows masses_{i} limit upper tree_{i} checked_{i}). }}",
        ]
    return [*lines, "  lia.", "Qed.", "", "Print Assumptions lower_bound.", "Print Assumptions upper_bound."]


def _choices(problem: _Problem, record: int, nodes: list[Any]) -> str:
    """A tree of choices: nodes in preorder, a list for a split and an object for a leaf."""
    if len(nodes) > LEAVES:
        _refuse(f"its tree has {len(nodes)} nodes, more than {LEAVES}")
    listed = iter(nodes)

    def node(cells: list[list[int]]) -> str:
        found = next(listed)
        if isinstance(found, dict):
            return f"(Law {_list(f'Exp {_number(x)}' for x in found['rho'])})"
        a, y, c = found
        here = [t for t in cells[a] if problem.rows[t][y] <= c]
        there = [t for t in cells[a] if problem.rows[t][y] > c]
        halves = [node([*cells[:a], part, *cells[a + 1 :]]) for part in (here, there)]
        # A half without candidates holds no prior in which this value has mass.
        if not here or not there:
            return halves[0 if here else 1]
        return f"(Split {a} {_list(here)}\n{halves[0]}\n{halves[1]})"

    return node(problem.cells(record))


class _Tree:
    """A packed tree of posteriors in Coq's words."""

    def __init__(self, problem: _Problem, record: int, proof: dict[str, Any]) -> None:
        """Read codes and numbers of leaves."""
        self.cells, self.rows = problem.cells(record), problem.rows
        self.values, self.outputs = problem.records[record], len(problem.rows[0])
        # The group of every output, and the output of every group.
        self.output = {g: y for y, g in enumerate(proof["groups"])}
        self.groups = max(proof["groups"]) + 1
        self.boxed = 1 if self.values == 2 else self.values  # noqa: PLR2004 - the other has what is left
        boxes = self.boxed * self.groups
        codes = array("B" if boxes + 2 <= 2**8 else "H", _unpacked(proof["tree"]))
        if codes.count(boxes) > LEAVES:
            _refuse(f"its tree has {codes.count(boxes)} leaves, more than {LEAVES}; audit with a larger tolerance")
        leaves = proof["leaves"]
        self.scale = _unpacked(leaves["scale"])
        self.sigma = array("i", _unpacked(leaves["sigma"]))
        self.m = array({1: "b", 2: "h", 4: "i"}[leaves["bytes"]], _unpacked(leaves["m"]))
        self.boxes, self.ratios = boxes, proof["ratios"]
        self.children = _children(codes, boxes)
        self.codes = codes
        self.leaf_of = dict(zip((i for i, c in enumerate(codes) if c == boxes), range(len(codes)), strict=False))
        self.factors: dict[tuple[int, int, int], tuple[Ends, Ends]] = {}

    def text(self) -> str:
        """The whole tree."""
        every = [(a, y) for a in range(self.values) for y in range(self.outputs)]
        return self._node(0, dict.fromkeys(every, 0.0), dict.fromkeys(every, 1.0))

    def _node(self, node: int, low: Box, high: Box) -> str:
        code = self.codes[node]
        if code == self.boxes:
            return self._leaf(self.leaf_of[node], dict(low), dict(high))
        if code > self.boxes:
            return self._nobody(low, high)
        row, group = divmod(code, self.groups)
        a, y = (1 if self.boxed < self.values else row), self.output[group]
        c = _middle(low[a, y], high[a, y])
        halves = []
        for upward, child in zip((True, False), self.children[node], strict=True):
            ends = (dict(low), dict(high))
            ends[upward][a, y] = c
            steps = list(self._carried(a, y, ends, upward=upward)) if self.ratios else []
            steps += list(self._summed(*ends)) if self.boxed == self.values else []
            halves.append(_nested(steps, self._node(child, *ends)))
        return f"(Cut {a} {y} {_number(c)}\n{halves[0]}\n{halves[1]})"

    def _carried(self, a: int, y: int, ends: tuple[Box, Box], *, upward: bool) -> Iterator[str]:
        """New ends of the other outputs, by ratios; each with the weight that shows it."""
        box = ends[upward]
        c = box[a, y]
        for other in range(self.outputs):
            if other == y:
                continue
            (least, most), (rest_least, rest_most) = self._ratios(a, y, other)
            factor = most / rest_least if upward else least / rest_most
            outward = 1.0 + OUTWARD if upward else 1.0 - OUTWARD
            if not 0.0 < factor < math.inf or not 0.0 < c < 1.0:
                continue
            new = min(c / (c + (1.0 - c) / factor) * outward, 1.0)
            if not (new < box[a, other] if upward else new > box[a, other]):
                continue
            # From (1-new) q' <= k (1-c) q at the cells of a and new q' >= k c q elsewhere, or the other way round.
            own = (1.0 - new) / (1.0 - c) * (most if upward else least)
            rest = new / c * (rest_least if upward else rest_most)
            box[a, other] = new
            yield _follows(a, other, new, [(upward, a, y, (own + rest) / 2)], upward=upward)

    def _ratios(self, a: int, y: int, other: int) -> tuple[Ends, Ends]:
        """Least and greatest q(other|t) / q(y|t) over the cells of a, and over those of all other values."""
        if (a, y, other) not in self.factors:
            found = []
            for own in (True, False):
                cells = {t for b, listed in enumerate(self.cells) if (b == a) is own for t in listed}
                pairs = [(self.rows[t][other], self.rows[t][y]) for t in cells]
                ratios = [p / q if q > 0 else math.inf for p, q in pairs if p > 0 or q > 0]
                found.append((min(ratios, default=math.inf), max(ratios, default=0.0)))
            self.factors[a, y, other] = (found[0], found[1])
        return self.factors[a, y, other]

    def _summed(self, low: Box, high: Box) -> Iterator[str]:
        """Posteriors sum to one: what the ends of the other values leave."""
        for y in range(self.outputs):
            for upward in (True, False):
                mine, theirs = (high, low) if upward else (low, high)
                for a in range(self.values):
                    others = [b for b in range(self.values) if b != a]
                    left = 1.0 - math.fsum(theirs[b, y] for b in others)
                    new = left + OUTWARD if upward else left - OUTWARD
                    if new < mine[a, y] - OUTWARD if upward else new > mine[a, y] + OUTWARD:
                        mine[a, y] = new
                        yield _follows(a, y, new, [(not upward, b, y, 1.0) for b in others], upward=upward)

    def _leaf(self, leaf: int, low: Box, high: Box) -> str:
        steps = list(self._summed(low, high)) if self.boxed < self.values else []
        bits = 3 * (self.scale[leaf] + 1)
        power, rest = self.sigma[leaf] >> bits, self.sigma[leaf] & (2**bits - 1)
        sigma = (1 + Fraction(rest, 2**bits)) * Fraction(2) ** power
        unit = Fraction(1, 16 ** (self.scale[leaf] + 1))
        numbers = self.m[leaf * self.boxes : (leaf + 1) * self.boxes]
        first = self.values - self.boxed
        rows = [["Whole 0"] * self.outputs for _ in range(self.values)]
        for i, m in enumerate(numbers):
            row, group = divmod(i, self.groups)
            if group in self.output:
                rows[first + row][self.output[group]] = _number(m * unit)
        rows[:first] = [[] for _ in range(first)]
        return _nested(steps, f"(Leaf {_number(sigma)} {_list(map(_list, rows))})")

    def _nobody(self, low: Box, high: Box) -> str:
        for a, y in low:
            if low[a, y] > high[a, y]:
                return f"(Nobody {a} {y})"
        _refuse("a box is empty by less than rounding")


def _children(codes: Sequence[int], boxes: int) -> dict[int, tuple[int, int]]:
    """The places of both halves of every cut: levels follow each other."""
    found, place = {}, 1
    for i, code in enumerate(codes):
        if code < boxes:
            found[i] = (place, place + 1)
            place += 2
    return found


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


def _middle(low: float, high: float) -> float:
    c = (1.0 - (math.sqrt((1.0 - low) * (1.0 - high)) - math.sqrt(low * high))) / 2.0
    return c if low < c < high else (low + high) / 2.0


def _follows(a: int, y: int, c: float, sources: list[tuple[bool, int, int, float]], *, upward: bool) -> str:
    listed = _list(f"({_side(up, b, x)}, {_number(k)})" for up, b, x, k in sources)
    return f"Follows {_side(upward, a, y)} {_number(c)} {listed}"


def _side(upward: bool, a: int, y: int) -> str:  # noqa: FBT001 - as in Coq
    return f"(Side {str(upward).lower()} {a} {y})"


def _nested(steps: Sequence[str], last: str) -> str:
    for step in reversed(steps):
        last = f"({step}\n{last})"
    return last


def _number(x: float | Fraction) -> str:
    """A number exactly: a float is z / 2^k."""
    exact = Fraction(x)
    z, d = exact.numerator, exact.denominator
    top = f"({z})" if z < 0 else f"{z}"
    if d == 1:
        return f"(Whole {top})"
    if d & (d - 1) == 0:
        return f"(Binary {top} {d.bit_length() - 1})"
    return f"(Over (Whole {top}) (Whole {d}))"


def _list(items: Any) -> str:
    return f"[{'; '.join(map(str, items))}]"
