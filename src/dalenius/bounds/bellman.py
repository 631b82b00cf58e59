"""Local randomisers on bits from above, by dynamic programming (docs/mathematics.md 4.12, kind `bellman`).

The secret A is one bit, the others are looked at one after the other, and an adversary who chooses the law of each bit
after seeing the outputs so far can only learn more. With v the chance of A = 1 and P(y) m(a,y) as after a look,

    B_0(v) = -H(A|Y_0),     B_j(v) = sup_{w_0, w_1} sum_y P(y) B_(j-1)(v_y) - s sum_a v_a D(w_a || rho_j),
    L <= s K + max_p { H(p) + B_(n-1)(p) - s D(p || rho_0) } .

B_0 lies below chords, so below the largest of lines (1-v) c_0 + v c_1. If B_(j-1) does, then for lines k(y) chosen by
output the supremum over w is that of a linear function less s D, and Gibbs gives it: B_j lies below the largest of the
lines through

    g_a(k) = s log sum_x rho_j(x) exp( sum_y W(y|x) c_a,k(y) / s ),      a = 0, 1.

Again chords of these at nodes leave few lines. The last maximum is (1+s) log sum_a exp( (c_a + s log rho_0(a))/(1+s) ).
"""

import math
from dataclasses import dataclass

import numpy as np

from dalenius.bounds.closing import Formula, close
from dalenius.model.channels.per_record import PerRecord
from dalenius.model.reference import Reference
from dalenius.numerics.information import xlogy
from dalenius.numerics.iterations import least_between
from dalenius.numerics.types import Floats
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class BellmanSearch(Part):
    """Bits one after the other."""

    # Records at most: beyond them the formula is as good.
    records: int = 32
    # Nodes at last. With 120 nodes eight bits at epsilon 1 and knowledge 0.5 are 1e-4 above what more would give, in
    # 0.15 s, and take a verifier a second or two.
    nodes: int = 120


# Lines are raised by this much, so that a verifier finds them true.
RAISED = 1e-12


def possible(mechanism: PerRecord, members: tuple[int, ...], knowledge: float, settings: BellmanSearch) -> bool:
    """Whether the secret is one bit among not too many, each with two outputs."""
    small = mechanism.rows.shape == (2, 2) and mechanism.n <= settings.records
    return small and len(members) == 1 and knowledge > 0


def best(  # noqa: PLR0917 - a problem, and how it is solved
    mechanism: PerRecord,
    member: int,
    knowledge: float,
    reference: Reference,
    settings: BellmanSearch,
    deadline: Deadline,
    *,
    enough: float = 0.0,
    s_range: tuple[float, float] = (1e-4, 2.0),
    accuracy: float = 1e-3,
    few: int = 40,
    fewer: tuple[int, ...] = (40, 60, 80),
) -> Formula | None:
    """The best multiplier on few nodes, then more of them; None where the time is over.

    enough: an upper bound that will do. A verifier goes through all pairs of lines, so the fewest nodes are taken: with
    60 eight bits at epsilon 1 and knowledge 0.5 are 0.8 % above what 120 give, and it has a quarter as much to do.
    accuracy: of log s, which is searched on `few` nodes.
    """
    laws = [np.exp(reference.log_law_of(i, 2)) for i in range(mechanism.n)]
    own, others = laws[member], [law for i, law in enumerate(laws) if i != member]
    if min(law.min() for law in laws) <= 0:
        return None

    def at(s: float, many: int) -> Formula | None:
        # Half way in arcsin sqrt(v) chords are equally far above B_0.
        nodes = np.sin(np.linspace(0.0, np.pi / 2, many + 1)) ** 2
        nodes[-1] = 1.0
        lines = [_chords(nodes, _told(mechanism.rows, nodes), RAISED)]
        for law in others:
            if deadline.expired():
                return None
            lines.append(_looked(nodes, lines[-1], mechanism.rows, law, s, RAISED))
        # Each of the last lines is a majorant H(p) + <p, c>: theta = 1.
        upper = float(close(np.log(own), lines[-1], knowledge, s=s, theta=1.0).max())
        return Formula("bellman", upper, {"s": s, "nodes": nodes.tolist(), "lines": np.stack(lines).tolist()})

    def upper(log_s: float) -> float:
        found = at(float(np.exp(log_s)), few)
        return np.inf if found is None else found.upper

    low, high = map(math.log, s_range)
    log_s, _ = least_between(upper, low, high, accuracy)
    for many in fewer if enough > 0 else ():
        found = at(math.exp(log_s), many)
        if found is None or found.upper <= enough:
            return found
    return at(math.exp(log_s), settings.nodes)


def _told(rows: Floats, v: Floats) -> Floats:
    """B_0 = -H(A|Y_0) at every v."""
    joint = np.stack([1 - v, v], axis=1)[:, :, None] * rows
    total = joint.sum(axis=1)
    return np.asarray((xlogy(joint, joint).sum(axis=1) - xlogy(total, total)).sum(axis=1))


def _chords(nodes: Floats, values: Floats, margin: float) -> Floats:
    """(lines, 2) the chords between neighbouring nodes, at v = 0 and v = 1, a little raised: a verifier rounds too."""
    slope = np.diff(values) / np.diff(nodes)
    low = values[:-1] - slope * nodes[:-1]
    return np.asarray(np.stack([low, low + slope], axis=1) + margin)


def _looked(nodes: Floats, lines: Floats, rows: Floats, law: Floats, s: float, margin: float) -> Floats:  # noqa: PLR0917 - the letters of the formula
    many = len(lines)
    new = np.empty((2, many, many))
    for a in (0, 1):
        # sum_y W(y|x) c_a,k(y) of both values x, for lines k(0), k(1)
        gain = [rows[x, 0] * lines[:, a, None] + rows[x, 1] * lines[None, :, a] + s * np.log(law[x]) for x in (0, 1)]
        new[a] = s * np.logaddexp(gain[0] / s, gain[1] / s)
    at_ends = new.reshape(2, -1)
    values = np.array([((1 - v) * at_ends[0] + v * at_ends[1]).max() for v in nodes])
    return _chords(nodes, values, margin)
