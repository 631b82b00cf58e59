"""What formulas and tests of the paper do when they are left as printed, in words from measured rows."""

from collections.abc import Callable

from dalenius.paper.reproduce.rows import Row, percent


def effect(name: str, measured: dict[str, Row]) -> str:
    """Return what a formula or test does when left as printed, in words; nothing where it was not measured."""
    return EFFECTS[name](measured[name]) if name in measured else ""


EFFECTS: dict[str, Callable[[Row], str]] = {
    "gradient": lambda row: (
        f"the printed gradient is off by {percent(row['median'])} along the simplex (median of {row['tried']} priors)"
    ),
    "entropy_share": lambda row: (
        f"c_i^k of Theorem 3 is positive at {row['counted']} of {row['tried']} priors with H(X) >= b"
    ),
    "projection": lambda row: (
        f"for a change of entropy by 0.001 the printed softmax moves a row by {row['median']:.2g} in L1, the escort by "
        f"{row['other_median']:.2g} (medians); a root was missing in {row['counted']} of {row['tried']}"
    ),
    "exits": lambda row: f"Algorithm 2 stops with H(X) < b in {row['counted']} of {row['tried']} runs",
    "armijo": lambda row: (
        f"{row['counted']} of {row['tried']} steps pass the printed test; the most that one reaches is "
        f"{row['most']:.3f} of the decrease asked for"
    ),
    "penalty": lambda row: (
        f"asked for E <= {row['asked']:g} Algorithm 7 returns E = {row['least']:.3f} to {row['most']:.3f} "
        f"({row['tried']} priors)"
    ),
    "rows_alone": lambda row: (
        f"without active constraint Algorithm 3 ends below the best extreme point in {row['counted']} of "
        f"{row['tried']} instances, at worst at {row['least']:.2f} of it"
    ),
}
