"""Audits of several releases of one sum that are never written out.

Lower bound: ascents on coarse classes, and on groups of outputs of every release. Upper bound: that of one release of
which all are a function; where the bracket stays open, and the noise falls by a factor a step, monotone rows on points.
"""

from dataclasses import replace

from dalenius.auditing.one_release import one_release
from dalenius.auditing.one_secret import SecretAudit
from dalenius.auditing.unwritten_sums import audit_large, from_below, on_few_points, refusal
from dalenius.bounds.closing import Formula
from dalenius.bounds.on_points import Several
from dalenius.bounds.proof import Proof
from dalenius.errors import InputError
from dalenius.model.channels.joint import Joint
from dalenius.model.problem import AuditProblem
from dalenius.model.secret import Secret
from dalenius.reductions.coarse import Coarseness, Grid, coarsen_releases
from dalenius.reductions.lump import Lift
from dalenius.search.deadline import Deadline

# The part of the time that the audit of one release may take; of Gaussian noise it is the only upper bound.
ONE_SHARE, ONLY_SHARE = 0.3, 0.7


def audit_joint(
    problem: AuditProblem, joint: Joint, about: Secret, deadline: Deadline
) -> tuple[SecretAudit, Lift, Grid]:
    """Bracket max I(about;Y_1,Y_2,...), with the way from coarse cells to classes."""
    if (reason := refusal(problem, joint.rounded[0], about)) is not None:
        raise InputError(reason)
    one = one_release(joint)
    share = deadline.part((ONE_SHARE if joint.rates else ONLY_SHARE) * deadline.left)
    single = audit_large(replace(problem, mechanism=one.channel), one.channel, about, share)
    masses = single[1].masses(single[0].pi)
    coarse = coarsen_releases(joint, about, problem.knowledge, problem.reference, problem.settings.of(Coarseness))
    proofs: list[Proof] = [one.proof(single[0].proof, coarse[0].secrets)]
    if problem.knowledge <= 0:
        proofs.append(Formula("trivial", single[0].trivial))
    audit, lift, grid = from_below(
        problem,
        joint.rounded[0],
        about,
        deadline,
        proofs=proofs,
        outputs=joint.n_outputs,
        known=masses / masses.sum(),
        coarse=coarse,
    )
    if audit.worth_more and joint.rates and not deadline.expired():
        found = on_few_points(problem, joint.rounded[0], about, deadline, known=audit.lower, noise=Several.of(joint))
        if found is not None:
            audit.try_formulas(found)
        deadline.report_progress(0, 1, audit.lower, audit.upper, "monotone rows")
    return audit, lift, grid
