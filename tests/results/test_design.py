import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from design_samples import any_design, consistent_design, least_leakage, noise, parity_design, parity_frontier
from refusals import refuses
from samples import consistent, parity

from dalenius.api import designs
from dalenius.certificates.certificate import Certificate
from dalenius.model.channels.written import Written
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.statistic import Histogram, Table
from dalenius.results.audit import Audit
from dalenius.results.design import Design, Frontier
from dalenius.results.result import Step
from dalenius.studies.loading import load

MODULAR = queries.modular_sum(n=4, modulus=3)
ROWS = np.random.default_rng(0).dirichlet(np.ones(3), 16)
FUNCTION = queries.function([2, 3], lambda x: "ab"[x[0] * x[1] % 2])
PAIRS = queries.function([2, 2], lambda x: (x[0], 7 * x[1]))
WHOLE = queries.function([2, 3], lambda x: x[0] + 2 * x[1])

HISTORY = (Step(0, 0, 0.2, math.inf, 0.1, 0.02), Step(1, 0, 0.3, 0.25, 0.0, 0.01))


def exceeding() -> Design:
    """A mechanism of the paper's method that leaks more than its budget: the certificate is that of its audit."""
    design = parity_design(goal="distortion", budget=0.2, lower=0.0, upper=0.5, proved="upper", stopped="method")
    audit = design.leakage
    data = {"format": "dalenius/audit-certificate", **audit.certificate.data}
    certificate = Certificate(data)
    audit = replace(audit, certificate=certificate)
    return replace(design, leakage=audit, certificate=certificate, history=HISTORY, reported=0.2)


DESIGNS = {
    "primal": parity_design(),
    "dual in bits": parity_design(goal="distortion", unit="bits", b=3.5),
    "nothing lost": parity_design(0.0),
    "large": parity_design(n=1000, b=5.0),
    "histogram": any_design(queries.histogram(n=3, k=3)),
    "count vectors": any_design(MODULAR, Written(Histogram(4, 2), ROWS[:5], (0, 1, 2), MODULAR)),
    "every dataset": any_design(FUNCTION, Written(Table.everything([2, 3]), ROWS[:6], ("a", "b", "c"), FUNCTION)),
    "tuples": any_design(PAIRS, mechanisms.symmetric(PAIRS, flip=0.2)),
    "whole numbers": any_design(WHOLE, mechanisms.geometric(WHOLE, epsilon=1)),
    "paper": parity_design(lower=0.0, proved="upper", stopped="method", history=HISTORY, reported=0.2),
    "paper, budget not kept": exceeding(),
}


def test_the_json_has_the_agreed_keys_and_no_infinities() -> None:
    content = json.loads(json.dumps(parity_design(0.0).to_dict(), allow_nan=False))
    agreed = "lower upper distortion leakage unit entropy knowledge stopped proved seconds rounds"
    assert set(agreed.split()) <= set(content)
    assert content["leakage"] == {"lower": parity_design(0.0).lower, "upper": content["upper"]}
    assert content["dp_epsilon"] is None
    assert content["entropy"] == 2.2
    assert parity_design(0.1).to_dict()["dp_epsilon"] == pytest.approx(math.log(9))


def test_gap_and_repr() -> None:
    design = parity_design()
    assert design.closed
    assert design.gap == pytest.approx(2e-6)
    assert repr(design) == (
        "<Design of modular_sum(n=4, modulus=2): 0.324626 <= least leakage <= 0.324629 nats at absolute error <= 0.1, "
        "H(X) >= 2.2 nats; stopped by gap>"
    )
    dual = parity_design(goal="distortion", tolerance=1e-9)
    assert "<= least absolute error <= 0.100001 at leakage <= 0.324628" in repr(dual)
    assert "gap open" in repr(dual)
    assert "H(X) &gt;= 2.2" in design._repr_html_()


