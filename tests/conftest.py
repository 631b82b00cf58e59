"""What all tests share: the same examples for everyone, and what is left to `make nightly`."""

import os
import signal
from collections import defaultdict

import pytest
from hypothesis import HealthCheck, settings

# Hypothesis draws the same examples every time: a failure is a failure for everyone.
for name, examples in (("fixed", 12), ("nightly", 200)):
    settings.register_profile(
        name, derandomize=True, deadline=None, max_examples=examples, suppress_health_check=[HealthCheck.too_slow]
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# What a shell begins in the background ignores Ctrl-C, and so would the processes that tests begin and interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Of a slow test with many cases, and of a test with many seeds, every third runs with a change, the first among them;
# all of them run at night.
KEPT = 3


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    many: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        name, params = item.nodeid.partition("[")[0], getattr(getattr(item, "callspec", None), "params", {})
        if item.get_closest_marker("slow") and not name.startswith(("tests/net/", "tests/pages/")):
            many[name].append(item)
        elif "seed" in params:
            others = {key: value for key, value in params.items() if key != "seed"}
            many[f"{name} {others}"].append(item)
    for cases in many.values():
        for place, item in enumerate(cases):
            if place % KEPT and (len(cases) > KEPT or item.get_closest_marker("slow")):
                item.add_marker(pytest.mark.nightly)
