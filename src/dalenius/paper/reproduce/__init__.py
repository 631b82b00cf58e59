"""The paper's evaluation, measured again: its own methods beside certified brackets."""
