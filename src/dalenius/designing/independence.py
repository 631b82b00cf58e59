"""A leakage budget of 0: the best mechanism whose output is independent of every record (MATH 6).

I_k(q) = 0 means z_k(a,y) = p_k(a) sum_a z_k(a,y), which is linear in q. The multipliers s_k(a,y) of these
equations, with sum_a p_k(a) s_k(a,y) = 0, are evidence in the limit: ratios exp(h s) and weight 1/h for a
small h lose only about h.
"""

import numpy as np
import scipy

from dalenius.designing.linear_limits import Matrix
from dalenius.designing.master import Plane
from dalenius.designing.problem import Evidence, LowerBound, Problem, best, bound, legal
from dalenius.numerics.types import Floats
from dalenius.reductions.symmetry import Domain

# The logarithms of the ratios that stand for the limit.
STEP = 1e-11
# Priors beyond the number of classes; knowledge, in nats, below which no tilted prior is tried.
EXTRA = 2
LEAST_KNOWLEDGE = 1e-11


def no_leakage(problem: Problem, rng: np.random.Generator) -> tuple[Floats, LowerBound]:
    """Return the mechanism of least distortion that leaks nothing, and the evidence that none is better.

    An adversary with any freedom can tilt its prior, and then only constant mechanisms leak nothing: random
    tilts of the reference, one more than there are classes, show it, unless the freedom is of rounding size.
    """
    domain = problem.domain
    planes = [Plane(record, masses) for record, masses in _tilts(problem, rng)]
    flat, (size, width) = domain.orbit.ravel(), domain.orbit.shape
    conditions = scipy.sparse.vstack([_conditions(domain, plane.masses) for plane in planes]).tocsr()
    cost = np.bincount(flat, weights=domain.cost.ravel())
    sums = scipy.sparse.csr_matrix((np.ones(flat.size), (np.repeat(np.arange(size), width), flat)), (size, cost.size))
    right = np.concatenate([np.zeros(conditions.shape[0]), np.ones(size)])
    solved = scipy.optimize.linprog(cost, A_eq=scipy.sparse.vstack([conditions, sums]), b_eq=right, bounds=(0, None))
    nothing = best(problem, ())
    if solved.x is None:
        return problem.constant, nothing
    rows = problem.constant if problem.knowledge > 0 else solved.x[domain.orbit]
    evidence, at = [], 0
    for plane in planes:
        many = plane.masses.shape[0] * width
        s = -solved.eqlin.marginals[at : at + many].reshape(plane.masses.shape[0], -1)
        evidence.append((plane, s - plane.masses.sum(axis=1) @ s))
        at += many
    # exp(h s) differs from 1 + h s by (h s)^2 / 2: h is as small as floats allow
    h = STEP / max([STEP, *(float(np.abs(s).max()) for _, s in evidence)])
    proof = tuple(Evidence(plane.record, plane.masses, legal(plane.masses.sum(axis=1), h * s)) for plane, s in evidence)
    lower = max(bound(problem, proof, np.full(len(proof), 1 / h)), nothing, key=lambda one: one.value)
    return np.asarray(rows), lower


def _conditions(domain: Domain, masses: Floats) -> Matrix:
    """(A Y, P) z(a,y) - p(a) sum_a z(a,y), over the parameters of a mechanism."""
    p, width = masses.sum(axis=1, keepdims=True), domain.orbit.shape[1]
    apart = masses - p * masses.sum(axis=0)
    a, y, c = np.meshgrid(*map(np.arange, (len(masses), width, masses.shape[1])), indexing="ij")
    shape = (len(masses) * width, int(domain.orbit.max()) + 1)
    places = ((a * width + y).ravel(), domain.orbit[c, y].ravel())
    return scipy.sparse.csr_matrix((apart[a, c].ravel(), places), shape=shape)


def _tilts(problem: Problem, rng: np.random.Generator) -> list[tuple[int, Floats]]:
    """The reference prior of each orbit of records, and random priors near it that the adversary may hold."""
    statistic, rho = problem.domain.statistic, problem.domain.reference
    found = []
    for members in rho.orbits(statistic):
        with np.errstate(divide="ignore"):
            reference = np.exp(rho.log_joint(statistic, members[0]))
        reference /= reference.sum()
        found.append((members[0], reference))
        many = statistic.size + EXTRA if problem.knowledge > LEAST_KNOWLEDGE else 0
        directions = rng.standard_normal((many, *reference.shape))
        found += [(members[0], _tilted(reference, direction, problem.knowledge)) for direction in directions]
    return found


def _tilted(reference: Floats, direction: Floats, knowledge: float, halvings: int = 60) -> Floats:
    """Reference ~ exp(t direction), t as large as D <= knowledge / 2 allows."""
    t = 1.0
    for _ in range(halvings):
        masses = reference * np.exp(t * direction)
        masses /= masses.sum()
        held = reference > 0
        if (masses[held] * np.log(masses[held] / reference[held])).sum() <= knowledge / 2:
            return np.asarray(masses)
        t /= 2
    return reference
