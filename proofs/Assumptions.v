(** What the theorems rest on: the axioms of Coq's real numbers, and excluded middle, by which Coq's own library
    proves what exp and ln are. All at once, since looking for axioms takes seconds each time. *)
From Dalenius Require Import Sums Closing Posteriors Choices Contraction Witness Lumping Duality Tables Trees ChoiceTrees Audit Designs Independent.

Definition proved :=
  (@gibbs, @closing, @closing_linear, @posteriors_bound, @capacity_bound, @constrained_capacity,
   @information_convex, @blended_bound, @witness, @lumping_upper, @lumping_lower, @variational,
   @weak_duality, @witness_proves, @posteriors_prove, @choices_prove, @values_prove, @audited_above, @audited_below,
   @least_leakage, @least_distortion, @errs_at_most, @lines_prove, @known_proves).
Print Assumptions proved.
