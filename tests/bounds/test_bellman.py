"""Bits one after the other: above what priors leak, near it, and each stage as its definition says."""

import itertools

import numpy as np
import pytest
from large_samples import both_local

import dalenius as dl
from dalenius.bounds import bellman
from dalenius.numerics.information import mutual_information, phi


def divergence(w: float, law: float) -> float:
    return float(phi(np.array([w, 1 - w])).sum() - w * np.log(law) - (1 - w) * np.log(1 - law))


def largest(lines: bellman.Floats, v: bellman.Floats) -> bellman.Floats:
    return np.asarray((np.outer(1 - v, lines[:, 0]) + np.outer(v, lines[:, 1])).max(axis=1))


@pytest.mark.parametrize("seed", range(4))
def test_a_stage_is_the_supremum_over_laws_of_the_next_bit(seed: int) -> None:
    """On random channels and lines, against a fine grid of laws; chords are what it is above by."""
    rng = np.random.default_rng(seed)
    rows, rho, s = rng.dirichlet(np.ones(2), size=2), rng.uniform(0.1, 0.9), rng.uniform(0.02, 0.5)
    nodes = np.linspace(0.0, 1.0, 201)
    before = bellman._chords(nodes[::20], phi(nodes[::20]) + phi(1 - nodes[::20]) * rng.uniform(0.2, 1), 0.0)
    after = bellman._looked(nodes, before, rows, np.array([1 - rho, rho]), s, 0.0)
    for v in (0.0, 0.3, 0.8):
        best = -np.inf
        for w in itertools.product(np.linspace(1e-9, 1 - 1e-9, 41), repeat=2):
            joint = np.array([(1 - v) * (np.array([1 - w[0], w[0]]) @ rows), v * (np.array([1 - w[1], w[1]]) @ rows)])
            seen = joint.sum(axis=0)
            gain = float(seen @ largest(before, joint[1] / seen))
            best = max(best, gain - s * ((1 - v) * divergence(w[0], rho) + v * divergence(w[1], rho)))
        assert best - 1e-9 <= largest(after, np.array([v]))[0] <= best + 5e-3


@pytest.mark.parametrize("reference", [None, [0.7, 0.3]])
@pytest.mark.parametrize("knowledge", [0.1, 0.5, 1.5])
def test_no_prior_is_above_it(knowledge: float, reference: list[float] | None) -> None:
    local, dense = both_local("randomized_response(epsilon=1)", "count(n=3)")
    audit = dl.audit(local, knowledge=knowledge, reference=reference)
    q, rng = dense.matrix(), np.random.default_rng(3)
    law = np.array(reference or [0.5, 0.5])
    rho = np.array([np.prod(law[list(x)]) for x in itertools.product((0, 1), repeat=3)])
    for spread in (0.1, 0.5, 2.0):
        for prior in rng.dirichlet(np.full(8, spread), size=60):
            # Towards the reference until it is known no better than allowed.
            mixed = (share * prior + (1 - share) * rho for share in 0.9 ** np.arange(80))
            pi = next(pi for pi in mixed if float(phi(pi).sum() - pi @ np.log(rho)) <= knowledge)
            joint = (pi[:, None] * q).reshape(2, 4, -1).sum(axis=1)
            assert float(mutual_information(joint[None])[0]) <= audit.upper


def test_six_bits_are_known_to_three_per_cent() -> None:
    mechanism = dl.mechanisms.randomized_response(dl.queries.count(n=6), epsilon=1)
    audit = dl.audit(mechanism, knowledge=0.5, relative=0.031, verify=False)
    assert audit.upper_by == "bellman"
    assert audit.stopped == "gap"
    assert audit.upper - audit.lower < 0.031 * audit.upper
    # A larger share is had with fewer lines.
    coarse = dl.audit(mechanism, knowledge=0.5, relative=0.05, verify=False)
    assert coarse.stopped == "gap"
    assert audit.upper < coarse.upper <= coarse.lower / 0.95
    few, many = (len(found.certificate.data["proofs"][0]["nodes"]) for found in (coarse, audit))
    assert few < many
    assert dl.verify(coarse).verified
