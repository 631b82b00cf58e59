"""A slice of every fuzzer, the same cases each time; `make fuzz` runs many more."""

import pytest

from fuzz import pool
from fuzz.attack import FUZZERS, run
from fuzz.kinds import lacking

SLICE = {
    "certificates": 60,
    "forgeries": 30,
    "inputs": 300,
    "saved": 100,
    "beside": 10,
    "joint": 6,
    "differential": 25,
    "numerics": 60,
    "trees": 20,
    "bombs": 1,
}

# They begin with audits of a hundred samples, a dozen seconds of processor: one test for both, so that one worker does.
POOLED = ("certificates", "forgeries")


def tried(name: str) -> None:
    """Run the slice of a fuzzer."""
    tally = run(name, FUZZERS[name][0], range(SLICE[name]), seed=2026)
    assert tally.defects == []
    if name in ("certificates", "inputs", "saved", "beside"):  # they must be refused and accepted
        assert len(tally.outcomes) > 1, f"all alike, so nothing was tried: {tally}"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FUZZERS if name not in POOLED])
def test_no_case_of_a_fixed_slice_finds_a_defect(name: str) -> None:
    tried(name)


@pytest.mark.slow
def test_no_false_bound_is_accepted_of_certificates_of_every_kind_of_proof_and_of_witness() -> None:
    assert lacking(sample.data for sample in pool.samples().values()) == set()
    for name in POOLED:
        tried(name)