@pytest.mark.parametrize("unit", ["nats", "bits"])
def test_one_certificate_bounds_the_optimum_at_every_budget(unit: str) -> None:
    nats, b = (1.0, 2.2) if unit == "nats" else (math.log(2), 3.2)
    s = noise(4, b * nats)
    errors = np.linspace(0, 0.5, 101)
    truth = np.array([least_leakage(d, s) for d in errors]) / nats
    for d in (0.01, 0.1, 0.4):
        primal = parity_design(d, b, unit=unit)
        assert (primal.lower_at(errors) <= truth).all()
        assert primal.lower_at(d) == pytest.approx(primal.lower)
        dual = parity_design(d, b, unit=unit, goal="distortion")
        assert (dual.lower_at(truth) <= errors).all()
        assert dual.lower_at(dual.budget) == pytest.approx(dual.lower)
        near = dual.lower_at(dual.budget * 1.01)
        assert near == pytest.approx(np.interp(-dual.budget * 1.01, -truth, errors), abs=1e-3)


def test_a_bound_of_zero_proves_no_line() -> None:
    flat = parity_design(0.5, lower=0.0)
    assert flat.certificate.data["multiplier"] >= 0
    spoilt = replace(flat, certificate=Certificate({**flat.certificate.data, "multiplier": 7.0}))
    assert (spoilt.lower_at([0.0, 0.1, 0.5]) == 0).all()


def test_words_beside_a_table_of_distortions_are_those_of_the_table_or_marked(tmp_path: Path) -> None:
    """Where records are not alike, the certificate has the distortions of all datasets, and no name of a query."""
    unlike = [[0.5, 0.5], [0.3, 0.7]]
    for query, outputs in ((queries.count(n=2), None), (queries.histogram(n=2, k=2), [(0, 2), (1.5, 0.5)])):
        made = designs.design(query, distortion=0.9, knowledge=0.2, p0=unlike, outputs=outputs, tolerance=0.1)
        made.save(tmp_path / "d")
        content = json.loads((tmp_path / "d").read_text())
        assert "query" not in content["certificate"]["problem"]
        text = load(tmp_path / "d", verify=True).summary()
        assert "expected absolute error (from the file) of at most" in text
        assert "3 outputs (from the file)" in text or "2 outputs (from the file)" in text
        for change in (
            {"distortion_name": "squared error"},
            {"distortion_name": "share of wrong answers"},
            {"query": "modular_sum(n=2, modulus=2)"},
            {"labels": content["labels"][::-1]},
        ):
            (tmp_path / "d").write_text(json.dumps({**content, **change}))
            refuses(r"is not what the distortion of the certificate is|outputs holds", load, tmp_path / "d")


def test_the_query_of_a_design_without_a_certificate_of_its_own_is_marked(tmp_path: Path) -> None:
    consistent_design(exceeding()).save(tmp_path / "d")
    (designed,) = (line for line in load(tmp_path / "d").summary().splitlines() if line.startswith("Designed"))
    assert designed.endswith("(from the file)")


@pytest.mark.parametrize("spoilt", [consistent_design(any_design(FUNCTION)), consistent(parity())], ids=type)
def test_a_spoilt_file_is_refused_with_its_name(spoilt: Design | Audit, tmp_path: Path) -> None:
    path = tmp_path / "saved.json"
    spoilt.save(path)
    content = json.loads(path.read_text())
    for key in content:
        for value in (None, "x", [], {}, [[]], 0.5):
            if (isinstance(value, type(content[key])) and value) or (key, value) == ("extremes", None):
                continue
            path.write_text(json.dumps({**content, key: value}))
            refuses(r"saved\.json", type(spoilt).load, path)
        if key == "dalenius":  # files of 0.1 state no version of the program
            continue
        path.write_text(json.dumps({k: v for k, v in content.items() if k != key}))
        refuses(r"saved\.json", type(spoilt).load, path)


def test_the_method_is_told_and_whether_the_budget_is_kept(tmp_path: Path) -> None:
    told = {name: (DESIGNS[name].method, DESIGNS[name].kept) for name in ("primal", "paper", "paper, budget not kept")}
    expected = {"primal": ("certified", True), "paper": ("paper", True), "paper, budget not kept": ("paper", False)}
    assert told == expected
    assert "budget" not in repr(DESIGNS["paper"])
    assert repr(exceeding()).endswith("stopped by method, gap open, budget NOT kept>")
    content = exceeding().to_dict()
    assert (content["kept"], content["reported"], content["proved"]) == (False, 0.2, "upper")
    assert parity_design().to_dict()["reported"] is None
    assert (exceeding().lower_at([0.0, 0.1]) == 0).all()
    path = tmp_path / "design.json"
    consistent_design(exceeding()).save(path)
    saved = json.loads(path.read_text())
    for key, spoilt in (("reported", "x"), ("reported", None), ("history", [[0]])):
        path.write_text(json.dumps({**saved, key: spoilt}))
        refuses(r"design\.json", Design.load, path)


