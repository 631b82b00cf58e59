from itertools import pairwise

import numpy as np
import pytest
from design_samples import any_design, parity_design, parity_frontier
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

import dalenius as dl
from dalenius.certificates.certificate import Certificate
from dalenius.model.channels.mechanism import Mechanism
from dalenius.model.channels.written import Written
from dalenius.model.gallery import mechanisms, queries
from dalenius.model.statistic import Histogram, Table
from dalenius.report.plots import draw_channel, image
from dalenius.results.design import Design, Frontier
from dalenius.results.result import Step

MODULAR = queries.modular_sum(n=4, modulus=3)
ROWS = np.random.default_rng(0).dirichlet(np.ones(3), 16)
LABELS = queries.function([2, 3], lambda x: "ab"[x[0] * x[1] % 2])

PAPER = {"proved": "upper", "stopped": "method", "history": (Step(0, 0, 0.2, 1.0, 0.1, 0.02),), "reported": 0.2}
NOT_KEPT = parity_design(
    goal="distortion",
    budget=0.2,
    lower=0.0,
    upper=0.5,
    certificate=Certificate({"format": "dalenius/audit-certificate", "lower": 0.3, "upper": 0.4}),
    **PAPER,
)

DESIGNS = {
    "primal": parity_design(),
    "dual": parity_design(goal="distortion", unit="bits", b=3.5),
    "nothing lost": parity_design(0.0),
    "nothing told": parity_design(0.5, lower=0.0, upper=0.0),
    "open": parity_design(lower=0.1),
    "histogram": any_design(queries.histogram(n=3, k=3)),
    "count vectors": any_design(MODULAR, Written(Histogram(4, 2), ROWS[:5], (0, 1, 2), MODULAR)),
    "every dataset": any_design(MODULAR, Written(Table.everything([2] * 4), ROWS, (0, 1, 2), MODULAR)),
    "labels": any_design(LABELS),
    "paper": parity_design(lower=0.0, **PAPER),
    "not kept": NOT_KEPT,
    "large": any_design(queries.count(n=60)),
    "whole dataset": any_design(queries.count(n=3), mechanisms.randomized_response(queries.count(n=3), epsilon=1)),
}


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS.values(), ids=DESIGNS.keys())
def test_pictures_of_designs_name_their_units_and_overlap_nowhere(design: Design) -> None:
    figure = design.plot()
    assert image(figure, "png").startswith(b"\x89PNG")
    channel, bracket = figure.axes[:2]
    assert bracket.get_ylabel() == f"leakage about a record ({design.unit})"
    assert bracket.get_xlabel() == "expected absolute error"
    assert channel.get_xlabel() == "output"
    for axes in figure.axes:
        across = [label.get_window_extent() for label in axes.get_xticklabels() if label.get_text()]
        assert all(left.x1 <= right.x0 for left, right in pairwise(across))
        down = [label.get_window_extent() for label in axes.get_yticklabels() if label.get_text()]
        assert all(a.y1 <= b.y0 or b.y1 <= a.y0 for a, b in pairwise(down))


def test_titles_say_what_is_proved() -> None:
    titles = [DESIGNS[name].plot().axes[1].get_title() for name in ("primal", "paper", "not kept")]
    assert titles[0].startswith("least leakage: 0.324626 to 0.324629")
    assert titles[1:] == ["least leakage: at most 0.324629 nats", "this mechanism does not keep its budget"]


def test_zero_and_one_are_written_only_where_they_are_exact() -> None:
    axes = Figure().subplots()
    draw_channel(Mechanism.from_matrix([[1, 0], [1e-9, 1 - 1e-9]], [2]), axes)
    assert [text.get_text() for text in axes.texts] == ["1", "0", ".00", "1.00"]


def test_pictures_are_drawn_into_given_axes() -> None:
    figure = Figure()
    assert parity_design().plot(figure.subplots(1, 2)) is figure
    alone = Figure()
    axes = alone.subplots()
    assert parity_design().plot(axes) is alone
    assert axes.get_title() == "least leakage: 0.324626 to 0.324629 nats"
    axes = Figure().subplots()
    assert parity_frontier().plot(axes) is axes.figure


@pytest.mark.parametrize("unit", ["nats", "bits"])
def test_a_frontier_tells_families_apart_without_colour(unit: str) -> None:
    figure = parity_frontier(b=2.2, unit=unit).plot()
    image(figure, "png")
    axes = figure.axes[0]
    assert axes.get_ylabel() == f"leakage about a record ({unit})"
    lines = [line for line in axes.lines if line.get_label()[0] != "_"]
    assert [line.get_label() for line in lines] == [
        "least possible",
        "symmetric, flip=0.05 to 0.25",
        "exponential, epsilon=4 to 1",
    ]
    assert len({line.get_marker() for line in lines}) == 3
    assert all(len(set(to_rgb(line.get_color()))) == 1 for line in lines[1:])


def test_a_frontier_of_both_adversaries_has_both_curves_and_both_columns() -> None:
    query = queries.modular_sum(n=2, modulus=2)
    both = dl.frontier(query, knowledge=0.5, points=3, named=False, tolerance=1e-2, adversary="both")
    assert both.independent is not None
    assert [design.adversary.kind for design in both.independent.designs] == ["independent"] * 3
    # Who knows the other bit sees the parity as that of one bit: log 2 less the entropy of the flip.
    flip = 0.25 * np.log(0.25) + 0.75 * np.log(0.75)
    assert both.independent.upper == pytest.approx([np.log(2), np.log(2) + flip, 0.0], abs=1e-6)
    (ax,) = both.plot().axes
    assert ax.get_legend_handles_labels()[1][-1] == "least possible, independent records"
    heads = [line for line in both.summary().splitlines() if "least leakage" in line]
    assert [head.rpartition(", ")[2] for head in heads] == ["knowledge <= 0.5 nats", "independent records"]
    assert both.to_dict()["independent"]["missing"] == 0


def test_a_frontier_of_one_point_and_no_names_can_be_drawn() -> None:
    alone = Frontier(parity_design().query, (parity_design(),))
    assert image(alone.plot(), "png").startswith(b"\x89PNG")
    assert image(Frontier(alone.query, (parity_design(0.0),)).plot(), "png").startswith(b"\x89PNG")
