"""Draw docs/pictures/adversary.png: leakage against knowledge, with the beliefs of the page 'Choosing the adversary'.

python docs/draw_adversary.py
"""

from pathlib import Path

import numpy as np

import dalenius as dl
from dalenius.report.plots import DARK, figure_of, tidy

PICTURE = Path(__file__).parent / "pictures" / "adversary.png"
# Beliefs of the page: knowledge in nats, and what such a prior learns.
BELIEFS = {
    "a rumour": (0.193, 0.191),
    "total, within 1": (0.341, 0.007),
    "total": (1.297, 0.000),
    "sure of 2 records": (1.386, 0.042),
    "all but one": (4.852, 0.111),
}


def main() -> None:
    """Bracket the leakage of a count of 8 with geometric noise of epsilon 1, and mark the beliefs."""
    mechanism = dl.mechanisms.geometric(dl.queries.count(n=8), epsilon=1)
    knowledges = [0.001, 0.01, 0.03, 0.07, 0.15, 0.3, 0.6, 1.0, 1.5, 2.0, 3.0, 4.0, 5.545]
    curve = dl.curve(mechanism, knowledges=knowledges, tolerance=5e-3, time_limit=240)
    independent = dl.audit(mechanism, adversary="independent")
    axes = figure_of(7.0, 4.2).subplots()
    axes.fill_between(knowledges, curve.lower, curve.upper, color=DARK, alpha=0.35)
    axes.plot(knowledges, curve.upper, color=DARK, label="the worst prior of this knowledge")
    axes.axhline(independent.upper, color="0.3", linestyle="--", label="the worst prior with independent records")
    for belief, (x, y) in BELIEFS.items():
        axes.plot([x], [y], "o", color="0.15", markersize=5)
        above = 8 if belief == "all but one" else -2
        axes.annotate(belief, (x, y), xytext=(7, above), textcoords="offset points", fontsize=9)
    axes.set_xlabel("what the adversary knows beforehand (nats)")
    axes.set_ylabel("leakage about one record (nats)")
    axes.set_ylim(bottom=-0.02)
    axes.set_xlim(left=-0.05)
    axes.set_yticks(np.linspace(0, 0.7, 8))
    axes.legend(frameon=False, fontsize=9, loc="center right")
    tidy(axes)
    axes.figure.savefig(PICTURE, dpi=120, bbox_inches="tight")


if __name__ == "__main__":
    main()
