"""Hypothesis draws the same examples every time: a failure is a failure for everyone. `make nightly` draws more."""

import os

from hypothesis import HealthCheck, settings

for name, examples in (("fixed", 20), ("nightly", 200)):
    settings.register_profile(
        name, derandomize=True, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))
