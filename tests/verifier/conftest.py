"""What tests of the verifier share."""

from collections.abc import Iterator

import pytest

from dalenius.verifier.kernel.balls import precision


@pytest.fixture
def precise() -> Iterator[None]:
    """Balls of as many bits as a check has. It holds the lock of checks: not for tests of threads."""
    with precision():
        yield
