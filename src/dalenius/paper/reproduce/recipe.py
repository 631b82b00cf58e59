"""How finely and how often a reproduction measures: the numbers of its grids, loops and comparisons."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Precision:
    """How far loops and brackets are run. The fields are read from the class: a reproduction has one precision."""

    # Accuracy of Algorithm 1 and of the two below it, where a sentence of ours rests on the loop.
    eps: float = 1e-9
    # Their accuracy elsewhere along the figures' grids, where 1e-9 takes twice as long.
    grid_eps: float = 1e-7
    # With Algorithm 5 repaired: the escort moves so little in a step that a finer tolerance takes minutes.
    escort_eps: float = 1e-5
    # c of the line search of Algorithm 11 beside the paper's 0.5: nearly every step that decreases J passes.
    loose: float = 1e-4
    # Widths of certified brackets: of parities, of other audits and designs, of what Algorithms 6 and 9 return, and of
    # the two audits that take minutes to reach 1e-5.
    parity_tolerance: float = 1e-6
    tolerance: float = 1e-5
    returned_tolerance: float = 1e-4
    slow_tolerance: float = 1e-3
    # Seconds. The longest bracket takes about two minutes of one core, so that the clock decides nothing even where
    # several processes share it.
    time_limit: float = 600.0


@dataclass(frozen=True)
class Grid:
    """Which points the experiments have. The fields are read from the class."""

    # Numbers of records in the figures.
    sizes: tuple[int, ...] = (4, 5, 6)
    # Random starts of the paper's method: in the table and on one curve a figure; elsewhere; there in a quick run; with
    # other repairs in the table.
    many: int = 20
    some: int = 5
    few: int = 3
    other: int = 8
    # Nats past (n-1) ln 2, where the entropy constraint begins to bite.
    beyond: float = 0.35
    # Values of b as shares of log|X|, where there is no closed form; and in a quick run.
    shares: tuple[float, ...] = (0.0, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
    few_shares: tuple[float, ...] = (0.0, 0.5, 0.7, 0.9)


@dataclass(frozen=True)
class Close:
    """When two numbers of a reproduction count as one. The fields are read from the class."""

    # An entropy b this near to (n-1) ln 2 is still on the flat part of the curve; a leakage below it is none.
    knee: float = 1e-9
    # What floats may lose in a sum of a few terms.
    rounding: float = 1e-12
    # A start that stays this share below the certified leakage has not found it.
    short: float = 0.01
    # Nats: certified values this near to one another count as one.
    certified: float = 1e-5
    # More than this counts as a rise of what is said to fall.
    rise: float = 1e-6
    # The last rounds of Algorithm 9, over which its zigzag is looked at.
    late: int = 10
    # Rounds of Algorithm 6 with all our repairs, where each takes half a second.
    ours: int = 12
    # The first rounds of Algorithm 6, over which its convergence is drawn.
    rounds: int = 12
