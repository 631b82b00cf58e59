"""Contraction and expansion of one record's channel, in one variable: what is not so is never shown."""

import pytest
from flint import arb, arb_poly, ctx

from dalenius.verifier.special.product import Smooth, _settled, contracts

pytestmark = pytest.mark.usefixtures("precise")


def response(k: int, c: float) -> list[list[arb]]:
    """W = c I + (1-c) U on k values."""
    return [[arb(c) * (x == y) + (1 - arb(c)) / k for y in range(k)] for x in range(k)]


@pytest.mark.parametrize("c", [-0.4, -0.2, 0.2, 0.5])
def test_a_response_contracts_by_no_less_than_at_a_value_that_is_certain(c: float) -> None:
    # D(wW || U) / D(w || U) where w is one value; c < 0 is a response that is seldom the truth.
    rows = response(3, c)
    kept = sum(q * (3 * q).log() for q in rows[0]) / arb(3).log()
    law = [arb(1) / 3] * 3
    assert not contracts(rows, law, kept * 0.999, even=True, response=True)
    assert not contracts(rows, law, arb(0), even=True, response=True)
    assert contracts(rows, law, arb(abs(c)), even=True, response=True)


@pytest.mark.parametrize("sign", [-1, 1])
def test_an_interval_whose_middle_is_rounded_is_settled_by_its_real_ends(sign: int) -> None:
    # With 8 bits the middle of [1, 1 + 2^-7] is one of its ends; F falls below 0 before the other end.
    a, b = arb(1), arb(1) + arb(2) ** -7
    start = a if sign < 0 else b
    f = Smooth(lambda x: arb(2) ** -7 * 3 / 4 - abs(x - start), lambda _: arb(sign), arb_poly([0]))
    bits, ctx.prec = ctx.prec, 8
    try:
        assert not _settled(f, a, b)
    finally:
        ctx.prec = bits
