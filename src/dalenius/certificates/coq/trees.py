"""The upper bound: trees of posteriors and of choices in Coq's words, and the theorem about every record.

Boxes are made again as the page on the certificate format says; a cut that is carried to another output, and what
posteriors that sum to one imply, become sums of bounds that hold already.
"""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from dalenius.certificates.coq.question import Problem, every_record, listed, number, refuse
from dalenius.verifier.kernel import packed
from dalenius.verifier.kernel.cuts import Scalars, middle

# Beyond this a check takes hours: a leaf takes about half a second of Coq's time.
LEAVES = 2_000
# By how much, relatively, an end that is carried is moved outward, so that intervals show it.
OUTWARD = 2.0**-44

Box = dict[tuple[int, int], float]  # of a value and an output
Ends = tuple[float, float]  # the least and the greatest


def upper_bound(problem: Problem, proofs: list[dict[str, Any]]) -> list[str]:
    """The trees, and the theorem about every record that follows from them."""
    return [*(line for proof in proofs for line in _proof(problem, proof)), *_all_records(problem, proofs)]


def _proof(problem: Problem, proof: dict[str, Any]) -> list[str]:
    """The bound on one record: data that Coq checks or not, and what follows."""
    if proof.get("steps"):
        refuse("steps before a proof have none yet")
    kind, i = proof["kind"], proof["record"]
    question, tree = f"rows masses_{i}", ""
    if kind == "trivial":
        theorem, asked = "values", f"{question} upper"
    elif kind == "choices":
        theorem, asked = "choices", f"{question} upper"
        tree = f"choice_tree :=\n{_choices(problem, i, proof['tree'])}"
    elif kind == "posteriors" and len(set(proof["groups"])) == len(proof["groups"]):
        theorem, asked = "posteriors", f"{question} limit upper"
        tree = f"tree :=\n{_Tree(problem, i, proof).text()}"
    else:
        words = "posteriors of groups of outputs" if kind == "posteriors" else f"the kind {kind!r}"
        refuse(
            f"{words} has none yet; audit with Settings(portfolio=only('choices', 'posteriors')) of dalenius.settings"
        )
    given = f" tree_{i}" if tree else ""
    return [
        f"Definition masses_{i} := Eval vm_compute in cell_masses sizes answer rows {i}.",
        *([f"Definition tree_{i} : {tree}."] if tree else []),
        f"Lemma checked_{i} : {theorem}_right {asked}{given} = true.",
        "Proof. vm_cast_no_check (eq_refl true). Qed.",
        f"Definition bounded_{i} := {theorem}_prove {question} limit upper{given} checked_{i}.",
        "",
    ]


def _all_records(problem: Problem, proofs: list[dict[str, Any]]) -> list[str]:
    """The theorem about every record, each by a proof about the same cells."""

    def follows(j: int) -> str | None:
        i = next((x["record"] for x in proofs if problem.masses(x["record"]) == problem.masses(j)), None)
        proof = (
            "apply audited_above; [vm_compute; reflexivity|].\n"
            f"    replace (cell_masses sizes answer rows {j}) with masses_{i} by (vm_compute; reflexivity).\n"
            f"    exact bounded_{i}."
        )
        return None if i is None else proof

    within = "p, law sizes p -> (knowledge sizes p <= value limit)%R ->"
    return every_record(problem, within, "(leakage sizes answer rows i p <= value upper)%R.", follows)


def _choices(problem: Problem, record: int, nodes: list[Any]) -> str:
    """A tree of choices: nodes in preorder, a list for a split and an object for a leaf."""
    if len(nodes) > LEAVES:
        refuse(f"its tree has {len(nodes)} nodes, more than {LEAVES}")
    left = iter(nodes)

    def node(cells: list[list[int]]) -> str:
        found = next(left)
        if isinstance(found, dict):
            return f"(Law {listed(f'Exp {number(x)}' for x in found['rho'])})"
        a, y, c = found
        here = [t for t in cells[a] if problem.rows[t][y] <= c]
        there = [t for t in cells[a] if problem.rows[t][y] > c]
        halves = [node([*cells[:a], part, *cells[a + 1 :]]) for part in (here, there)]
        # A half without candidates holds no prior in which this value has mass.
        if not here or not there:
            return halves[0 if here else 1]
        return f"(Split {a} {listed(here)}\n{halves[0]}\n{halves[1]})"

    return node(problem.cells(record))


