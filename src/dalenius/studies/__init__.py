"""Studies: sweeps over a grid that survive interruption, and gates for pipelines. Nothing imports this room but cli."""
