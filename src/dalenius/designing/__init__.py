"""The best mechanism: pool, master problem, oracle, weak duality."""
