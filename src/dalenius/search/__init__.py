"""Local search from below, the tree of any search, and the one owner of limits, progress and Ctrl-C."""
