"""K + log sum_t max_a rho(t|a): never below a leakage, closed form for counts, and what the verifier makes of it."""

import copy
import math

import numpy as np
import pytest
from verdicts import refused

import dalenius as dl
from dalenius.bounds.closed_forms import maximal
from dalenius.reductions.cells import Cells
from dalenius.reductions.lump import lump
from dalenius.search.ascent import ascend
from dalenius.search.deadline import Deadline
from dalenius.verifier.verify import verify_here


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_of_a_count_it_is_one_plus_total_variation(n: int) -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=n), epsilon=2)
    apart = math.comb(n - 1, (n - 1) // 2) / 2 ** (n - 1)  # of two neighbouring binomials
    bound = maximal(Cells(lump(mechanism, 0)[0], 0.25)).upper
    assert bound == pytest.approx(0.25 + math.log(1 + apart), abs=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_no_prior_leaks_more(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(3, 0.3), size=4)
    mechanism = dl.Mechanism.from_matrix(rows[rng.integers(0, 4, size=12)], [3, 2, 2])  # rows that repeat
    for knowledge in (0.01, 0.2, 1.0):
        cells = Cells(lump(mechanism, 0)[0], knowledge)
        assert ascend(cells, Deadline(5), rng).value <= maximal(cells).upper + 1e-12


def test_the_verifier_proves_it_anew() -> None:
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=6), epsilon=3)
    audit = dl.audit(mechanism, knowledge=0.05)
    bound = maximal(Cells(lump(mechanism, 0)[0], 0.05)).upper
    data = copy.deepcopy(audit.certificate.data)
    data["upper"] = bound + 1e-11
    data["proofs"] = [{"record": 0, "upper": bound + 1e-11, "kind": "maximal"}]
    assert verify_here(data, mechanism=mechanism)
    data["upper"] = data["proofs"][0]["upper"] = bound - 1e-9
    refused(data, "exceeds claimed")
