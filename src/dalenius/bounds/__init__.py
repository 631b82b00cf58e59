"""Upper bounds: statement, evaluation and minimiser of each."""
