(** What the theorems rest on: the axioms of Coq's real numbers, and excluded middle, which Coq-Interval uses. *)
From Dalenius Require Import Sums Closing Posteriors Choices Contraction Witness Lumping Duality Tables Trees ChoiceTrees Audit.

Print Assumptions gibbs.
Print Assumptions closing.
Print Assumptions closing_linear.
Print Assumptions posteriors_bound.
Print Assumptions capacity_bound.
Print Assumptions constrained_capacity.
Print Assumptions information_convex.
Print Assumptions blended_bound.
Print Assumptions witness.
Print Assumptions lumping_upper.
Print Assumptions lumping_lower.
Print Assumptions variational.
Print Assumptions weak_duality.
Print Assumptions witness_proves.
Print Assumptions posteriors_prove.
Print Assumptions choices_prove.
Print Assumptions audited_above.
Print Assumptions audited_below.
