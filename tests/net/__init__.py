"""The net under a change of the solver: what some sixty problems answered before it."""
