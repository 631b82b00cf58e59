"""What is refused, in tests."""

from collections.abc import Callable
from typing import Any

import pytest

from dalenius.errors import InputError


def refuses(words: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Call, and fail unless the answer is an InputError with these words (a regular expression)."""
    with pytest.raises(InputError, match=words):
        call(*arguments, **options)
