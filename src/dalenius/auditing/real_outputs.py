"""Audits of real outputs: through finite channels, coarse before fine, and back."""

from dataclasses import dataclass, replace
from typing import cast

from dalenius.auditing.all_records import by_records
from dalenius.certificates.audits import MARGIN_DOWN, Found
from dalenius.errors import InputError
from dalenius.model.channels.real import Real
from dalenius.model.problem import AuditProblem
from dalenius.numerics.information import mutual_information
from dalenius.reductions.quantise import Quantised, quantise
from dalenius.search.deadline import Deadline
from dalenius.settings import Part


@dataclass(frozen=True, kw_only=True)
class Quantising(Part):
    """Real outputs through finitely many points: coarse looks before fine ones."""

    # The share of the tolerance that may be lost between the real channel and the finite one.
    loss_share: float = 0.1
    # Smaller losses vanish in floats.
    least_loss: float = 1e-10
    # Losses of the first two looks. The first is made where the tolerance asks for more outputs than `few_points`, the
    # second where it asks for more than `most_outputs` of the portfolio.
    first_losses: tuple[float, ...] = (1e-3, 1e-5)
    few_points: int = 64
    # A bracket no wider than this times the loss has been closed.
    closed: float = 1.2


def real_outputs(problem: AuditProblem, deadline: Deadline, seed: int) -> Found:
    """Return the bracket of a mechanism with real outputs.

    Few points are taken as they are. Where the tolerance asks for many, coarser channels come first: the best bracket
    stands when a finer channel, whose audit takes longer, does no better in the time that is left.
    """
    mechanism, tolerance = cast("Real", problem.mechanism), problem.wanted
    pace, portfolio = problem.settings.of(Quantising), problem.settings.portfolio
    finest, fine = _finest(mechanism, max(pace.loss_share * tolerance, pace.least_loss), pace)
    many = finest.channel.n_outputs
    first = zip(pace.first_losses, (pace.few_points, portfolio.most_outputs), strict=True)
    coarser = [error for error, most in first if many > most and fine < pace.loss_share * error]
    looks: list[Found] = []
    for error in (*coarser, fine):
        last = error == fine
        seen = finest if last else quantise(mechanism, error)
        gap = max(0.9 * tolerance - fine, 0.5 * tolerance) if last else pace.loss_share * error
        coarse = by_records(replace(problem, mechanism=seen.channel, tolerance=gap), deadline, seed)
        look = coarse.through(seen, problem)
        looks.append(look if last else _seen_finely(look, finest))
        if problem.closed(looks[-1].lower, looks[-1].upper):
            break
        if looks[-1].gap > pace.closed * error or deadline.expired():
            break
    return min(looks, key=lambda look: look.gap)


def _finest(mechanism: Real, error: float, pace: Quantising) -> tuple[Quantised, float]:
    """Return the channel for this loss; for a greater one where its points would not fit, and which."""
    try:
        return quantise(mechanism, error), error
    except InputError:
        coarse = max(pace.first_losses[0], error)
        return quantise(mechanism, coarse), coarse


def _seen_finely(found: Found, finest: Quantised) -> Found:
    """Show the witness of a coarse channel to the finest one, which tells more exactly what it leaks."""
    lower = finest.lower(float(mutual_information(found.prior.masses @ finest.channel.rows)) - MARGIN_DOWN)
    brackets = tuple((m, lower if found.record in m else low, high) for m, low, high in found.brackets)
    witness = {**found.witness, **finest.to_certificate()}
    return replace(found, lower=lower, witness=witness, brackets=brackets)
