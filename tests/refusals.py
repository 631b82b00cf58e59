"""What is refused, in tests."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from dalenius.errors import InputError


def refuses(words: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """Call, and fail unless the answer is an InputError with these words (a regular expression)."""
    with pytest.raises(InputError, match=words):
        call(*arguments, **options)


def refuses_saying(words: str, call: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """The same with words as they stand."""
    refuses(re.escape(words), call, *arguments, **options)
