"""What `import dalenius as dl` offers: audit, curve, verify, load."""

import math
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Literal

from dalenius.certificates import verify as verifier
from dalenius.certificates.certificate import Certificate
from dalenius.errors import InputError
from dalenius.model import checks
from dalenius.model.adversary import Adversary
from dalenius.model.mechanism import Mechanism
from dalenius.results import NATS_PER_UNIT, Audit, Curve, Extremes, Records
from dalenius.solvers.audit import audit_records
from dalenius.solvers.branch_and_bound import Search
from dalenius.solvers.certify import KINDS, MARGIN_DOWN, certificate_data, prior_of, stated
from dalenius.solvers.record import NEARLY, Proof
from dalenius.solvers.watch import Progress, Watch

TIE = 1e-9  # records this close in leakage are tied, and the lowest index is named
SOLVER_SHARE = 0.9  # the solver closes to this share of the tolerance; the rest is for rounding


def audit(  # noqa: PLR0913 - the public surface
    mechanism: Mechanism,
    entropy: float | None = None,
    knowledge: float | None = None,
    *,
    unit: str = "nats",
    tolerance: float = 1e-6,
    time_limit: float = 60.0,
    seed: int = 0,
    progress: bool | Callable[[Progress], None] = False,
) -> Audit:
    """Return a certified bracket on L(b) = max_i max { I(X_i;Y) : H(X) >= b }.

    Give exactly one of `entropy` (b) and `knowledge` (log|X| - b). `tolerance` is the gap to reach, in
    `unit`; after `time_limit` seconds, or Ctrl-C, the best bracket so far is returned. `progress` is a
    callable that is told the bracket on the way, or True for a line on standard error.
    """
    if not isinstance(mechanism, Mechanism):
        message = (
            f"audit needs a Mechanism, not {type(mechanism).__name__}; see dl.mechanisms or dl.Mechanism.from_matrix"
        )
        raise InputError(message)
    adversary = Adversary.from_user(mechanism.records, entropy=entropy, knowledge=knowledge, unit=unit)
    nats = NATS_PER_UNIT[unit]
    gap = checks.real("tolerance", tolerance, 0.0, math.inf, open_low=True) * nats
    limit = checks.real("time_limit", time_limit, 0.0, math.inf, open_low=True)
    checks.whole("seed", seed, 0)
    report = progress if callable(progress) else _print_progress if progress else None
    with Watch(limit, report) as watch:
        found = audit_records(mechanism, adversary.knowledge, SOLVER_SHARE * gap, watch, seed)
    best = max(item.audit.lower for item in found)
    worst = min((item for item in found if item.audit.lower >= best - TIE), key=lambda item: item.record)
    prior = prior_of(mechanism, worst)
    lower = max(0.0, prior.leakage() - MARGIN_DOWN)
    uppers = {item.record: stated(mechanism, item)[1] for item in found}
    upper = max(*uppers.values(), lower)
    data = certificate_data(adversary, prior, (lower, upper), found)
    lowers = {item.record: max(0.0, item.audit.lower - MARGIN_DOWN) for item in found} | {worst.record: lower}
    records = tuple((item.members, _down(lowers[item.record], nats), _up(uppers[item.record], nats)) for item in found)
    low, high = (max(item.audit.unconstrained[k] for item in found) for k in (0, 1))
    uniform = max(float(item.audit.cells.leakage(item.audit.cells.rho[None])[0]) for item in found)
    top = max(found, key=lambda item: item.audit.upper)
    return Audit(
        mechanism=mechanism,
        adversary=adversary,
        unit=unit,
        lower=_down(lower, nats),
        upper=_up(upper, nats),
        stopped=_stopped(upper - lower, gap, watch),
        proved="both",
        record=worst.record,
        records=Records(records),
        prior=prior,
        certificate=Certificate.of(data),
        extremes=Extremes((_down(max(0.0, low - MARGIN_DOWN), nats), _up(high + MARGIN_DOWN, nats)), uniform / nats),
        tolerance=tolerance,
        seed=seed,
        seconds=watch.seconds,
        nodes=watch.nodes,
        bounds=_bound_name(top.audit.proof),
    )


def _stopped(gap: float, tolerance: float, watch: Watch) -> Literal["gap", "time_limit", "interrupted", "method"]:
    if gap <= max(tolerance, NEARLY if not watch.interrupted and watch.left > 0 else 0.0):
        return "gap"
    if watch.interrupted:
        return "interrupted"
    return "time_limit" if watch.left <= 0 else "method"


def _bound_name(proof: Proof) -> str:
    """Which bound closed the bracket, or came nearest: as in docs/mathematics.md."""
    if isinstance(proof, Search) and proof.frame.g_size == 1:
        return "contraction" if proof.frame.tangent else "capacity"
    return KINDS[type(proof)]


def _down(nats: float, scale: float) -> float:
    """Divide and round down."""
    return nats if scale == 1 else max(0.0, math.nextafter(nats / scale, -math.inf))


def _up(nats: float, scale: float) -> float:
    """Divide and round up."""
    return nats if scale == 1 else math.nextafter(nats / scale, math.inf)


def _print_progress(progress: Progress) -> None:
    bracket = f"[{progress.lower:.6f}, {progress.upper:.6f}]"
    sys.stderr.write(f"\r{progress.stage}: {bracket} {progress.nodes} nodes {progress.seconds:.1f} s ")
    sys.stderr.flush()


def curve(mechanism: Mechanism, entropies: Iterable[float], **options: Any) -> Curve:  # noqa: ANN401 - as audit
    """Return L(b) at each entropy b, each point a bracket; options as for `audit`."""
    try:
        points = [checks.real("an entropy", b, -math.inf, math.inf) for b in entropies]
    except TypeError:
        message = f"entropies = {entropies!r} must list values of b, such as [0, 0.5, 1]"
        raise InputError(message) from None
    if not points:
        message = "entropies is empty; give at least one value of b"
        raise InputError(message)
    return Curve(tuple(points), tuple(audit(mechanism, entropy=b, **options) for b in points))


def verify(source: Any, mechanism: Mechanism | None = None) -> verifier.Verification:  # noqa: ANN401 - path, Certificate or Audit
    """Re-check a certificate in ball arithmetic, without any code of the solver.

    `source` is a path, a Certificate or an Audit. With `mechanism`, also that it is about this channel.
    """
    if mechanism is not None and not isinstance(mechanism, Mechanism):
        message = f"mechanism= must be a Mechanism, not {type(mechanism).__name__}"
        raise InputError(message)
    return verifier.verify(source.certificate if isinstance(source, Audit) else source, mechanism=mechanism)


def load(path: str | os.PathLike[str]) -> Audit:
    """Read what `audit.save` wrote."""
    return Audit.load(path)
