"""How finely and how often a reproduction measures: the numbers of its grids, loops and comparisons."""

# Accuracy of Algorithm 1 and of the two below it, where a sentence of ours rests on the loop.
EPS = 1e-9
# Their accuracy elsewhere along the figures' grids, as inside Algorithms 6 and 9; 1e-9 takes three times as long.
GRID_EPS = 1e-6
# With Algorithm 5 repaired: the escort moves so little in a step that a finer tolerance takes minutes.
ESCORT_EPS = 1e-5
# c of the line search of Algorithm 11 beside the paper's 0.5: nearly every step that decreases J passes.
LOOSE = 1e-4
# Widths of certified brackets: of parities, of other audits and designs, of what Algorithms 6 and 9 return, and of the
# two audits that take minutes to reach 1e-5.
PARITY_TOLERANCE, TOLERANCE, RETURNED_TOLERANCE, SLOW_TOLERANCE = 1e-6, 1e-5, 1e-4, 1e-3
# Seconds. The longest bracket takes about two minutes of one core, so that the clock decides nothing even where
# several processes share it.
TIME_LIMIT = 600.0

# Numbers of records in the figures.
SIZES = (4, 5, 6)
# Random starts of the paper's method: in the table and on one curve a figure; where a sentence rests on the curve;
# elsewhere, and in a quick run where the full one has many; with other repairs in the table.
MANY, SOME, FEW, OTHER = 20, 5, 3, 8
# Nats past (n-1) ln 2, where the entropy constraint begins to bite.
BEYOND = 0.35
# Values of b as shares of log|X|, where there is no closed form; and in a quick run.
SHARES, FEW_SHARES = (0.0, 0.25, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0), (0.0, 0.5, 0.7, 0.9)

# An entropy b this near to (n-1) ln 2 is still on the flat part of the curve; a leakage below it is none.
KNEE = 1e-9
# What floats may lose in a sum of a few terms.
ROUNDING = 1e-12
# A start that stays this share below the certified leakage has not found it.
SHORT = 0.01
# Nats: certified values this near to one another count as one; more than the other counts as a rise.
CERTIFIED, RISE = 1e-5, 1e-6
# The last rounds of Algorithm 9, over which its zigzag is looked at.
LATE = 10
# Rounds of Algorithm 6 with all our repairs, where each takes half a second; and those over which its convergence is
# drawn.
OURS_ROUNDS, DRAWN_ROUNDS = 12, 12
