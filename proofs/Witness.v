(** The witness: any prior that the adversary may hold shows that the mechanism leaks what that prior learns (3, 5). *)
From Coq Require Import Reals Lra List.
From Dalenius Require Import Sums Information.
Import ListNotations.
Local Open Scope R_scope.

Section Witness.
  Context {V C O : Type}.
  Variables (values : list V) (cells : V -> list C) (outputs : list O).
  Variables (rho mass : V -> C -> R) (q : V -> C -> O -> R).

  (** "The witness's masses are not negative; divided by their sum they have D <= K and leak at least `lower`." *)
  Definition divided a t : R := mass a t / over values cells mass.

  Theorem witness K lower :
    (forall a t, is_cell values cells a t -> 0 <= mass a t) -> 0 < over values cells mass ->
    divergence values cells divided rho <= K -> lower <= information values cells outputs divided q ->
    leaks_at_least values cells outputs rho q K lower.
  Proof.
    intros N S D L. exists divided. repeat split; try assumption.
    - intros a t I. unfold divided. apply Rmult_le_pos; [now apply N | apply Rlt_le, Rinv_0_lt_compat, S].
    - unfold over, divided, Rdiv. rewrite (sum_ext values _ (fun a => sum (cells a) (mass a) * / over values cells mass))
        by (intros; apply sum_scale_r).
      rewrite sum_scale_r. fold (over values cells mass). field. lra.
  Qed.
End Witness.
