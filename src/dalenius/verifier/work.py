"""How much memory and time checking a certificate takes, estimated from sizes alone before anything is built.

Rough: within a factor of three or so. The clock (limits.tick) and, for files, the system's own limits (process.py)
stand behind it. Where a part of the certificate makes no sense, it counts for nothing here; checking it will say why.
Parts are estimated one by one, for the check goes through them in order: a later one that makes no sense must not hide
what an earlier one takes.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from .balls import PRECISION
from .channels import named, own_count, samples
from .channels.counting import Histogram, Sum, Table
from .kinds import doubles
from .kinds.packed import levels
from .limits import LONGEST, MIB, largest, ticking, too_large, too_long
from .reading import AUDIT, DESIGN, JOINT, Refused

T = TypeVar("T")


@dataclass(frozen=True)
class Costs:
    """Memory in bytes, measured with python-flint 0.8 on CPython 3.11; time in seconds, on one core at 2.9 GHz."""

    # Bytes of an entry of a list, and of a float with its entry; a ball of 128 bits and its entry in a list; an entry
    # of a FLINT matrix; a ball in a dictionary, with its key.
    link: int = 8
    real: int = 32
    ball: int = 72
    held: int = 48
    share: int = 260
    # Bytes that NumPy takes by itself.
    numpy: int = 2**26
    # Bytes of a class of a sum that is never written out, and of a dataset that is gone through.
    sum_class: int = 330
    dataset: int = 250
    # Seconds of a product inside FLINT, of making an entry of its matrices, of an operation or a function that Python
    # calls.
    product: float = 5e-8
    make: float = 1e-7
    operation: float = 2.5e-7
    function: float = 2e-6
    # Seconds of an entry of a row that is written as a mixture of grid rows, in whole numbers.
    mixture: float = 4e-6
    # Seconds of a node of a tree, and of a certificate, whatever their size.
    node: float = 5e-5
    start: float = 2e-3
    # Seconds of a term of a sum of floats, and of a bit of the coefficients of a polynomial that is raised to a power.
    term: float = 2e-8
    bit: float = 1.5e-7
    # The noise reaches this many times 1 / rate, or times sigma, before its tails are enclosed.
    rates: float = 45.0
    sigmas: float = 9.5
    # An estimate this many times the limit is refused before the check begins.
    hopeless: float = 3.0


COST = Costs()


@dataclass(frozen=True)
class Work:
    """Memory in bytes, time in seconds."""

    bytes: float = 0.0
    seconds: float = 0.0

    def __add__(self, other: "Work") -> "Work":
        return Work(self.bytes + other.bytes, self.seconds + other.seconds)


@dataclass(frozen=True)
class Shape:
    """Sizes of a channel: classes, outputs, balls of its own, values of a record, records, and cells of a secret."""

    classes: int
    outputs: int
    balls: int
    values: int
    cells: int


def admit(content: dict[str, Any], mechanism: dict[str, Any] | None, memory: int, time_limit: float) -> None:
    """Raise NotChecked where checking would surely go beyond the limits (MiB, seconds)."""
    needed = estimate(content, mechanism)
    if needed.bytes > memory * MIB:
        too_large(needed.bytes / MIB, memory)
    if needed.seconds > COST.hopeless * time_limit and time_limit < LONGEST:
        too_long(needed.seconds, time_limit)


def seconds(content: dict[str, Any]) -> float:
    """Return about how long checking takes."""
    return estimate(content).seconds


def estimate(content: dict[str, Any], mechanism: dict[str, Any] | None = None) -> Work:
    """Return about what checking a certificate takes, and comparing its channel with a mechanism's.

    Reads what the check will read, and nothing else, so that no further key can hide what the check needs.
    """
    if content.get("format") == DESIGN:
        audit = content.get("audit")
        inside = estimate(audit, mechanism) if isinstance(audit, dict) else Work()
        return inside + _part(lambda: _design(content))
    if content.get("format") == JOINT:
        return _part(lambda: _joint(content))
    whole = _without_rows(content, mechanism)
    if whole is not None:
        return Work(0.0, COST.start) + whole
    witness = content.get("witness")
    problem = content.get("problem")
    real = isinstance(problem, dict) and "quadrature" in problem
    shape = _found(lambda: _shape(content["problem"], content.get("secret")))
    if shape is None:
        return Work()
    parts = Work(0.0, COST.start) + _rebuilt(shape) + _part(lambda: _enumerated(content))
    parts += _part(lambda: _limits(content["problem"]))
    if mechanism is not None and not real:
        parts += _part(lambda: _rebuilt(_shape(mechanism, None)))
    if real and isinstance(witness, dict) and "quadrature" in witness:
        parts += _part(lambda: _real(witness["quadrature"], shape))
    else:
        parts += _information(shape)
    return parts + _proofs(content.get("proofs"), shape)


def _without_rows(content: dict[str, Any], mechanism: dict[str, Any] | None) -> Work | None:
    """Forms that are checked in ways of their own; None where rows and cells are built."""
    witness, adversary = content.get("witness"), content.get("adversary")
    held = witness.keys() if isinstance(witness, dict) else set()
    if "cells" in held:
        return _part(lambda: _continuous(content))
    if isinstance(adversary, dict) and "independent" in adversary:
        return _part(lambda: _independent(content, mechanism))
    if {"blocks", "kind"} & held:
        return _part(lambda: _large(content))
    if "part" in held:
        return _part(lambda: _local(content))
    # The uniform prior of one record is one formula, whatever the size.
    return Work() if "uniform" in held else None


def _joint(content: dict[str, Any]) -> Work:
    """The audits inside, one after the other; others than audits are refused before they are looked at."""
    return _one_by_one(_release, content["releases"])


def _release(release: dict[str, Any]) -> Work:
    audit = release["audit"]
    inside = estimate(audit) if audit["format"] == AUDIT else Work()
    return inside + _part(lambda: Work(0.0, COST.operation * len(release["columns"])))


def _continuous(content: dict[str, Any]) -> Work:
    """The certificates about whole numbers inside, one after the other; laws of grids in rational numbers."""
    edges = _found(lambda: len(content["adversary"]["reference"]["edges"])) or 0
    return _one_by_one(partial(_on_grid, edges=edges), [content["witness"], *_listed(content.get("proofs"))])


def _on_grid(part: dict[str, Any], edges: int) -> Work:
    """A witness or a proof of real-valued records; what is inside its own audit is refused before it is looked at."""
    audit = part.get("audit")
    found = Work()
    if isinstance(audit, dict) and "cells" not in (audit.get("witness") or ()):
        found = estimate(audit)
    found += _part(lambda: Work(0.0, part.get("cells", 0) * max(2, edges) * 10 * COST.function))
    return found + (_part(lambda: _powers(part)) if "together" in part else Work())


def _powers(proof: dict[str, Any]) -> Work:
    """One coin for the other records: some products of long polynomials, 1 s at 200 records and 64 cells."""
    m = int(proof["cells"])
    n = int(str(proof["audit"]["problem"]["query"]).partition("n=")[2].partition(",")[0])
    return Work(0.0, 4e-8 * n * m * (128 + n * (2 + math.log2(m + 1))))


def _independent(content: dict[str, Any], mechanism: dict[str, Any] | None) -> Work:
    """One law of outputs for everything that the others may be, or one for all where noise is on a sum."""
    proofs, held = _listed(content.get("proofs")), content["witness"].get("unwritten")
    if held == "own":
        return _local({**content, "witness": {"part": {"others": 0, "counted": False}}})
    if held in ("sum", "counts"):
        return _beside(content)
    kinds = [proof.get("kind") for proof in proofs]
    if "shift" in kinds:
        data = named.query(content["problem"]["query"], listed=False).statistic
        added = _contributions(data)
        reach = sum(_reaching(part) for part in (content["witness"], *proofs))
        wide = len(added) * (max(added) - min(added) + 2 * reach) * (len(proofs) + 1)
        return Work(COST.ball * wide, 4 * COST.function * wide)
    if "indicators" in kinds:
        values = named.query(content["problem"]["query"], listed=False).statistic.alphabet(0)
        return Work(COST.ball * values, 8 * COST.function * values * (len(proofs) + 1))
    shape = _shape(content["problem"], content.get("secret"))
    parts = _rebuilt(shape) + (_part(lambda: _rebuilt(_shape(mechanism, None))) if mechanism is not None else Work())
    lines = sum(_found(partial(_many_laws, proof)) or 0 for proof in proofs)
    averaged = sum(kind != "lines" for kind in kinds) + 1
    terms = lines * shape.outputs * shape.values + averaged * shape.cells * shape.outputs
    others = [proof for proof in proofs if proof.get("kind") not in ("lines", "averaged")]
    return parts + Work(COST.ball * shape.classes * shape.values, COST.function * terms) + _proofs(others, shape)


def _many_laws(proof: dict[str, Any]) -> int:
    return len(proof["weights"]) if proof.get("kind") == "lines" else 0


def _reaching(part: dict[str, Any]) -> int:
    """How far a proof or a witness reaches; none reaches farther than that."""
    reach = part.get("reach", 0)
    return min(abs(reach), largest().reach) if isinstance(reach, int) else 0


def _beside(content: dict[str, Any]) -> Work:
    """A record of a release that is never written out, whose others follow a law: every output by itself."""
    asked = named.query(content["problem"]["query"], listed=False)
    sums = isinstance(asked.statistic, Sum)
    outputs = named.wide(content["problem"]["mechanism"], asked).width if sums else asked.statistic.n + 1
    values = asked.statistic.alphabet(0)
    # More is refused at once.
    outputs = min(outputs, largest().sum_joint // values)
    proofs = _listed(content.get("proofs"))
    reach = sum(map(_reaching, proofs))
    passed = _large({**content, "witness": {"blocks": [], "cuts": range(outputs)}})
    rows = values * outputs * (len(proofs) + 1)
    return passed + Work(2 * COST.ball * (rows + reach), 2 * COST.function * rows + 4 * COST.function * values * reach)


def _proofs(listed: object, shape: Shape) -> Work:
    """All proofs; one is held at a time."""
    proofs = _listed(listed)
    # The mixtures of a grid are found once.
    grids = {proof["k"] for proof in proofs if type(proof.get("k")) is int}
    mixed = Work(0.0, len(grids) * COST.mixture * shape.classes * shape.outputs)
    return _one_by_one(partial(_proof, shape=shape), proofs) + mixed


def _listed(proofs: object) -> list[dict[str, Any]]:
    """The proofs that can be read; the check ends at the first that cannot."""
    return [proof for proof in proofs if isinstance(proof, dict)] if isinstance(proofs, (list, tuple)) else []


def _one_by_one(measure: Callable[[Any], Work], items: Iterable[Any]) -> Work:
    """Items of which one is held at a time."""
    found = [_part(partial(measure, item)) for item in items]
    return Work(max((work.bytes for work in found), default=0.0), sum(work.seconds for work in found))


def _found(part: Callable[[], T]) -> T | None:
    """Return a part of the estimate; None where the certificate makes no sense there, so that the check ends there."""
    try:
        return part()
    except (Refused, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        return None


def _part(part: Callable[[], Work]) -> Work:
    found = _found(part)
    return Work() if found is None else Work(max(found.bytes, 0.0), max(found.seconds, 0.0))


def _shape(problem: dict[str, Any], secret: Any) -> Shape:  # noqa: ANN401 - JSON
    """Return the sizes of the channel that a problem describes."""
    if "query" in problem:
        asked = named.query(problem["query"])
        data = asked.statistic
        values, datasets = data.alphabet(0), data.n * math.log2(max(data.alphabet(0), 1))
        classes, outputs, balls = _named(problem, asked)
        if isinstance(data, Histogram):
            balls += 3 * (data.n + 1) * data.k  # powers and factorials
    else:
        records = problem["records"]
        values, datasets = max(records), sum(math.log2(max(k, 1)) for k in records)
        classes, outputs = _written(_rows(problem))
        classes = max(classes, 1 + max(problem["classes"])) if "samples" in problem else classes
        balls = classes * outputs
    # The channel is rebuilt before its secret is looked at.
    values = min(_found(partial(_of_secret, secret, values)) or values, largest().secret_values)
    cells = min(values * classes, 2 ** math.ceil(min(datasets, 62)))
    return Shape(classes, outputs, balls, values, max(cells, classes))


def _of_secret(secret: Any, values: int) -> int:  # noqa: ANN401 - JSON
    """How many values a secret has, of records that have so many."""
    if secret is None:
        return values
    listed = secret.get("records")
    return int(max(secret["values"]) + 1 if listed is None else values ** min(len(listed), 64))


def _enumerated(content: dict[str, Any]) -> Work:
    """Datasets that are gone through one by one, and laws of sums whose records differ."""
    reference = content["adversary"].get("reference") or {}
    secret = content.get("secret") or {}
    asked = named.query(content["problem"]["query"])
    data = asked.statistic
    datasets = 2 ** min(data.n * math.log2(max(data.alphabet(0), 1)), 40)
    if "weights" in reference or "values" in secret or ("marginals" in reference and isinstance(data, Histogram)):
        return Work(COST.dataset * datasets, 8 * COST.operation * datasets)
    if isinstance(data, Histogram) or not reference:
        return Work()
    laws = reference["marginals"] if "marginals" in reference else [reference["marginal"]]
    lost = sum(-math.log2(min(p for p in law if p > 0)) for law in laws) * (data.n / len(laws))
    bits = _classes(asked) * (2 * PRECISION + lost)
    return Work(bits / 2, bits * COST.bit)


def _rows(problem: dict[str, Any]) -> Sequence[Any]:
    rows: Sequence[Any] = problem["samples"]["rows"] if "samples" in problem else problem["rows"]
    return rows


def _limits(problem: dict[str, Any]) -> Work:
    """A tail of a binomial law for every count of samples."""
    sets, outputs = _written(_rows(problem)) if "samples" in problem else (0, 0)
    return Work(0.0, sets * outputs * (4 * samples.TERMS * COST.operation + 4 * COST.function))


def _written(rows: Sequence[Any]) -> tuple[int, int]:
    return len(rows), max(map(len, rows), default=0)


def _named(problem: dict[str, Any], asked: named.Query) -> tuple[int, int, int]:
    """Classes, outputs and balls of its own of a named query's mechanism."""
    classes = _classes(asked)
    if "rows" in problem or "samples" in problem:
        outputs = _written(_rows(problem))[1]
        return classes, outputs, classes * outputs
    name, _ = named.call(problem["mechanism"], named.MECHANISMS, "the mechanism")
    data = asked.statistic
    if "quadrature" in problem:
        outputs = _points(problem["quadrature"])
        return classes, outputs, classes * outputs
    if name == "randomized_response":
        many = int(2 ** min(data.n * math.log2(max(data.alphabet(0), 1)), 40))
        return many, many, data.n
    additive = name in named.ADDITIVE
    if isinstance(data, Histogram) and additive:
        outputs = int(2 ** min(data.k * math.log2(data.n + 1), 40))
        return classes, outputs, classes * outputs
    if name == "noisy_max":
        return classes, data.alphabet(0), classes * data.alphabet(0)
    own = name == "exponential"
    width = named.wide(problem["mechanism"], asked).width
    return classes, width, classes * width if own else 2 * width


