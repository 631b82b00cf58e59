"""The paper's eleven algorithms under their own names, on all datasets; each local search, none a proof.

Algorithms 1 to 5 are in leakage.py, 6 to 8 in primal.py, 9 to 11 in dual.py; its theorems on derivatives in
gradients.py.
"""

from dalenius.paper.dual import dual_adaptive_smooth_penalty, dual_exponentiated_gradient_descent, minimal_distortion
from dalenius.paper.leakage import (
    best_extreme_point,
    maximal_leakage,
    modified_blahut_arimoto,
    project_to_entropy,
    project_to_simplex,
    projected_gradient_coordinate_ascent,
    restarts,
)
from dalenius.paper.primal import adaptive_smooth_penalty, exponentiated_gradient_descent, leakage_distortion_tradeoff

__all__ = [
    "adaptive_smooth_penalty",
    "best_extreme_point",
    "dual_adaptive_smooth_penalty",
    "dual_exponentiated_gradient_descent",
    "exponentiated_gradient_descent",
    "leakage_distortion_tradeoff",
    "maximal_leakage",
    "minimal_distortion",
    "modified_blahut_arimoto",
    "project_to_entropy",
    "project_to_simplex",
    "projected_gradient_coordinate_ascent",
    "restarts",
]
