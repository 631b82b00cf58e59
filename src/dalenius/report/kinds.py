"""Words and pictures of every kind of result, for its methods summary and plot."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from dalenius.report.calibration_text import calibration_facts
from dalenius.report.design_text import design_facts, frontier_table
from dalenius.report.profile_text import facts as profile_facts
from dalenius.report.text import Facts, as_html, curve_facts, facts, stacked
from dalenius.results.audit import Audit, Curve
from dalenius.results.calibration import Calibration
from dalenius.results.design import Design, Frontier
from dalenius.results.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FACTS: dict[type, Callable[[Any], Facts]] = {
    Audit: facts,
    Design: design_facts,
    Curve: curve_facts,
    Calibration: calibration_facts,
    Profile: profile_facts,
}


def summary_of(result: object) -> str:
    """Return the answer in plain words, digits rounded outward; a frontier is a table."""
    return frontier_table(result) if isinstance(result, Frontier) else stacked(FACTS[type(result)](result))


def html_of(result: object) -> str:
    """Return the same words for a notebook."""
    return as_html(FACTS[type(result)](result))


def picture_of(result: object, ax: Any = None) -> "Figure":  # noqa: ANN401 - matplotlib ships no types
    """Draw a result; return the figure."""
    from dalenius.report.design_plots import plot_design, plot_frontier
    from dalenius.report.plots import plot_audit, plot_curve
    from dalenius.report.profile_text import plot_profile

    drawn: dict[type, Callable[..., Figure]] = {
        Audit: plot_audit,
        Design: plot_design,
        Curve: plot_curve,
        Frontier: plot_frontier,
        Profile: plot_profile,
    }
    return drawn[type(result)](result, ax)