def _classes(asked: named.Query) -> int:
    """The most classes that the statistic of a query may have."""
    data = asked.statistic
    vectors = math.comb(data.n + data.alphabet(0) - 1, min(data.n, data.alphabet(0) - 1, 64))
    if isinstance(data, Histogram):
        return vectors
    if isinstance(data, Table):
        return data.size
    low = min(data.contributions)
    step = math.gcd(*(c - low for c in data.contributions)) or 1
    sums = data.n * (max(data.contributions) - low) // step + 1
    return min(sums, data.modulus or sums, vectors)


def _points(quadrature: dict[str, Any]) -> int:
    many = quadrature["count"] if "count" in quadrature else quadrature["points"] * len(quadrature["edges"])
    return abs(int(many)) + 3


def _rebuilt(shape: Shape) -> Work:
    """The channel and the reference masses."""
    entries = shape.classes * shape.outputs
    size = COST.link * entries + COST.ball * shape.balls + COST.share * shape.cells
    return Work(size, COST.operation * entries / 4 + COST.function * shape.balls / 2 + 4 * COST.operation * shape.cells)


def _information(shape: Shape) -> Work:
    """I(A;Y) of one prior."""
    return Work(
        2 * COST.share * shape.cells + COST.ball * shape.values * shape.outputs,
        COST.operation * shape.cells * shape.outputs + COST.function * (shape.values + 1) * shape.outputs,
    )


