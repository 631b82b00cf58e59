"""Certificates of bits one after the other: a right one passes, forged ones are refused with the place."""

import copy
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from kinds import Json
from large_samples import both_local
from verdicts import accepted, refused

import dalenius as dl
from dalenius.bounds.bellman import BellmanSearch
from dalenius.verifier.verify import verify_here


@cache
def written() -> str:
    local, _ = both_local("randomized_response(epsilon=1)", "count(n=4)")
    settings = dl.Settings(parts=(BellmanSearch(nodes=40),))
    return dl.audit(local, knowledge=0.5, settings=settings).certificate.text()


def lines(data: Json, stage: int) -> Json:
    return data["proofs"][0]["lines"][stage]


def lowered(data: Json, stage: int, line: int, end: int) -> None:
    lines(data, stage)[line][end] -= 1e-6


FORGERIES: list[tuple[Callable[[Json], Any], str]] = [
    (lambda c: lowered(c, 2, 5, 0), "stage 2: the line of lines"),
    (lambda c: lowered(c, 3, 0, 0), "stage 3: the line of lines"),
    (lambda c: lowered(c, 1, -1, 1), "stage 1: the line of lines"),
    (lambda c: c["proofs"][0].update(s=c["proofs"][0]["s"] / 2), "the line of lines"),
    (lambda c: c["adversary"].update(knowledge=0.6), "exceeds claimed"),
    (lambda c: c["problem"].update(query="count(n=5)"), "5 "),
]


def test_what_is_found_is_verified() -> None:
    data = json.loads(written())
    assert data["proofs"][0]["kind"] == "bellman"
    accepted(data)


def test_lines_in_another_order_prove_no_less_than_they_say() -> None:
    """Order is for finding lines; without it a check may fail, but never passes what is false."""
    data = json.loads(written())
    lines(data, 3).reverse()
    assert not verify_here(data).verified


@pytest.mark.parametrize(("forge", "reason"), FORGERIES)
def test_forgeries_are_refused(forge: Callable[[Json], Any], reason: str) -> None:
    data = copy.deepcopy(json.loads(written()))
    forge(data)
    refused(data, reason)
