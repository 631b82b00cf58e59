"""The paper's eleven algorithms under their own names and numbers, on all datasets; each local search, none a proof.

The paper is "Computing Maximal Per-Record Leakage and Leakage-Distortion Functions for Privacy Mechanisms under
Entropy-Constrained Adversaries" by Genqiang Wu, Xiaoying Zhang, Yu Qi, Hao Wang, Jikui Wang and Yeping He [wuzhang26],
in the framework of "Achieving Dalenius' Goal of Data Privacy with Practical Assumptions" by Genqiang Wu, Xianyao Xia
and Yeping He [wuxia26]. Its authors' own code: https://github.com/EpsilonOmega2024/privacy-mechanism-optimization.

Algorithm 1 is in leakage.py, 2 in marginal.py, 3 to 5 in conditionals.py, 6 to 8 in primal.py, 9 to 11 in dual.py;
the paper's theorems on derivatives are in gradients.py, the repairs of its text in choices.py. Every entry of a REQUIRE
list is an argument; where the paper gives a default, it is that. Method is what method="paper" means in `dl.audit` and
`dl.design`.
"""

from dalenius.paper.conditionals import (
    best_extreme_point,
    project_to_entropy,
    project_to_simplex,
    projected_gradient_coordinate_ascent,
)
from dalenius.paper.dual import dual_adaptive_smooth_penalty, dual_exponentiated_gradient_descent, minimal_distortion
from dalenius.paper.leakage import maximal_leakage, restarts
from dalenius.paper.marginal import modified_blahut_arimoto
from dalenius.paper.method import Method
from dalenius.paper.primal import adaptive_smooth_penalty, exponentiated_gradient_descent, leakage_distortion_tradeoff
from dalenius.paper.universe import Universe

algorithm_1 = maximal_leakage
algorithm_2 = modified_blahut_arimoto
algorithm_3 = projected_gradient_coordinate_ascent
algorithm_4 = project_to_simplex
algorithm_5 = project_to_entropy
algorithm_6 = leakage_distortion_tradeoff
algorithm_7 = adaptive_smooth_penalty
algorithm_8 = exponentiated_gradient_descent
algorithm_9 = minimal_distortion
algorithm_10 = dual_adaptive_smooth_penalty
algorithm_11 = dual_exponentiated_gradient_descent

__all__ = [
    "Method",
    "Universe",
    "adaptive_smooth_penalty",
    "algorithm_1",
    "algorithm_2",
    "algorithm_3",
    "algorithm_4",
    "algorithm_5",
    "algorithm_6",
    "algorithm_7",
    "algorithm_8",
    "algorithm_9",
    "algorithm_10",
    "algorithm_11",
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
