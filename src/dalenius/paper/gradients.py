"""The paper's theorems on derivatives, each a function; where the printed one is wrong, it stands beside the right one.

Derivatives are partial ones: probabilities are moved one at a time, off the simplex. Arguments as in universe.py:
p(x_i) as (A,), p(x_-i|x_i) as (A, M), q(y|x) as (A, M, Y) rows of one record or the whole channel (|X|, Y).
"""

import numpy as np
import scipy

from dalenius.paper.universe import TINY, Floats, Universe, answers


def log_ratios(marginal: Floats, given: Floats) -> Floats:
    """log( p(y|x_i) / p(y) ), as (A, Y)."""
    return np.asarray(np.log(np.maximum(given, TINY)) - np.log(np.maximum(marginal @ given, TINY)))


def information_by_channel(universe: Universe, channel: Floats, prior: Floats, i: int) -> Floats:
    """dI / dq(y|x) = p(x) log( p(y|x_i) / p(y) ), as (|X|, Y)."""
    marginal, conditionals = universe.split(prior, i)
    ratios = log_ratios(marginal, answers(conditionals, universe.of(channel, i)))
    joint = marginal[:, None] * conditionals
    return universe.back(joint[:, :, None] * ratios[:, None, :], i)


def information_by_marginal(marginal: Floats, given: Floats) -> Floats:
    """dI / dp(x_i) = sum_y p(y|x_i) log( p(y|x_i) / p(y) ) - 1, as (A,)."""
    return np.asarray((given * log_ratios(marginal, given)).sum(axis=1) - 1)


def information_by_conditional(marginal: Floats, given: Floats, rows: Floats) -> Floats:
    """dI / dp(x_-i|x_i) = p(x_i) sum_y q(y|x) log( p(y|x_i) / p(y) ), as (A, M)."""
    ratios = log_ratios(marginal, given)
    return np.asarray(marginal[:, None] * (rows @ ratios[:, :, None])[:, :, 0])


def information_by_conditional_printed(marginal: Floats, given: Floats, rows: Floats) -> Floats:
    """As the paper prints it: the right one + p(x_i) - p(x_i)^2 sum_y p(y|x_i) q(y|x) / p(y), as (A, M).

    It forgets that p(y) also stands in the terms of the other values of x_i (row 1 of the errata).
    """
    share = given / np.maximum(marginal @ given, TINY)
    lost = (rows @ share[:, :, None])[:, :, 0]
    right = information_by_conditional(marginal, given, rows)
    return np.asarray(right + marginal[:, None] - marginal[:, None] ** 2 * lost)


def entropy_by_joint(prior: Floats) -> Floats:
    """dH / dp(x) = - log p(x) - 1."""
    return np.asarray(-np.log(np.maximum(prior, TINY)) - 1)


def entropy_by_marginal(marginal: Floats, conditionals: Floats) -> Floats:
    """dH / dp(x_i) = H(X_-i|x_i) - log p(x_i) - 1, as (A,)."""
    return np.asarray(scipy.special.entr(conditionals).sum(axis=1) + entropy_by_joint(marginal))


def entropy_by_conditional(marginal: Floats, conditionals: Floats) -> Floats:
    """dH / dp(x_-i|x_i) = - p(x_i) ( log( p(x_i) p(x_-i|x_i) ) + 1 ), as (A, M)."""
    return np.asarray(marginal[:, None] * entropy_by_joint(marginal[:, None] * conditionals))


def tangent_norm(gradient: Floats) -> float:
    """The norm of a gradient along the simplex (of every row, where it is a table)."""
    return float(np.linalg.norm(gradient - gradient.mean(axis=-1, keepdims=True)))