def test_load_tells_audits_from_designs(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    audit = consistent(parity())
    audit.save(path)
    assert load(path).to_dict() == audit.to_dict()
    refuses(r"a\.json is not a saved design", Design.load, path)
    path.write_text('{"format": "dalenius/mechanism"}')
    refuses("is not a saved result", load, path)
    path.write_text("[]")
    refuses("is not a saved result", load, path)
    audit.certificate.save(path)
    refuses("but a certificate alone: dl.verify checks it", load, path)


@pytest.mark.parametrize("unit", ["nats", "bits"])
def test_the_band_encloses_the_truth_between_the_points_too(unit: str) -> None:
    nats, b = (1.0, 2.2) if unit == "nats" else (math.log(2), 3.2)
    frontier = parity_frontier(b, unit)
    errors = np.linspace(0, 0.5, 201)
    truth = np.array([least_leakage(d, noise(4, b * nats)) for d in errors]) / nats
    lower, upper = frontier.band(errors)
    assert (lower <= truth).all()
    assert (truth <= upper).all()
    assert (upper - lower).max() < 0.08 / nats
    assert (np.diff(upper) <= 1e-15).all()
    at = frontier.band(frontier.distortions)
    np.testing.assert_allclose(at[0], frontier.lower, atol=1e-12)
    np.testing.assert_allclose(at[1], frontier.upper, rtol=1e-12)


def test_a_worse_design_between_two_others_is_replaced_by_their_mixture() -> None:
    worse = parity_design(0.2, upper=0.9)
    frontier = Frontier(worse.query, (parity_design(0.3), worse, parity_design(0.1)))
    assert frontier.distortions.tolist() == [0.1, 0.2, 0.3]
    ends = parity_design(0.1).upper, parity_design(0.3).upper
    assert frontier.band(0.2)[1] == pytest.approx(sum(ends) / 2)
    assert frontier.band([0.15])[1] == pytest.approx([0.75 * ends[0] + 0.25 * ends[1]])


@pytest.mark.parametrize("d", [-0.1, 0.51, math.nan])
def test_the_band_ends_where_the_designs_do(d: float) -> None:
    refuses(r"outside of this frontier, which goes from 0 to 0\.5", parity_frontier().band, [0.1, d])


def test_the_excess_of_named_mechanisms_is_bracketed() -> None:
    frontier = parity_frontier(points=51)
    for point in frontier.named:  # every symmetric mechanism of a parity is the best at its own error
        low, high = frontier.excess(point)
        assert low <= 0 <= high
        assert high - low < 2e-3
    best = frontier.named[0]
    doubled = replace(best, leakage=replace(best.leakage, lower=2 * best.leakage.lower, upper=2 * best.leakage.upper))
    low, high = frontier.excess(doubled)
    assert low <= best.leakage.lower + 2e-6 <= high + 4e-6
    assert high - low < 2e-3
    assert low > 0.4
    left = Frontier(frontier.query, frontier.designs[20:])
    assert left.excess(best)[0] == -math.inf
    assert left._named_row(best)["excess_lower"] is None


def test_a_frontier_lists_its_points() -> None:
    frontier = parity_frontier()
    assert repr(frontier) == (
        "<Frontier of modular_sum(n=4, modulus=2): 6 points, absolute error from 0 to 0.5, leakage from 0.572590 to "
        "0.000000 nats, widest gap 2.1e-6, 6 named mechanisms>"
    )
    content = json.loads(json.dumps(frontier.to_dict(), allow_nan=False))
    assert [p["budget"] for p in content["points"]] == pytest.approx([0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert [p["family"] for p in content["named"]] == ["symmetric"] * 3 + ["exponential"] * 3
    assert (frontier.lower <= frontier.upper).all()
    refuses("a frontier needs one design or more", Frontier, frontier.query, ())
    refuses("a frontier needs one design or more", Frontier, frontier.query, (parity_design(goal="distortion"),))
