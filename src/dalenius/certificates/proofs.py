"""Which priors an adversary may hold, and proofs of an upper bound for one secret, each re-derived from the channel.

The secret A is any function of the dataset and the reference rho any prior: all that enters is rho(a,t), t the row of
the channel. Pairs (a,t) without mass, and secret values without any, are left out, as no prior with D(pi || rho) finite
has mass there; inside a pair a prior is rho(x|a,t), since any other with the same masses leaks as much and is farther.

trivial    I <= log|A|, log|Y|, and the log of the number of different rows.
maximal    for every prior pi with D(pi || rho) <= K, T the row of the channel and r any law of rows,
               I(A;Y) <= I(A;T) <= sum pi log( pi(t|a) / r(t) )
                                = D(pi || rho) - D(pi_A || rho_A) + sum pi log( rho(t|a) / r(t) )
                                <= K + max_{a,t} log( rho(t|a) / r(t) );
           with r(t) proportional to max_a rho(t|a) that is K + log sum_t max_a rho(t|a).
sibson     the last step with more care: with g = log( rho(t|a) / r(t) ) and any s > 0 (Donsker and Varadhan)
               sum pi g <= s D(pi || rho) + s log sum rho exp(g/s),
           and the best r(t) is proportional to m(t) = ( sum_a rho(a) rho(t|a)^order )^(1/order), order = 1 + 1/s:
               I(A;Y) <= (1+s) K + (1+s) log sum_t m(t).
           The second part is Sibson's information of that order; the limit of great orders is "maximal".
reference  with no knowledge at all the prior is the reference, and I is what it is there.
choices    I is convex in the conditionals w(.|a), so over all priors it is largest when every secret
           value a comes with a single cell t(a), and then I <= max_a D(q_t(a) || r) for any law r. A tree
           splits the cells of single values at numbers q(y) = c; every choice t ends in some leaf.
boxes      see boxes.py.
simplices  see simplices.py.
posteriors see posteriors.py.
rows       see rows.py.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

from flint import arb

from . import rows
from .balls import ZERO, Ball, Rows, log_sum_exp, short, xlogx
from .boxes import Boxes
from .channel import Channel
from .counting import Shares
from .limits import tick, ticking
from .posteriors import Posteriors
from .reading import Refused, mapping, number, numbers, refuse, sequence, whole
from .reading import field as entry
from .reference import UNIFORM, Reference
from .secret import Secret, joint
from .simplices import Simplices

MOST_ENTRIES = 2**25  # probabilities of all cells of a secret
DEEPEST = 10_000  # nodes of a tree that may wait at a time
MOST_WAITING = 2**26  # numbers that they may hold
NEAR = 1e-9  # relative distance at which masses pass for the reference prior
LEAST = 1e-290  # masses below it may have lost their digits in floats

TREES: dict[str, type[Boxes | Simplices | Posteriors]] = {
    "boxes": Boxes,
    "simplices": Simplices,
    "posteriors": Posteriors,
}
Method: TypeAlias = "Boxes | Choices | Posteriors | Simplices | rows.OneRow"
Choice = list[list[int]]  # per secret value, the positions of the cells still open


@dataclass(frozen=True)
class Knowledge:
    """D(prior || reference) <= most; `none` when that is exactly 0, `free` when every prior complies."""

    most: Ball
    none: bool
    free: bool


@dataclass(frozen=True)
class Question:
    """What a channel tells about a secret, and how much more than the reference an adversary may know."""

    channel: Channel
    secret: Secret
    knowledge: Knowledge
    reference: Reference = UNIFORM

    @cached_property
    def shares(self) -> list[Shares]:
        """rho(a, class), also of secret values a without mass."""
        return joint(self.channel.statistic, self.secret, self.reference)

    @cached_property
    def cells(self) -> list[dict[int, Ball]]:
        """rho(a, row) of the secret values with mass."""
        cells = self.merged(self.shares)
        if sum(map(len, cells)) * self.channel.outputs > MOST_ENTRIES:
            refuse(f"{self.secret.text} has too many cells to check; at most {MOST_ENTRIES} probabilities")
        return cells

    def merged(self, prior: list[Shares]) -> list[dict[int, Ball]]:
        """Return a prior over (secret value, class) as one over (secret value with mass, row)."""
        return self.channel.cells([law for law, share in zip(prior, self.shares, strict=True) if share])


@dataclass(frozen=True)
class Audited:
    """What an audit certificate has established: no prior with this knowledge leaks more than `upper` nats."""

    channel: Channel
    knowledge: Knowledge
    reference: Reference
    upper: float
    reason: str
    text: str


def prior_of(value: object, question: Question, where: str) -> list[Shares]:
    """Return masses over (secret value, class), divided by their exact sum."""
    masses = sequence(value, f"masses of {where}", len(question.shares))
    prior: list[Shares] = []
    for a, share in enumerate(question.shares):
        listed = numbers(masses[a], question.channel.statistic.size, f"masses of {where}, value {a}", low=0.0)
        law = {t: arb(m) for t, m in enumerate(listed) if m > 0}
        if not law.keys() <= share.keys():
            t = min(law.keys() - share.keys())
            refuse(f"{where} has mass on value {a}, class {t}, where there is no dataset of positive reference")
        prior.append(law)
    total = sum((m for law in prior for m in law.values()), ZERO)
    if not total > 0:
        refuse(f"{where} has no mass")
    return [{t: m / total for t, m in law.items()} for law in prior]


def held(prior: list[Shares], reference: list[Shares], knowledge: Knowledge, where: str) -> list[Shares]:
    """Return a prior that the adversary may hold: the one given, or the reference if it is that up to rounding.

    Guarantee: D(result || reference) <= knowledge.most, both alike inside their cells.
    """
    if knowledge.none:
        if (a := _apart(prior, reference)) is not None:
            refuse(
                f"{where} at value {a} is not the reference prior, uniform unless stated, "
                "the only one the adversary may hold"
            )
        return reference
    if not knowledge.free:
        pairs = zip(prior, reference, strict=True)
        divergence = sum((p * (p / rho[t]).log() for law, rho in pairs for t, p in law.items()), ZERO)
        if not divergence <= knowledge.most:
            if _apart(prior, reference) is None:
                return reference
            refuse(f"{where} has divergence {short(divergence)} where at most {short(knowledge.most)} is allowed")
    return prior


def _apart(prior: list[Shares], reference: list[Shares]) -> int | None:
    """Return a secret value at which a prior is not the reference up to rounding, or None."""
    for a, (law, cells) in enumerate(zip(prior, reference, strict=True)):
        if not all(abs(law.get(t, ZERO) - rho) <= NEAR * rho + LEAST for t, rho in cells.items()):
            return a
    return None


def check(question: Question, proof: dict[str, Any], where: str) -> float:
    """Return the bound that a proof claims, or refuse it.

    Guarantee: I(A;Y) <= result for every prior the adversary may hold.
    """
    upper = number(entry(proof, "upper", where), f"'upper' of {where}")
    kind = entry(proof, "kind", where)
    try:
        if kind == "trivial":
            compare(trivial(question), upper, where)
        elif kind == "maximal":
            compare(maximal(question), upper, where)
        elif kind == "sibson":
            compare(sibson(question, number(entry(proof, "order", "it"), "the order", 1.0)), upper, where)
        elif kind == "reference":
            compare(_reference(question), upper, where)
        elif kind == "choices":
            _leaves(proof, Choices(question), upper, where)
        elif isinstance(kind, str) and kind in TREES:
            tree = TREES[kind](question.cells, question.channel, question.knowledge.most, proof)
            _leaves(proof, tree, upper, where)
        elif kind == "rows":
            compare(_rows(question, proof, where), upper, where)
        else:
            refuse(f"its kind is none of trivial, maximal, sibson, reference, choices, {', '.join(TREES)}, rows")
    except Refused as reason:
        text = str(reason)
        raise Refused(text if text.startswith(where) else f"{where}: {text}") from None
    return upper


def compare(bound: Ball, upper: float, where: str) -> None:
    """Refuse a claim that is not shown to be at least the bound."""
    if not bound <= upper:
        refuse(f"{where}: bound {short(bound)} exceeds claimed {upper:.10g}")


def _leaves(proof: dict[str, Any], method: "Method", upper: float, where: str) -> None:
    """Compare the bound of every leaf."""
    for place, value in _values(proof, method, where):
        compare(value, upper, place)


def _rows(question: Question, proof: dict[str, Any], where: str) -> Ball:
    """Guarantee: I <= result for every prior the adversary may hold; the largest bound of a row's leaves bounds it."""
    s, total, said = rows.read(question.cells, question.channel, proof)
    largest = []
    for a, (row, item) in enumerate(said):
        values = [value for _, value in _values(item, row, f"{where}, row {a}")]
        if not values:
            refuse(f"row {a} has no leaf that is not empty")
        worst = values[0]
        for value in values[1:]:
            worst = worst.max(value)
        largest.append(worst / s)
    return s * (log_sum_exp(largest) + question.knowledge.most) + total


