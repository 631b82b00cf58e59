r"""Proofs by branch and bound over the conditionals themselves ("simplices").

A secret is fixed. Cells c = (a,t) have reference mass rho_c and row q_c; a prior gives them pi_c = p_a w_c, with
D(pi || rho) <= K. The cells of a secret value are listed in the order in which their rows first appear among classes.
A node holds for every secret value as many vertices V_j, conditionals over its cells, as it has cells; the
root's are the single cells. A split [a, i, j, x] puts V = x V_i + (1-x) V_j in the place of V_i on the left
and of V_j on the right: what is a mixture of the vertices before is one of the vertices after, on one side
or the other. So every prior is pi = sum_j m_j V_j with m >= 0 at some leaf. With phi(u) = u log u, U_j = V_j q,
F_j = sum_y phi(U_jy), any s >= 0, law r of outputs and prior pi0 = p0_a w0_a with u0 = w0_a q, eta a bound on the
contraction of the rows of a, and e <= 1 with e eta <= s, I is there at most

    max_j [ (1-e) F_j + e <U_j, log u0> - <U_j, log r> - s <V_j, log pi0/rho> ] + s K.

Proof: docs/mathematics.md, 4.7.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from flint import arb

from .balls import ONE, ZERO, Ball, Matrix, column, log_sum_exp, matrix, xlogx
from .cells import Channel, Question
from .choices import leaves
from .contraction import contracts
from .reading import field, number, numbers, refuse, sequence, whole


class Vertex(NamedTuple):
    """A conditional over the cells of one secret value, its law of outputs, both rows, and F = sum_y phi(law)."""

    weights: Matrix
    law: Matrix
    f: Ball

    @classmethod
    def of(cls, weights: Matrix, law: Matrix) -> "Vertex":
        """Compute F."""
        return cls(weights, law, sum(map(xlogx, law.entries()), ZERO))


Node = list[list[Vertex]]  # per secret value


class Simplices:
    """A "simplices" proof for one secret: its eta checked, its leaves evaluated on demand."""

    def __init__(self, cells: list[dict[int, Ball]], channel: Channel, knowledge: Ball, proof: dict[str, Any]) -> None:
        """Read and check what all leaves share."""
        self.outputs, self.knowledge = channel.outputs, knowledge
        self.rows = [matrix([channel.rows[r] for r in cell]) for cell in cells]
        self.log_rho = [column([rho.log() for rho in cell.values()]) for cell in cells]
        etas = numbers(field(proof, "eta", "it"), len(cells), "eta", low=0.0)
        self.eta = [arb(min(1.0, eta)) for eta in etas]
        for a, (eta, cell) in enumerate(zip(self.eta, cells, strict=True)):
            if not contracts([channel.rows[r] for r in cell], eta):
                refuse(f"value {a}: eta = {etas[a]} is not shown to bound the contraction coefficient of its rows")
        self.root: Node = [
            [
                Vertex.of(matrix([[ONE if t == j else ZERO for t in range(len(cell))]]), matrix([channel.rows[r]]))
                for j, r in enumerate(cell)
            ]
            for cell in cells
        ]
        self.size = sum(len(cell) * (len(cell) + self.outputs) for cell in cells)

    def split(self, node: Node, cut: Any) -> tuple[Node, Node]:
        """Return the two parts of a node at [secret value, vertex, vertex, share]; together they cover it."""
        a, i, j, share = sequence(cut, "a split", 4)
        whole(a, "the secret value of a split", 0, len(node) - 1)
        many = len(node[a])
        whole(i, "the first vertex of a split", 0, many - 1)
        whole(j, "the second vertex of a split", 0, many - 1)
        if i == j:
            refuse("a split needs two different vertices")
        x = arb(number(share, "the share of a split", 0.0, 1.0))
        one, other, rest = node[a][i], node[a][j], 1 - x
        middle = Vertex.of(one.weights * x + other.weights * rest, one.law * x + other.law * rest)
        left, right = list(node[a]), list(node[a])
        left[i], right[j] = middle, middle
        return [*node[:a], left, *node[a + 1 :]], [*node[:a], right, *node[a + 1 :]]

    def bound(self, node: Node, leaf: dict[str, Any]) -> Ball:
        """Guarantee: I <= result for every prior whose conditionals lie in these simplices."""
        s = arb(number(field(leaf, "s", "it"), "s", low=0.0))
        log_r = column(numbers(field(leaf, "r", "it"), self.outputs, "r"))
        log_r -= _all(log_sum_exp(log_r.entries()), self.outputs)
        listed = sequence(field(leaf, "pi", "it"), "pi", len(node))
        log_pi = [column(numbers(listed[a], len(vertices), f"pi of value {a}")) for a, vertices in enumerate(node)]
        total = log_sum_exp(x for own in log_pi for x in own.entries())
        worst = None
        for a, vertices in enumerate(node):
            e = ONE if not self.eta[a] > 0 else (s / self.eta[a]).min(ONE)
            rest = ONE - e
            by_output = self._log_law(a, log_pi[a]) * e - log_r
            by_cell = (log_pi[a] - self.log_rho[a] - _all(total, len(vertices))) * s
            for vertex in vertices:
                value = rest * vertex.f + (vertex.law * by_output)[0, 0] - (vertex.weights * by_cell)[0, 0]
                worst = value if worst is None else worst.max(value)
        return worst + s * self.knowledge

    def _log_law(self, a: int, log_pi: Matrix) -> Matrix:
        """log u0, and 0 for an output that no cell gives, whose coefficients are then zero as well."""
        listed = log_pi.entries()
        total = log_sum_exp(listed)
        law = matrix([[(x - total).exp() for x in listed]]) * self.rows[a]
        return column([ZERO if u.is_zero() else u.log() for u in law.entries()])


def _all(x: Ball, many: int) -> Matrix:
    """A column of this number."""
    return column([x] * many)


def bounds(question: Question, proof: dict[str, Any], where: str) -> Iterator[tuple[str, Ball]]:
    """Yield place and bound of every leaf."""
    tree = Simplices(question.cells, question.channel, question.knowledge.most, proof)
    return leaves(proof, tree, where)