class _Tree:
    """A packed tree of posteriors in Coq's words."""

    def __init__(self, problem: Problem, record: int, proof: dict[str, Any]) -> None:
        """Read codes and numbers of leaves."""
        self.cells, self.rows = problem.cells(record), problem.rows
        self.values, self.outputs = problem.records[record], len(problem.rows[0])
        # The group of every output, and the output of every group.
        self.output = {g: y for y, g in enumerate(proof["groups"])}
        self.groups = max(proof["groups"]) + 1
        self.boxed = 1 if self.values == 2 else self.values  # the other has what is left
        boxes = self.boxed * self.groups
        codes = [code for level in packed.levels(proof["tree"], boxes) for code in level]
        if codes.count(boxes) > LEAVES:
            refuse(f"its tree has {codes.count(boxes)} leaves, more than {LEAVES}; audit with a larger tolerance")
        self.leaves = packed.read_leaves(proof["leaves"], codes.count(boxes), boxes, 0)
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
        c = middle(low[a, y], high[a, y], Scalars)
        halves = []
        for upward, child in zip((True, False), self.children[node], strict=True):
            ends = (dict(low), dict(high))
            ends[upward][a, y] = c
            steps = list(self._carried(a, y, ends, upward=upward)) if self.ratios else []
            steps += list(self._summed(*ends)) if self.boxed == self.values else []
            halves.append(_nested(steps, self._node(child, *ends)))
        return f"(Cut {a} {y} {number(c)}\n{halves[0]}\n{halves[1]})"

    def _carried(self, a: int, y: int, ends: tuple[Box, Box], *, upward: bool) -> Iterator[str]:
        """New ends of the other outputs, by ratios; each with the weight that shows it."""
        box = ends[upward]
        c = box[a, y]
        for other in range(self.outputs):
            if other == y:
                continue
            (least, most), (rest_least, rest_most) = self._ratios(a, y, other)
            end, divisor = (most, rest_least) if upward else (least, rest_most)
            factor = end / divisor if divisor > 0.0 else math.inf
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
                cells = {t for b, own_cells in enumerate(self.cells) if (b == a) is own for t in own_cells}
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
        scale, sigmas = self.leaves.scale[leaf] + 1, self.leaves.sigma
        assert sigmas is not None  # for the type checker: they were asked for
        power, rest = divmod(sigmas[leaf], 2 ** (3 * scale))
        sigma = (1 + Fraction(rest, 2 ** (3 * scale))) * Fraction(2) ** power
        unit = Fraction(1, 16**scale)
        numbers = self.leaves.m[leaf * self.boxes : (leaf + 1) * self.boxes]
        first = self.values - self.boxed
        rows = [["Whole 0"] * self.outputs for _ in range(self.values)]
        for i, m in enumerate(numbers):
            row, group = divmod(i, self.groups)
            if group in self.output:
                rows[first + row][self.output[group]] = number(m * unit)
        rows[:first] = [[] for _ in range(first)]
        return _nested(steps, f"(Leaf {number(sigma)} {listed(map(listed, rows))})")

    def _nobody(self, low: Box, high: Box) -> str:
        for a, y in low:
            if low[a, y] > high[a, y]:
                return f"(Nobody {a} {y})"
        refuse("a box is empty by less than rounding")


def _children(codes: Sequence[int], boxes: int) -> dict[int, tuple[int, int]]:
    """The places of both halves of every cut: levels follow each other."""
    found, place = {}, 1
    for i, code in enumerate(codes):
        if code < boxes:
            found[i] = (place, place + 1)
            place += 2
    return found


def _follows(a: int, y: int, c: float, sources: list[tuple[bool, int, int, float]], *, upward: bool) -> str:
    summands = listed(f"({_side(up, b, x)}, {number(k)})" for up, b, x, k in sources)
    return f"Follows {_side(upward, a, y)} {number(c)} {summands}"


def _side(upward: bool, a: int, y: int) -> str:  # noqa: FBT001 - as in Coq
    return f"(Side {str(upward).lower()} {a} {y})"


def _nested(steps: Sequence[str], last: str) -> str:
    for step in reversed(steps):
        last = f"({step}\n{last})"
    return last