def _real(quadrature: dict[str, Any], shape: Shape) -> Work:
    """A witness with points of its own."""
    outputs = _points(quadrature)
    finer = Shape(shape.classes, outputs, shape.classes * outputs, shape.values, shape.cells)
    return _rebuilt(finer) + _information(finer)


def _proof(proof: dict[str, Any], shape: Shape) -> Work:
    """One proof; the kinds are those of proofs.py."""
    kind, cells = proof["kind"], shape.cells
    if kind in ("maximal", "sibson"):
        return Work(2 * COST.share * cells, 2 * COST.function * cells)
    if kind == "reference":
        return _information(shape)
    if kind == "rows":
        each = max(1, cells // max(shape.values, 1))
        parts = [_part(partial(_one_row, row, each, shape)) for row in proof["rows"]]
        return Work(sum(p.bytes for p in parts), sum(p.seconds for p in parts))
    known = {
        "grid": _grid,
        "monotone": _chains,
        "window": _window,
        "beside": _beside_records,
        "posteriors": _posteriors,
    }
    if kind in known or "tree" not in proof:
        return known[kind](proof, shape) if kind in known else Work()
    tree = _tree_of(proof)
    if kind == "simplices":
        return _simplices(tree, shape)
    nested = proof["groups"] if kind == "boxes" else [proof.get("groups", [0])]
    phi = Work(0.0, COST.function * shape.classes * shape.outputs) if kind == "choices" else Work()
    return phi + _tree(tree, _groups(nested), cells, shape)


def _one_row(row: dict[str, Any], each: int, shape: Shape) -> Work:
    return _tree(_tree_of(row), _groups([row["groups"]]), each, shape)


def _tree_of(proof: dict[str, Any]) -> Sequence[Any]:
    """The tree of a proof, whose cells are summed up before it is looked at."""
    tree = proof["tree"]
    return tree if isinstance(tree, (list, tuple)) else ()


def _chains(proof: dict[str, Any], shape: Shape) -> Work:
    """Two chains of every value, each step a product with the cells' rows and one with their columns.

    Rows that a name says to fall by a factor a step have recursions in place of products; they have few balls.
    """
    if "first" in proof:
        return Work(0.0, _points_of(proof, shape.values) + 2 * COST.function * shape.cells)
    entries = shape.cells * shape.outputs
    stated = "ranks" in proof
    repair = COST.function * 2 * shape.classes * shape.outputs if stated else 0.0
    falling = not stated and shape.balls <= 2 * shape.outputs
    held = 0 if falling else min(entries, largest().held)
    making = 0.0 if held == entries or falling else COST.make * entries
    product = 12 * COST.operation * shape.values * shape.outputs if falling else COST.product * entries + making
    step = 2 * product + COST.function * (shape.cells + shape.values * shape.outputs)
    size = (2 * COST.ball * shape.classes * shape.outputs if stated else 0.0) + COST.held * held
    return Work(size, repair + 2 * (abs(int(proof["rounds"])) + 2) * step)


def _posteriors(proof: dict[str, Any], shape: Shape) -> Work:
    """A packed tree: its codes are gone through, level by level, as the check will do.

    Its widest level is held with the one before, and every leaf takes a product with the cells' laws of groups.
    """
    groups = _groups([proof["groups"]])
    boxes = groups * (1 if shape.values == 2 else shape.values)  # noqa: PLR2004 - one of two values has boxes
    nodes, leaves, widest = _found(lambda: _counted(proof["tree"], boxes)) or (0, 0, 0)
    entries = shape.cells * groups
    once = _tree((), groups, shape.cells, shape)
    size, time = once.bytes + 2 * nodes + leaves * (6 + 4 * boxes), once.seconds + COST.function * entries
    # Tangents need the laws of single outputs.
    tangents = _found(lambda: len(proof["tangents"])) or 0
    time += tangents * shape.cells * (2 * COST.product * shape.outputs + COST.function)
    if proof.get("ratios"):
        # Floats below and above every entry; extremes of every value, and factors, between all pairs of groups.
        size += 4 * COST.link * entries + COST.real * 2 * groups * (groups * shape.values + boxes)
        time += COST.function * entries + 8 * COST.term * entries * groups
    np = doubles.numpy(leaves, entries)
    if np is None:
        ends = 2 * COST.real * widest * boxes
        leaf = COST.node + COST.product * entries + COST.function * (shape.cells + 4 * shape.values * groups)
        return Work(size + 2 * ends, time + nodes * boxes * COST.function + leaves * leaf)
    ends = 2 * COST.link * widest * boxes
    leaf = COST.term * (shape.cells + entries / 8 + 4 * shape.values * groups)
    return Work(size + COST.numpy + 3 * ends, time + nodes * boxes * COST.term / 2 + leaves * leaf)


def _counted(tree: object, boxes: int) -> tuple[int, int, int]:
    """The nodes of a packed tree, its leaves, and the nodes of its widest level."""
    nodes = leaves = widest = 0
    for codes in levels(tree, boxes):
        nodes, leaves, widest = nodes + len(codes), leaves + codes.count(boxes), max(widest, len(codes))
    return nodes, leaves, widest


def _grid(proof: dict[str, Any], shape: Shape) -> Work:
    """Corners and weights of all rows, masses, and the proof about grid rows."""
    if not 1 <= proof["k"] <= largest().grid:
        # It is refused at once.
        return Work()
    rows = math.comb(proof["k"] + shape.outputs - 1, shape.outputs - 1)
    # As many as the check will take, and no more than all rows have corners.
    rows = min(rows, largest().grid_rows, shape.classes * shape.outputs)
    corners = shape.cells * shape.outputs
    small = Shape(rows, shape.outputs, rows * shape.outputs, shape.values, rows * shape.values)
    held = 3 * COST.link * shape.classes * shape.outputs + COST.share * small.cells
    inside = _part(lambda: _proof(proof["proof"], small))
    return Work(held, 2 * COST.operation * corners) + inside + _rebuilt(small)


def _window(proof: dict[str, Any], shape: Shape) -> Work:
    """The rows that are kept, once for every value, and the proof about them."""
    (first, last), (low, high) = proof["rows"], proof["outputs"]
    rows = min(min(abs(last - first) + 2, shape.classes + 1) * shape.values, shape.cells + shape.values)
    wide = min(abs(high - low) + 1, shape.outputs) + shape.values
    small = Shape(rows, wide, rows * wide, shape.values, rows)
    kept = Work(COST.link * rows * wide, COST.operation * (shape.cells * shape.outputs + rows * wide / 8))
    return kept + _part(lambda: _proof(proof["proof"], small))


def _beside_records(proof: dict[str, Any], shape: Shape) -> Work:
    """Every entry beside that of the product of both parts, and two chains for every value and number of ones."""
    rows = len(proof["release"])
    step = 2 * COST.product * rows * len(proof["release"][0]) + COST.function * (rows + len(proof["release"][0]))
    chains = 4 * rows * (abs(int(proof["rounds"])) + 2) * step
    return Work(2 * COST.ball * shape.outputs, 4 * COST.operation * shape.classes * shape.outputs + chains)


def _groups(nested: Iterable[Sequence[int]]) -> int:
    return max(0, *(max(groups) for groups in nested)) + 1


def _tree(tree: Sequence[Any], groups: int, cells: int, shape: Shape) -> Work:
    """Boxes, choices and rows: products of the cells' rows with a vector for every leaf."""
    entries = cells * shape.outputs
    held = entries if entries <= largest().held * shape.values else largest().part
    coarse = cells * groups if groups > 1 else 0
    leaves, waiting = _leaves(tree)
    nodes = COST.link * waiting * shape.values * max(groups, 1)
    size = COST.held * held + (2 * COST.ball + 2 * COST.held) * coarse + nodes
    making = COST.make * entries * (1 if held == entries else leaves)
    products = 2 * COST.product * entries + COST.function * (2 * cells + shape.outputs + 2 * shape.values * groups)
    once = making + COST.operation * (entries if coarse else 0) + COST.function * coarse
    tightened = 6 * COST.term * shape.values * groups**2
    return Work(size, once + (COST.node + tightened) * len(tree) + leaves * products)


def _simplices(tree: Sequence[Any], shape: Shape) -> Work:
    each = max(1, shape.cells // max(shape.values, 1))
    leaves, waiting = _leaves(tree)
    entries = shape.cells * (shape.outputs + each)
    size = COST.held * entries + waiting * (COST.link * shape.cells + COST.ball * (each + shape.outputs))
    splits = max(len(tree) - leaves, 0) * (each + shape.outputs) * (2 * COST.operation + COST.function)
    leaf = (COST.make + COST.product) * entries + COST.function * (2 * shape.cells + shape.values * shape.outputs)
    once = COST.function * shape.cells * shape.outputs + COST.node * len(tree)
    return Work(size, once + splits + leaves * (leaf + COST.operation * entries))


def _leaves(tree: Sequence[Any]) -> tuple[int, int]:
    """How many leaves a tree in preorder has, and the most nodes that wait at a time."""
    leaves, waiting, most = 0, 1, 1
    for item in ticking(tree):
        if isinstance(item, (list, tuple)):
            waiting += 1
            most = max(most, waiting)
        else:
            leaves += 1
            waiting -= 1
    return leaves, most


def _large(content: dict[str, Any]) -> Work:
    """Sums and histograms that are never written out: passes over the classes, and over those that each cut meets."""
    asked = named.query(content["problem"]["query"], listed=False)
    data = asked.statistic
    classes = _classes(asked) if isinstance(data, Sum) else data.n + 1
    proofs = _listed(content.get("proofs"))
    values = data.alphabet(0) ** (_found(lambda: len(content["secret"]["records"])) or 1)
    passes = sum(proof.get("kind") != "trivial" for proof in proofs)
    reach = _reach(content["problem"]["mechanism"], asked)
    cuts = _found(lambda: len(content["witness"]["cuts"])) or 0
    # Noise that falls by one factor a step takes two recursions.
    steady = named.exact_noise(content["problem"]["mechanism"], asked)[0] in ("geometric", "laplace")
    reached = 8 * (classes + cuts) if steady else min((2 * reach + 1) * cuts, classes * cuts)
    met = reached if "blocks" in content["witness"] else 0
    told = sum(proof.get("kind") == "reference" for proof in proofs)
    outputs = min(classes + 2 * reach, largest().sum_joint // values)
    met += told * (8 * (classes + outputs) if steady else min((2 * reach + 1) * outputs, classes * outputs))
    law = COST.function * (classes if set(_contributions(data)) <= {0, 1} else 20 * classes)
    time = law + COST.operation * values * (4 * classes + met) + passes * COST.function * classes * (1 + 2 * values)
    tied = _part(lambda: _tied(content["witness"], data.alphabet(0))) if "kind" in content["witness"] else Work()
    each = _one_by_one(partial(_unwritten, n=data.n, classes=classes, k=data.alphabet(0), values=values), proofs)
    return Work(COST.sum_class * classes + COST.ball * (values - 2) * classes / 4, time) + tied + each


def _unwritten(proof: dict[str, Any], n: int, classes: int, k: int, values: int) -> Work:
    """What some kinds of proof take beside a pass over the classes."""
    kind = proof.get("kind")
    if kind == "own-count":
        return _own_count(proof, n, k)
    if kind == "moved":
        return _moved(proof, n, k)
    if kind == "law":
        return _output_law(proof, classes)
    return Work(0.0, _points_of(proof, values)) if kind == "monotone" else Work()


def _own_count(proof: dict[str, Any], n: int, values: int) -> Work:
    """Outputs up to order: a logarithm and a few operations each, and once more for every count; counts beyond.

    Where nothing is left outside, count vectors beyond the tilt are revealed one by one; too many are refused at once.
    """
    wide = min(n, len(proof["tilt"]) + 1) + 1
    outputs = math.comb(wide + min(values, 64) - 2, min(values, 64) - 1) * wide
    each = 2 * COST.function + 6 * COST.operation + len(proof["tilt"]) * (COST.make + 2 * COST.product)
    beyond = 4.0 * COST.function * n
    if proof["outside"] == 0 and len(proof["tilt"]) < n:
        many = own_count.vectors(n, values)
        beyond = many * (4 * COST.function + 2 * COST.operation * values) if many <= largest().own_vectors else 0.0
    return Work(outputs * (2 * COST.ball + COST.held), outputs * each + beyond)


def _moved(proof: dict[str, Any], n: int, values: int) -> Work:
    """Counts, noise and moves together; and powers of polynomials, whose products double. Balls have twice the bits."""
    counts, own, others = (len(proof[key]) for key in ("tilt", "own", "others"))
    seen, most = 2 * proof["reach"] + 1, largest()
    if not 0 < seen * counts * (own + others) <= most.moved_terms or max(n, others) * values > most.moved_room:
        # It is refused at once.
        return Work()
    long = n + (values - 1) * others
    ratios = seen * max(own, others) + 2 * (seen + own + others)
    time = counts * seen * (2 * COST.function + COST.operation * (own + others)) + 2 * COST.operation * ratios
    products = 4 * values.bit_length() * long
    return Work(2 * COST.ball * (8 * long + ratios), time + COST.function * (8 * n + products))


def _local(content: dict[str, Any]) -> Work:
    """Local randomisers: the channel of one record, the part of the release that the witness is on, one-line proofs."""
    data = named.query(content["problem"]["query"], listed=False).statistic
    name, _ = named.call(content["problem"]["mechanism"], named.MECHANISMS, "the mechanism")
    k, about = data.alphabet(0), content["witness"]["part"]
    width = k if name == "randomized_response" else 2 ** min(k, 40)
    asked, others = _found(lambda: len(content["secret"]["records"])) or 1, min(about["others"], data.n)
    told = (others + 1) ** (width - 1) if about["counted"] else max(width, k) ** min(others, 64)
    joint = k**asked * width**asked * told
    if k * width > largest().local_entries or joint > largest().local_joint:
        # It is refused at once.
        return Work()
    grown = others * k * told if about["counted"] else others * k * joint
    proofs = _listed(content.get("proofs"))
    looked = sum(proof.get("kind") == "looks" for proof in proofs) * min(data.n, largest().looks)
    pairs = k**2 * width * len(proofs)
    time = COST.operation * (grown + 2 * joint) + COST.function * (2 * joint + 6 * looked + 4 * pairs)
    held = COST.ball * (k * width + k**asked * width**asked + 3 * k**asked * told) + COST.share * others
    return Work(held, time) + _one_by_one(_lines, proofs)


def _lines(proof: dict[str, Any]) -> Work:
    """Two logarithms, and a place, for every pair of lines of every stage but the last."""
    if proof.get("kind") != "bellman":
        return Work()
    pairs = min(sum(len(stage) ** 2 for stage in proof["lines"][:-1]), largest().bellman_pairs)
    return Work(0.0, pairs * (3 * COST.function + 12 * COST.operation))


def _tied(witness: dict[str, Any], values: int) -> Work:
    """Chances of steps of the guess; a power of a polynomial for each node; sums of weights that are gone through."""
    low, high = witness["window"]
    counts, nodes = high - low + 1 + len(witness["masses"]), len(witness["nodes"])
    steps, sums = len(witness["weights"]), values * (max(witness["weights"]) - min(witness["weights"]) + 1)
    powers = nodes * values * counts * math.log2(values * counts + 2) * 8 * COST.product
    chances = counts * (4 * COST.function + steps * (COST.operation + nodes * COST.product))
    return Work(0.0, float(chances + powers + sums * (COST.function + nodes * COST.operation)))


def _output_law(proof: dict[str, Any], classes: int) -> Work:
    """Two tails and some operations a class, and a product with every cut."""
    return Work(0.0, classes * (4 * COST.function + (COST.make + COST.product) * len(proof["cuts"])))


def _points_of(proof: dict[str, Any], values: int) -> float:
    """Two chains of every value, by recursions over the points."""
    step = len(proof["rho"]) * (24 * COST.operation + 2 * COST.function)
    return 2.0 * values * (abs(int(proof["rounds"])) + 2) * step


def _contributions(data: Sum | Histogram | Table) -> Sequence[int]:
    return data.contributions if isinstance(data, Sum) else (0, 1)


def _reach(mechanism: object, asked: named.Query) -> float:
    """How far the noise reaches before its tails are enclosed."""
    family, parameter = named.exact_noise(mechanism, asked)
    if parameter is None:
        return 0.0
    return float(COST.sigmas * parameter) if family.endswith("gaussian") else float(COST.rates / parameter)


def _design(content: dict[str, Any]) -> Work:
    """The pool of priors of a design; the audit inside counts by itself."""
    shape = _shape(content["audit"]["problem"], None)
    each = COST.product * shape.cells * shape.outputs + COST.function * (shape.cells + shape.values * shape.outputs)
    pairs = shape.classes * shape.outputs
    # Costs, gains and terms of all pairs, and of one prior at a time its masses and ratios.
    one_prior = shape.values * (shape.classes + shape.outputs)
    size = (4 * COST.ball + 4 * COST.held) * pairs + (COST.ball + COST.held) * one_prior
    pool = _found(lambda: len(content["pool"])) or 0
    return Work(size, 4 * COST.operation * pairs + pool * each)
