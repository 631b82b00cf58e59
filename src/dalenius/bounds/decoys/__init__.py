"""Truth or decoy: the bound, channels of its form, and the programme that finds the best (MATH 4.15, 6.14)."""
