(** Lower bounds of designs by weak duality (6.3). *)
From Coq Require Import Reals Lra List.
From Dalenius Require Import Sums Information Choices.
Import ListNotations.
Local Open Scope R_scope.

Section OnePrior.
  Context {V C O : Type}.
  Variables (values : list V) (cells : V -> list C) (outputs : list O).
  Variables (pi : V -> C -> R) (q : V -> C -> O -> R) (ratio : V -> O -> R).
  Hypotheses (P : is_prior values cells pi) (Q : is_channel values cells outputs q).

  (** "R(a,y) > 0 any ratios with sum_a p_a R(a,y) <= 1 for every y". *)
  Hypotheses (Pos : forall a y, In a values -> In y outputs -> 0 < ratio a y)
    (Sub : forall y, In y outputs -> sum values (fun a => total cells pi a * ratio a y) <= 1).

  (** "Every mechanism has I(A;Y) >= sum_{a,y} z(a,y) log R(a,y)", and the right side is linear in q. *)
  Theorem variational :
    over values cells (fun a t => pi a t * sum outputs (fun y => q a t y * ln (ratio a y)))
      <= information values cells outputs pi q.
  Proof.
    unfold over, information.
    rewrite (sum_ext values _ (fun a => sum outputs (fun y => joint cells pi q a y * ln (ratio a y))))
      by (intros; symmetry; apply joint_linear).
    rewrite !(sum_swap values outputs). apply sum_le. intros y Y.
    set (z := fun a => joint cells pi q a y). set (s := seen values cells pi q y).
    assert (S : 0 <= s) by now apply (seen_nonneg values cells outputs pi q P Q).
    assert (B : forall a, In a values -> below (z a) (total cells pi a * ratio a y * s)).
    { intros a A. destruct (joint_below values cells outputs q Q pi a y P A Y) as (B1 & B2 & B3).
      fold (z a) s in B1, B2, B3. specialize (Pos a y A Y). pose proof (total_nonneg values cells pi P a A).
      repeat split; [assumption | apply Rmult_le_pos; [apply Rmult_le_pos|]; lra |].
      intros E. apply B3. apply Rmult_integral in E as [E|E]; [|rewrite E; ring].
      apply Rmult_integral in E as [E|E]; [rewrite E; ring | lra]. }
    pose proof (log_sum values z (fun a => total cells pi a * ratio a y * s) B) as L.
    rewrite sum_scale_r in L. change (sum values z) with s in L.
    assert (E : sum values (fun a => z a * ln (z a / (total cells pi a * ratio a y * s)))
      = sum values (fun a => z a * ln (z a / (total cells pi a * s))) - sum values (fun a => z a * ln (ratio a y))).
    { rewrite <- sum_minus. apply sum_ext. intros a A. destruct (B a A) as (B1 & _ & _).
      destruct (Rle_lt_or_eq_dec _ _ B1) as [G|G]; [|rewrite <- G; ring]. specialize (Pos a y A Y).
      pose proof (joint_le_total values cells outputs pi q P Q a y A Y) as G1. pose proof (joint_le_seen values cells outputs pi q P Q a y A Y) as G2.
      fold (z a) in G1, G2. fold s in G2.
      replace (total cells pi a * ratio a y * s) with (total cells pi a * s * ratio a y) by ring.
      assert (0 < total cells pi a * s) by nra. rewrite !ln_div, ln_mult by nra. ring. }
    rewrite E in L. specialize (Sub y Y).
    assert (0 <= s * ln (s / (sum values (fun a => total cells pi a * ratio a y) * s))).
    { destruct (Rle_lt_or_eq_dec _ _ S) as [G|G]; [|rewrite <- G; lra].
      set (w := sum values (fun a => total cells pi a * ratio a y)) in *.
      assert (W : 0 < w).
      { destruct (Rle_lt_dec w 0) as [N|]; [exfalso | assumption].
        assert (Z : forall a, In a values -> z a = 0).
        { intros a A. apply (B a A).
          assert (F : total cells pi a * ratio a y <= w).
          { apply (sum_term values (fun a => total cells pi a * ratio a y)); [|assumption]. intros b Hb.
            apply Rmult_le_pos; [now apply (total_nonneg values cells pi P) | apply Rlt_le; auto]. }
          assert (0 <= total cells pi a * ratio a y)
            by (apply Rmult_le_pos; [now apply (total_nonneg values cells pi P) | apply Rlt_le; auto]).
          nra. }
        assert (s = 0); [|lra]. change s with (sum values z). rewrite (sum_ext values z (fun _ => 0)) by assumption. apply sum_zero. }
      apply Rmult_le_pos; [lra|]. rewrite <- ln_1. apply ln_le; [lra|].
      replace (s / (w * s)) with (/ w) by (field; lra). rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
    unfold z, s in *. lra.
  Qed.
End OnePrior.

(** "D(L,b) >= sum_c min_y [ P_0(c) d(c,y) + W(c,y) ] - L sum_k lambda_k": a mechanism whose leakages add up to at most
    [budget], W being the weighted sum of what the priors say, errs at least so much. *)
Theorem weak_duality {C O : Type} (domain : list C) (outputs : list O) (q cost W : C -> O -> R) (least : C -> R) (budget : R) :
  (forall c, In c domain -> (forall y, In y outputs -> 0 <= q c y) /\ sum outputs (q c) = 1) ->
  (forall c y, In c domain -> In y outputs -> least c <= cost c y + W c y) ->
  sum domain (fun c => sum outputs (fun y => q c y * W c y)) <= budget ->
  sum domain least - budget <= sum domain (fun c => sum outputs (fun y => q c y * cost c y)).
Proof.
  intros Q L B.
  assert (sum domain least <= sum domain (fun c => sum outputs (fun y => q c y * cost c y)) + sum domain (fun c => sum outputs (fun y => q c y * W c y))); [|lra].
  rewrite <- sum_plus. apply sum_le. intros c I. destruct (Q c I) as [N S].
  rewrite <- sum_plus. apply Rle_trans with (sum outputs (fun y => q c y * least c)).
  - rewrite sum_scale_r, S. lra.
  - apply sum_le. intros y Y. rewrite <- Rmult_plus_distr_l. apply Rmult_le_compat_l; auto.
Qed.
