import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses
from samples import consistent, parity

from dalenius.results.audit import Audit, Curve, Extremes, RecordBracket, Records
from dalenius.results.result import Step

HISTORY = (Step(0, 0, 0.05, math.inf, 0.1, 0.02), Step(0, 1, 0.07, 0.25, 0.0, 0.01), Step(1, 0, 0.06, 0.5, 0.0, 0.1))


def test_records_stand_worst_first_and_ties_by_index() -> None:
    records = Records((((1, 4), 0.1, 0.2), ((0,), 0.05, 0.3), ((5,), 0.15, 0.2), ((2, 3), 0.1, 0.2)))
    assert [r.record for r in records] == [0, 5, 1, 2, 3, 4]
    assert [records[i] for i in range(6)] == list(records)
    assert records[-1] == RecordBracket(4, 0.1, 0.2)
    assert records[1:3] == (RecordBracket(5, 0.15, 0.2), RecordBracket(1, 0.1, 0.2))
    assert records.orbit_of(3) == ((2, 3), 0.1, 0.2)
    assert len(records) == 6
    assert len(records.orbits) == 4
    assert "worst first: 0: [0.05, 0.3]" in repr(records)
    with pytest.raises(IndexError):
        records[6]


def test_a_million_records_cost_nothing() -> None:
    audit = parity(n=10**6, b=10.0)
    assert audit.records[999_999].record == 999_999
    assert len(audit.records) == 10**6
    assert audit.to_dict()["records"] == [{"record": 0, "lower": audit.lower, "upper": audit.upper, "count": 10**6}]
    assert "the 999999 other records" in audit.summary()


def test_the_json_has_the_agreed_keys_and_no_infinities() -> None:
    audit = parity(extremes=Extremes((0.08, math.inf), math.nan))
    content = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    agreed = ["lower", "upper", "unit", "entropy", "knowledge", "record", "records", "stopped", "proved", "seconds"]
    assert set(agreed) <= set(content)
    assert content["entropy"] == 2.2
    assert content["knowledge"] == pytest.approx(4 * math.log(2) - 2.2, abs=1e-15)
    assert [r["record"] for r in content["records"]] == [0, 1, 2, 3]
    assert content["extremes"] == {"unconstrained": [0.08, None], "uniform": None}


def test_bits_give_back_the_number_that_was_given() -> None:
    for b in (0.1, 0.7, 1.1, 2.2, 3.3):
        assert parity(b=b, unit="bits").entropy == b
    assert parity(b=3.0, unit="bits").knowledge == 1.0


def test_repr_and_gap() -> None:
    audit = parity()
    assert audit.closed
    assert audit.gap == pytest.approx(2e-9)
    assert repr(audit) == (
        "<Audit 0.073726 <= L <= 0.073727 nats at H(X) >= 2.2: record 0, proved both, stopped by gap>"
    )
    assert "gap open" in repr(parity(tolerance=1e-10))
    assert "<table>" in audit._repr_html_()
    assert "H(X) &gt;= 2.2" in audit._repr_html_()


def test_the_method_is_told(tmp_path: Path) -> None:
    paper = parity(proved="lower", stopped="method", history=HISTORY)
    assert (parity().method, paper.method) == ("certified", "paper")
    assert (parity().to_dict()["method"], paper.to_dict()["method"]) == ("certified", "paper")
    assert "history" not in paper.to_dict()
    path = tmp_path / "audit.json"
    consistent(parity()).save(path)
    assert "history" not in json.loads(path.read_text())  # as files were before there were two methods
    assert Audit.load(path).history == ()
    consistent(paper).save(path)
    content = json.loads(path.read_text())
    for spoilt in (None, 0.5, [0.5], ["x"], [[]], [[0, 0]], [[0, 0, 1, 1, 1, "x"]], [[0, 0, 1, 1, 1, 1, 1]], [[0] * 9]):
        path.write_text(json.dumps({**content, "history": spoilt}))
        refuses(r"audit\.json", Audit.load, path)
    path.write_text(json.dumps({**content, "history": [line[:6] for line in content["history"]]}))  # of version 0.1
    assert [step.worst for step in Audit.load(path).history] == [math.inf] * len(HISTORY)


def _curve() -> Curve:
    entropies = (0.0, 1.0, 2.2, 2.6)
    return Curve(entropies, tuple(parity(b=b) for b in entropies))


def test_a_curve_lists_its_brackets() -> None:
    curve = _curve()
    assert (curve.lower < curve.upper).all()
    assert (np.diff(curve.upper) <= 0).all()
    assert repr(curve).startswith("<Curve of 4 points, H(X) >= 0 to 2.6: L from 0.082283 to ")
    assert [p["entropy"] for p in curve.to_dict()["points"]] == [0.0, 1.0, 2.2, 2.6]


def test_frames_have_one_row_per_point(monkeypatch: pytest.MonkeyPatch) -> None:
    class Pandas:
        DataFrame = staticmethod(list)

    monkeypatch.setitem(sys.modules, "pandas", Pandas)
    assert [row["entropy"] for row in _curve().to_frame()] == [0.0, 1.0, 2.2, 2.6]
