from itertools import pairwise

import numpy as np
import pytest
from matplotlib.figure import Figure
from samples import built, parity

import dalenius as dl
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.gallery import mechanisms, queries
from dalenius.report.charts import staircase
from dalenius.report.plots import image
from dalenius.results.audit import Audit, Curve
from dalenius.results.result import Step

HISTORY = (Step(0, 0, 0.07, 0.1, 0.0, 0.1),)
AUDITS = {
    "bars": parity(),
    "bits": parity(unit="bits", b=3.5),
    "heat": built(mechanisms.geometric(queries.count(n=30), epsilon=1), 3.0),
    "folded": built(mechanisms.symmetric(queries.modular_sum(n=2000, modulus=1001), flip=0.5), 3.0),
    "histogram": built(mechanisms.exponential(queries.histogram(n=3, k=5), epsilon=2), 1.0),
    "dense": built(
        Mechanism.from_matrix(np.random.default_rng(2).dirichlet(np.ones(3), size=12), [2, 3, 2]), 1.0, record=1
    ),
    "function": built(mechanisms.symmetric(queries.function([2, 3], lambda x: "ab"[x[0] * x[1] % 2]), flip=0.1), 0.2),
    "paper": parity(upper=0.7, proved="lower", stopped="method", history=HISTORY),
    "nothing": parity(b=2.7725887, lower=0.0, upper=0.0),
}


def _texts(figure: Figure) -> str:
    return " ".join(axes.get_xlabel() + axes.get_ylabel() + axes.get_title() for axes in figure.axes)


def _adversaries(figure: Figure) -> list[str]:
    return [label.get_text() for label in figure.axes[1].get_yticklabels()]


@pytest.mark.slow
@pytest.mark.parametrize("audit", AUDITS.values(), ids=AUDITS.keys())
def test_pictures_of_audits_name_their_units_and_overlap_nowhere(audit: Audit) -> None:
    figure = audit.plot()
    assert image(figure, "png").startswith(b"\x89PNG")
    assert f"leakage about a record ({audit.unit})" in _texts(figure)
    for axes in figure.axes:
        boxes = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
        assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))


def test_pictures_are_drawn_into_given_axes() -> None:
    figure = Figure()
    assert parity().plot(figure.subplots(1, 2)) is figure
    assert all(axes.get_title() for axes in figure.axes)
    alone = Figure()
    axes = alone.subplots()
    assert parity().plot(axes) is alone
    assert axes.get_title() == "lower and upper bound"


def test_the_same_picture_is_the_same_file() -> None:
    assert image(parity().plot(), "svg") == image(parity().plot(), "svg")
    assert image(parity().plot(), "pdf").startswith(b"%PDF")


def test_a_curve_is_drawn_in_any_order_of_its_points() -> None:
    entropies = (2.6, 1.0, 2.2)
    curve = Curve(entropies, tuple(parity(b=b) for b in entropies))
    figure = curve.plot()
    image(figure, "png")
    assert "least entropy b of the adversary's prior (nats)" in _texts(figure)
    x = figure.axes[0].lines[0].get_xdata()
    np.testing.assert_allclose(x, [1.0, 2.2, 2.6])


def test_a_curve_of_the_papers_method_shows_what_was_found() -> None:
    paper = {"upper": 0.7, "proved": "lower", "stopped": "method", "history": HISTORY}
    entropies = (1.0, 2.2, 2.6)
    curve = Curve(entropies, tuple(parity(b=b, **paper) for b in entropies))
    axes = curve.plot().axes[0]
    assert axes.get_ylim()[1] < 0.2  # the trivial bound is left out
    np.testing.assert_allclose(axes.lines[0].get_ydata(), curve.lower)
    assert "found by the paper's method: lower bounds" in axes.get_legend_handles_labels()[1]


def test_what_was_given_as_knowledge_is_labelled_as_knowledge() -> None:
    mechanism = dl.mechanisms.symmetric(dl.queries.modular_sum(n=2, modulus=2), flip=0.3)
    assert "this adversary\nknows 0.5" in _adversaries(dl.audit(mechanism, knowledge=0.5).plot())
    assert "this adversary\nb = 1" in _adversaries(dl.audit(mechanism, entropy=1).plot())
    assert "knowledge of the adversary (nats)" in _texts(dl.curve(mechanism, knowledges=[0.1, 0.5]).plot())


def test_a_staircase_holds_between_places_in_any_order() -> None:
    (band,) = staircase("between", [2.0, 0.0, 1.0], [0.5, 0.1, 0.3], [0.6, 0.2, 0.7])
    assert list(band.x) == [0, 1, 1, 2]
    assert list(band.low) == [0.1, 0.1, 0.3, 0.3]
    assert list(band.high) == [0.6, 0.6, 0.6, 0.6]  # what holds at 2 holds before it
    assert staircase("alone", [1.0], [0.1], [0.2]) == []