def _values(proof: dict[str, Any], method: "Method", where: str) -> Iterator[tuple[str, Ball]]:
    """Yield place and bound of every leaf of a tree written in preorder; the leaves cover the root."""
    pending: list[Any] = [method.root]
    deepest = min(DEEPEST, MOST_WAITING // method.size)
    leaf = 0
    for node, item in enumerate(sequence(entry(proof, "tree", "it"), "the tree")):
        if not pending:
            refuse("the tree goes on after its last leaf")
        tick()
        state = pending.pop()
        place = f"{where}, leaf {leaf}"
        if isinstance(item, (list, tuple)):
            try:
                left, right = method.split(state, item)
            except Refused as reason:
                refuse(f"{where}, node {node} of the tree: {reason}")
            pending += [right, left]
            if len(pending) > deepest:
                refuse("the tree is too deep")
            continue
        try:
            value = method.bound(state, mapping(item, "it"))
        except Refused as reason:
            refuse(f"{place}: {reason}")
        if value is not None:
            yield place, value
        leaf += 1
    if pending:
        refuse("the tree ends before its leaves cover everything")


def trivial(question: Question) -> Ball:
    """Guarantee: I <= result for every prior at all."""
    return arb(min(len(question.cells), question.channel.outputs, len(question.channel.rows))).log()


def maximal(question: Question) -> Ball:
    """Guarantee: I <= result for every prior the adversary may hold."""
    largest: dict[int, Ball] = {}
    for cell in question.cells:
        total = sum(cell.values(), ZERO)
        for row, rho in cell.items():
            given = rho / total
            largest[row] = largest[row].max(given) if row in largest else given
    return question.knowledge.most + sum(largest.values(), ZERO).log()


def sibson(question: Question, order: float) -> Ball:
    """Guarantee: I <= result for every prior the adversary may hold."""
    if order <= 1:
        refuse("the order must be above 1")
    alpha = arb(order)
    given: dict[int, list[tuple[Ball, Ball]]] = {}
    for cell in question.cells:
        total = sum(cell.values(), ZERO)
        for row, rho in ticking(cell.items()):
            given.setdefault(row, []).append((total, rho / total))
    means = sum((mean_of_order(pairs, alpha) for pairs in given.values()), ZERO)
    return alpha / (alpha - 1) * (question.knowledge.most + means.log())


def mean_of_order(pairs: list[tuple[Ball, Ball]], order: Ball) -> Ball:
    """( sum_j w_j p_j^order )^(1/order) of pairs (w, p) of positive balls."""
    tick()
    top = pairs[0][1]
    powers = sum((w * ((p / top).log() * order).exp() for w, p in pairs), ZERO)
    return top * (powers.log() / order).exp()


def _reference(question: Question) -> Ball:
    if not question.knowledge.none:
        refuse("a proof by reference is for an adversary without knowledge only")
    return information(question.channel, question.cells)


def information(channel: Channel, prior: list[dict[int, Ball]]) -> Ball:
    """Return I(A;Y) of a prior over (secret value, row) that sums to one."""
    joint = []
    for law in prior:
        z = [ZERO] * channel.outputs
        for row, p in law.items():
            tick()
            z = [x + p * q for x, q in zip(z, channel.rows[row], strict=True)]
        joint.append(z)
    total = sum((xlogx(x) for z in joint for x in z), ZERO)
    total -= sum((xlogx(sum(law.values(), ZERO)) for law in prior), ZERO)
    return total - sum((xlogx(sum(z, ZERO)) for z in zip(*joint, strict=True)), ZERO)


class Choices:
    """A "choices" proof for one secret."""

    def __init__(self, question: Question) -> None:
        """List the cells of every secret value."""
        channel = question.channel
        self.outputs = channel.outputs
        self.rows = [[channel.rows[r] for r in cell] for cell in question.cells]
        self.phi = [[channel.phi(r) for r in cell] for cell in question.cells]
        self.root: Choice = [list(range(len(rows))) for rows in self.rows]
        self.size = sum(map(len, self.rows))
        self._matrices = [Rows(rows) for rows in self.rows]

    def split(self, state: Choice, cut: Any) -> tuple[Choice, Choice]:  # noqa: ANN401 - JSON
        """Return the choices with q(y) <= c and those with q(y) >= c for one value; what is undecided goes to both."""
        a, y, c = sequence(cut, "a split", 3)
        whole(a, "the secret value of a split", 0, len(self.rows) - 1)
        whole(y, "the output of a split", 0, self.outputs - 1)
        at, rows = arb(number(c, "the number of a split")), self.rows[a]
        left = [t for t in state[a] if not rows[t][y] > at]
        right = [t for t in state[a] if not rows[t][y] < at]
        return [*state[:a], left, *state[a + 1 :]], [*state[:a], right, *state[a + 1 :]]

    def bound(self, state: Choice, leaf: dict[str, Any]) -> Ball | None:
        """Guarantee: I <= result for these choices; None when a secret value has none left."""
        if not all(state):
            return None
        rho = [arb(r) for r in numbers(entry(leaf, "rho", "it"), self.outputs, "rho")]
        worst = None
        for a, open_cells in enumerate(state):
            for x in self._divergences(a, open_cells, rho):
                worst = x if worst is None else worst.max(x)
        return log_sum_exp(rho) + worst

    def _divergences(self, a: int, cells: list[int], rho: list[Ball]) -> Iterator[Ball]:
        """sum_y q log q - q rho for the cells listed."""
        if 2 * len(cells) > len(self.rows[a]):
            means = self._matrices[a].times(rho)
            return (self.phi[a][t] - means[t] for t in cells)
        return (self.phi[a][t] - sum((q * r for q, r in zip(self.rows[a][t], rho, strict=True)), ZERO) for t in cells)
