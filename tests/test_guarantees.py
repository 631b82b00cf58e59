"""What docs/guarantees.md says in numbers, against the code."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import dalenius as dl
from dalenius import verifier
from dalenius.certificates import audits
from dalenius.model.checks import SUM_TOLERANCE
from dalenius.numerics.rounding import round_down, round_up
from dalenius.tools import exact_sampling
from dalenius.verifier.kernel import balls

PAGE = (Path(__file__).parents[1] / "docs" / "guarantees.md").read_text()
WORDS = " ".join(PAGE.split())


def test_the_numbers_of_the_page() -> None:
    assert f"uppers by {audits.MARGIN_UP:.0e} and more, lowers by {audits.MARGIN_DOWN:.0e}" in WORDS
    assert f"balls of {balls.PRECISION} bits or more" in WORDS
    assert f"within {SUM_TOLERANCE:.0e} of sum 1".replace("e-0", "e-") in WORDS
    assert f"revealed {exact_sampling.least.__kwdefaults__['step']} bits at a time" in WORDS


def test_the_size_of_the_verifier() -> None:
    said = re.search(r"some ([\d,]+) lines", WORDS)
    assert said is not None
    folder = Path(str(verifier.__file__)).parent
    lines = sum(len(file.read_text().splitlines()) for file in folder.rglob("*.py"))
    assert abs(lines - int(said[1].replace(",", ""))) <= 500


def test_the_example_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, np.ndarray] = {}
    exec(code, names)
    assert names["answer"][0] in range(5)


@pytest.mark.parametrize("unit", ["nats", "bits"])
def test_numbers_are_rounded_outward(unit: str) -> None:
    mechanism = dl.mechanisms.symmetric(dl.queries.modular_sum(n=3, modulus=2), flip=0.3)
    audit = dl.audit(mechanism, knowledge=0.5, unit=unit)
    scale = math.log(2) if unit == "bits" else 1.0
    verdict = dl.verify(audit)
    assert verdict.verified
    assert verdict.lower is not None
    assert verdict.upper is not None
    assert audit.lower * scale <= verdict.lower < verdict.upper <= audit.upper * scale
    assert float(round_down(audit.lower)) <= audit.lower < audit.upper <= float(round_up(audit.upper))


def test_what_a_method_proves() -> None:
    mechanism = dl.mechanisms.symmetric(dl.queries.modular_sum(n=2, modulus=2), flip=0.3)
    searched = dl.audit(mechanism, entropy=1.0, method="paper", time_limit=0.3)
    assert searched.proved == "lower"
    assert searched.upper == pytest.approx(math.log(2))
    assert dl.audit(mechanism, entropy=1.0).proved == "both"
