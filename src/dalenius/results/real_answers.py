"""Audits of real outputs: through finite channels, coarse before fine, and back."""

import math
from dataclasses import replace
from typing import cast

import numpy as np

from dalenius.certificates.audits import MARGIN_DOWN
from dalenius.certificates.certificate import Certificate
from dalenius.errors import InputError
from dalenius.model.channels.real import Real
from dalenius.model.problem import AuditProblem
from dalenius.numerics.information import mutual_information
from dalenius.reductions.quantise import Quantised, quantise
from dalenius.results.answers import Run, certified_answer, why_stopped
from dalenius.results.audit import Audit, Extremes, Records
from dalenius.results.units import down, up
from dalenius.settings import Quantising

DONE = ("gap", "nearly")


def real_answer(problem: AuditProblem, run: Run) -> Audit:
    """Return the bracket of a mechanism with real outputs.

    Few points are taken as they are. Where the tolerance asks for many, coarser channels come first: the best bracket
    stands when a finer channel, whose audit takes longer, does no better in the time that is left.
    """
    mechanism, tolerance = cast("Real", problem.mechanism), run.tolerance * run.nats
    pace = problem.settings.quantising
    finest, fine = _finest(mechanism, max(pace.loss_share * tolerance, pace.least_loss), pace)
    many = finest.channel.n_outputs
    first = zip(pace.first_losses, (pace.few_points, problem.settings.portfolio.most_outputs), strict=True)
    coarser = [error for error, most in first if many > most and fine < pace.loss_share * error]
    looks: list[Audit] = []
    for error in (*coarser, fine):
        last = error == fine
        seen = finest if last else quantise(mechanism, error)
        gap = max(0.9 * tolerance - fine, 0.5 * tolerance) if last else pace.loss_share * error
        look = replace(problem, mechanism=seen.channel, tolerance=gap)
        looks.append(_look(mechanism, seen, look, run, finest=None if last else finest))
        if looks[-1].stopped in DONE or looks[-1].gap * run.nats > pace.closed * error or run.deadline.expired():
            break
    best = min(looks, key=lambda look: look.gap)
    stopped = why_stopped((best.lower, best.upper), run, nearly=problem.settings.portfolio.nearly / run.nats)
    return replace(best, stopped=stopped, seconds=looks[-1].seconds, nodes=looks[-1].nodes)


def _finest(mechanism: Real, error: float, pace: Quantising) -> tuple[Quantised, float]:
    """Return the channel for this loss; for a greater one where its points would not fit, and which."""
    try:
        return quantise(mechanism, error), error
    except InputError:
        coarse = max(pace.first_losses[0], error)
        return quantise(mechanism, coarse), coarse


def _look(
    mechanism: Real, seen: Quantised, problem: AuditProblem, run: Run, *, finest: Quantised | None = None
) -> Audit:
    """Audit one finite channel, within the limits of the whole, and say what that proves of the real one."""
    whole = run.deadline
    deadline = replace(whole, parent=whole)
    answer = certified_answer(problem, deadline, run)
    whole.nodes = deadline.nodes
    return _carried(mechanism, seen, answer, run, finest, nearly=problem.settings.portfolio.nearly)


def _carried(  # noqa: PLR0913 - both channels, and what was found
    mechanism: Real, seen: Quantised, answer: Audit, run: Run, finest: Quantised | None, *, nearly: float
) -> Audit:
    """Return the audit of the real channel; its certificate proves the finite one's bounds and adds the difference.

    The witness of a coarse channel is shown to the finest one, which tells more exactly what it leaks.
    """
    most = math.nextafter(math.log(min(answer.prior.masses.shape[0], seen.answers)), math.inf)

    def below(nats: float) -> float:
        return seen.lower(nats)

    def above(nats: float) -> float:
        return min(seen.upper(nats), most)

    lower, upper = below(answer.certificate.lower), above(answer.certificate.upper)
    problem = {**mechanism.describe(), "quadrature": seen.description}
    data = {**answer.certificate.data, "form": "real-outputs", "problem": problem, "upper": upper}
    if finest is not None:
        leaked = float(mutual_information(answer.prior.masses @ finest.channel.rows))
        lower = finest.lower(leaked - MARGIN_DOWN)
        data["witness"] = {**data["witness"], "quadrature": finest.description}
    data["lower"] = lower
    nats = run.nats
    orbits = (
        (
            m,
            down(lower if answer.record in m else below(a * nats), nats),
            up(upper if b == answer.upper else above(b * nats), nats),
        )
        for m, a, b in answer.records.orbits
    )
    bracket = down(lower, nats), up(upper, nats)
    extremes = answer.extremes
    if extremes is not None:
        low, high = extremes.unconstrained
        free = max(bracket[0], down(below(low * nats), nats)), up(above(high * nats), nats)
        extremes = Extremes(free, _uniform(answer, finest or seen) / nats)
    return replace(
        answer,
        mechanism=mechanism,
        lower=bracket[0],
        upper=bracket[1],
        stopped=why_stopped(bracket, run, nearly=nearly / nats),
        records=Records(tuple(orbits)),
        prior=replace(answer.prior, mechanism=mechanism),
        certificate=Certificate.written(data),
        extremes=extremes,
        nodes=run.deadline.nodes,
    )


def _uniform(answer: Audit, seen: Quantised) -> float:
    """What the reference prior learns, in nats, by these points."""
    statistic = seen.channel.statistic
    secrets = [m[0] or 0 for m, _, _ in answer.records.orbits] if answer.secret is None else [answer.secret]
    joints = (np.exp(answer.reference.log_joint(statistic, secret)) @ seen.channel.rows for secret in secrets)
    return max(float(mutual_information(joint)) for joint in joints) / (1 - seen.slack)
