"""Only whoever has the token is answered, by the one name of this machine and port."""

from email.message import Message
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from dalenius.explore.pool import Pool
from dalenius.explore.server import Explorer
from dalenius.explore.shelf import Shelf

HOST, TOKEN = "127.0.0.1:8000", "secret-token"


@pytest.mark.parametrize(
    ("query", "headers", "words"),
    [
        (f"token={TOKEN}", [("Host", HOST)], ""),
        (f"a=b&token={TOKEN}", [("Host", HOST), ("Origin", f"http://{HOST}")], ""),
        ("", [("Host", HOST)], "token"),
        ("token=", [("Host", HOST)], "token"),
        ("token=secret-toke", [("Host", HOST)], "token"),
        (f"token={TOKEN}&token={TOKEN}", [("Host", HOST)], "token"),
        ("token=%C3%A9", [("Host", HOST)], "token"),
        (f"token={TOKEN}", [], "only at"),
        (f"token={TOKEN}", [("Host", "localhost:8000")], "only at"),
        (f"token={TOKEN}", [("Host", "127.0.0.1")], "only at"),
        (f"token={TOKEN}", [("Host", HOST), ("Host", "evil")], "only at"),
        (f"token={TOKEN}", [("Host", HOST), ("Origin", "null")], "Other pages"),
        (f"token={TOKEN}", [("Host", HOST), ("Origin", "https://127.0.0.1:8000")], "Other pages"),
    ],
)
def test_a_request_needs_the_host_and_the_token(
    query: str, headers: list[tuple[str, str]], words: str, tmp_path: Path
) -> None:
    explorer, given = Explorer(HOST, TOKEN, Shelf(tmp_path), Pool(tmp_path)), Message()
    for name, value in headers:
        given[name] = value
    refusal = explorer.refusal(given, parse_qsl(query, keep_blank_values=True))
    assert words in refusal
    assert bool(words) == bool(refusal)
