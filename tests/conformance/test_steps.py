"""The page that adds a step: a kind of release that is one file here and one in the verifier."""

import copy
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import brute_force
import pytest
from cases import named, random_channel
from refusals import refuses

import dalenius as dl
from dalenius.auditing import roads
from dalenius.model import storage
from dalenius.verifier import verify as verifier

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
CHANCE = 0.25
CASES = {
    "count": (lambda: named("count(n=4)", "geometric(epsilon=1)"), 0.5),
    "a table": (lambda: random_channel([3, 2], 3, 4), 0.4),
    "noise without a range": (lambda: named("count(n=3)", "discrete_gaussian(sigma=2)"), 0.5),
}


@pytest.fixture
def sometimes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The two files of the page and their lines in the tables; what builds such a release."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[2:]
    solver, check = ModuleType("page"), ModuleType("dalenius.verifier.steps.sometimes")
    for module, code in zip((solver, check), blocks, strict=True):
        monkeypatch.setitem(sys.modules, module.__name__, module)
        exec(compile(code, str(PAGE), "exec"), module.__dict__)
    monkeypatch.setattr(roads, "STEPS", [*roads.STEPS, solver.step])
    monkeypatch.setattr(storage, "READERS", {"published": solver.stored, **storage.READERS})
    form = verifier.Form("steps.sometimes", ("masses",), written=True, independent=False)
    monkeypatch.setitem(verifier.FORMS, "sometimes", form)
    return solver.Sometimes


@pytest.mark.parametrize("case", CASES)
def test_the_page_adds_a_kind_of_release(case: str, sometimes: Any, tmp_path: Path) -> None:
    build, knowledge = CASES[case]
    inside = build()
    release = sometimes(inside, CHANCE)
    audit = dl.audit(release, knowledge=knowledge, tolerance=1e-5, verify=True)
    assert audit.closed
    assert audit.verified
    within = dl.audit(inside, knowledge=knowledge, tolerance=1e-6)
    assert audit.lower <= CHANCE * within.upper
    assert audit.upper >= CHANCE * within.lower
    assert audit.prior.leakage() == pytest.approx(audit.lower, abs=1e-9)
    if case != "noise without a range":
        attained = brute_force.attained(release.matrix(), release.records, release.log_universe - knowledge, starts=4)
        assert attained <= audit.upper + 1e-9
    answer = dl.verify(audit, release)
    assert "sometimes" in answer.rested_on
    audit.save(tmp_path / "audit.json")
    loaded = dl.load(tmp_path / "audit.json")
    assert loaded.mechanism == release
    assert (loaded.lower, loaded.upper) == (audit.lower, audit.upper)
    assert str(round(CHANCE, 2)) in answer.problem
    assert audit.summary()


def test_what_follows_from_the_rows_of_a_new_kind(sometimes: Any) -> None:
    inside = named("count(n=4)", "geometric(epsilon=1)")
    release = sometimes(inside, CHANCE)
    assert release.dp_epsilon() == pytest.approx(inside.dp_epsilon())
    assert release.dp_delta(0.5) == pytest.approx(CHANCE * inside.dp_delta(0.5))
    assert release.n_outputs == inside.n_outputs + 1
    drawn = release.sample([0, 1, 1, 0], size=400, rng=0).tolist()
    assert drawn.count("nothing") == pytest.approx(300, abs=40)
    assert release != sometimes(inside, 0.5)
    assert release == sometimes(inside, CHANCE)


def test_a_verifier_refuses_forged_certificates_of_the_new_kind(sometimes: Any) -> None:
    release = sometimes(named("count(n=4)", "geometric(epsilon=1)"), CHANCE)
    audit = dl.audit(release, knowledge=0.5, tolerance=1e-5)
    data = audit.certificate.data

    def verdict(**changes: Any) -> str:
        return verifier.verify_here({**copy.deepcopy(data), **changes}, release).reason

    assert verifier.verify_here(data, release)
    assert "exceeds" in verdict(upper=0.99 * audit.upper)
    assert "leaks" in verdict(lower=1.01 * audit.upper, upper=1.1 * audit.upper)
    assert "another channel" in verdict(problem={**data["problem"], "published": 0.5})
    assert "describe" in verdict(form="rows")
    refuses("bounded knowledge", dl.audit, release, adversary="independent")
