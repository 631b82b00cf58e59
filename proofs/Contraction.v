(** Contraction with the coefficient 1, which every channel has, and its blend with Jensen (1.3, 4.3, 4.4). *)
From Coq Require Import Reals Lra List.
From Dalenius Require Import Sums Information Closing Choices.
Import ListNotations.
Local Open Scope R_scope.

Section Contraction.
  Context {V C O : Type}.
  Variables (values : list V) (cells : V -> list C) (outputs : list O).
  Variables (pi rho w0 : V -> C -> R) (q : V -> C -> O -> R) (r : O -> R).
  Hypotheses (P : is_prior values cells pi) (Ref : is_reference values cells rho) (Q : is_channel values cells outputs q).
  Hypotheses (Pos : forall y, In y outputs -> 0 < r y) (Sub : sum outputs r <= 1).
  Hypothesis (W0 : forall a t, is_cell values cells a t -> 0 < w0 a t).

  Notation z := (joint cells pi q).
  Notation p := (total cells pi).

  (** u_0 = w_0 q. The measures w_0(.|a) need not sum to one. *)
  Definition u0 a y : R := joint cells w0 q a y.

  (** "Contraction. F(u_a) <= <u_a, log u_0> + eta D(w_a || rho_a) - eta <w_a, log(w_0 / rho_a)>" with eta = 1, which is
      data processing, D(wq || w_0 q) <= D(w || w_0), times p_a. *)
  Lemma data_processing a : In a values ->
    sum outputs (fun y => z a y * ln (z a y / u0 a y)) <= sum (cells a) (fun t => pi a t * ln (pi a t / w0 a t)).
  Proof.
    intros A.
    apply Rle_trans with (sum outputs (fun y => sum (cells a) (fun t => pi a t * q a t y * ln (pi a t * q a t y / (w0 a t * q a t y))))).
    - apply sum_le. intros y Y. apply log_sum. intros t T.
      pose proof (pi_nonneg values cells pi P a t A T). pose proof (q_nonneg values cells outputs q Q a t y A T Y).
      specialize (W0 a t (conj A T)). repeat split; [now apply Rmult_le_pos | apply Rmult_le_pos; lra |].
      intros E. apply Rmult_integral in E. destruct E as [E|E]; [lra | rewrite E; ring].
    - right. rewrite <- sum_swap. apply sum_ext. intros t T.
      rewrite (sum_ext outputs _ (fun y => pi a t * ln (pi a t / w0 a t) * q a t y)).
      + rewrite sum_scale. destruct (Q a t (conj A T)) as [_ ->]. ring.
      + intros y Y. destruct (Req_dec (q a t y) 0) as [->|N]; [ring|]. specialize (W0 a t (conj A T)).
        replace (pi a t * q a t y / (w0 a t * q a t y)) with (pi a t / w0 a t) by (field; lra). ring.
  Qed.

  (** The one bound (4.3, 4.4) with eta = 1: a share theta of F is left to contraction, the rest to Jensen,
      h = sum_y q [ -log r + theta log u_0 + (1-theta) log q ] - theta log( w_0 / rho_a ). *)
  Variable theta : R.
  Hypothesis Theta : 0 <= theta <= 1.

  Definition blended a t : R :=
    sum outputs (fun y => q a t y * (theta * ln (u0 a y) - ln (r y)) + (1 - theta) * phi (q a t y))
      - theta * ln (w0 a t / (rho a t / total cells rho a)).

  Lemma u0_pos a y t : In a values -> In t (cells a) -> In y outputs -> 0 < q a t y -> 0 < u0 a y.
  Proof.
    intros A T Y L. apply Rlt_le_trans with (w0 a t * q a t y); [apply Rmult_lt_0_compat; auto; apply W0; now split|].
    apply (sum_term (cells a) (fun t => w0 a t * q a t y)); [|assumption]. intros t' T'.
    apply Rmult_le_pos; [apply Rlt_le, W0; now split | now apply (q_nonneg values cells outputs q Q)].
  Qed.

  Lemma share_of_contraction a : In a values ->
    sum outputs (fun y => z a y * ln (z a y / p a))
      <= sum outputs (fun y => z a y * ln (u0 a y)) + within cells pi rho a
         - sum (cells a) (fun t => pi a t * ln (w0 a t / (rho a t / total cells rho a))).
  Proof.
    intros A. pose proof (data_processing a A) as L. pose proof (reference_pos values cells rho Ref a A) as RA.
    assert (E : sum outputs (fun y => z a y * ln (z a y / p a))
      = sum outputs (fun y => z a y * ln (z a y / u0 a y)) + sum outputs (fun y => z a y * ln (u0 a y)) - phi (p a)).
    { replace (phi (p a)) with (sum outputs (fun y => z a y * ln (p a)))
        by (rewrite sum_scale_r, (joint_total values cells outputs pi q Q a A); reflexivity).
      rewrite <- sum_plus, <- sum_minus.
      apply sum_ext. intros y Y. pose proof (joint_le_total values cells outputs pi q P Q a y A Y).
      destruct (Rle_lt_or_eq_dec _ _ (joint_nonneg values cells outputs pi q P Q a y A Y)) as [Z|Z]; [|rewrite <- Z; ring].
      assert (U : 0 < u0 a y).
      { assert (X : exists t, In t (cells a) /\ 0 < q a t y).
        { unfold joint in Z. clear - Z A Y P Q. pose proof (fun t T => q_nonneg values cells outputs q Q a t y A T Y) as N.
          induction (cells a) as [|t l IH]; simpl in Z; [lra|].
          destruct (Rle_lt_or_eq_dec 0 (q a t y)) as [G|G]; [apply N; now left | exists t; split; [now left | assumption] |].
          rewrite <- G, Rmult_0_r, Rplus_0_l in Z. destruct IH as (t' & T' & G'); auto.
          - intros. apply N. now right.
          - exists t'. split; [now right | assumption]. }
        destruct X as (t & T & G). now apply u0_pos with t. }
      rewrite !ln_div by lra. ring. }
    rewrite E. unfold within. rewrite (log_ratio values cells pi rho P Ref a A).
    assert (F : sum (cells a) (fun t => pi a t * ln (pi a t / w0 a t))
      = sum (cells a) (fun t => pi a t * ln (pi a t / rho a t)) + p a * ln (total cells rho a)
        - sum (cells a) (fun t => pi a t * ln (w0 a t / (rho a t / total cells rho a)))).
    { unfold total at 1. rewrite <- sum_scale_r, <- sum_plus, <- sum_minus. apply sum_ext. intros t T.
      pose proof (proj1 Ref a t (conj A T)) as Rt. pose proof (W0 a t (conj A T)) as Wt.
      destruct (Rle_lt_or_eq_dec _ _ (pi_nonneg values cells pi P a t A T)) as [Z|Z]; [|rewrite <- Z; ring].
      rewrite !ln_div; try assumption; [ring|]. now apply Rdiv_lt_0_compat. }
    lra.
  Qed.

  (** (M) with theta = 0 there, and eta = theta. *)
  Theorem blended_majorant :
    information values cells outputs pi q
      <= over values cells (fun a t => pi a t * blended a t) + sum values (fun a => theta * within cells pi rho a).
  Proof.
    apply (Rle_trans _ _ _ (golden values cells outputs pi q r P Q Pos Sub)).
    rewrite (sum_ext outputs (fun y => seen values cells pi q y * ln (r y)) (fun y => sum values (fun a => z a y * ln (r y))))
      by (intros; symmetry; apply sum_scale_r).
    unfold over. rewrite <- (sum_swap values outputs), <- sum_minus, <- sum_plus. apply sum_le. intros a A.
    pose proof (share_of_contraction a A) as L1. pose proof (jensen values cells outputs pi q P Q a A) as L2.
    rewrite (joint_linear cells outputs pi q a (fun y => ln (r y))).
    rewrite (joint_linear cells outputs pi q a (fun y => ln (u0 a y))) in L1.
    assert (E : sum (cells a) (fun t => pi a t * blended a t)
      = theta * sum (cells a) (fun t => pi a t * sum outputs (fun y => q a t y * ln (u0 a y)))
        - sum (cells a) (fun t => pi a t * sum outputs (fun y => q a t y * ln (r y)))
        + (1 - theta) * sum (cells a) (fun t => pi a t * sum outputs (fun y => phi (q a t y)))
        - theta * sum (cells a) (fun t => pi a t * ln (w0 a t / (rho a t / total cells rho a)))).
    { rewrite <- !sum_scale, <- sum_minus, <- sum_plus, <- sum_minus. apply sum_ext. intros t T. unfold blended.
      rewrite (sum_ext outputs _ (fun y => theta * (q a t y * ln (u0 a y)) - q a t y * ln (r y) + (1 - theta) * phi (q a t y)))
        by (intros; ring).
      rewrite sum_plus, sum_minus, !sum_scale. ring. }
    rewrite E.
    set (F := sum outputs (fun y => z a y * ln (z a y / p a))) in *.
    apply (Rmult_le_compat_l theta) in L1; [|lra]. apply (Rmult_le_compat_l (1 - theta)) in L2; [|lra]. lra.
  Qed.

  (** "bound = s LSE_a( ... ) + s K", valid for every s > theta eta = theta. *)
  Theorem blended_bound s K :
    theta < s -> divergence values cells pi rho <= K ->
    information values cells outputs pi q
      <= s * K + s * ln (sum values (fun a => exp ((theta * ln (total cells rho a)
           + (s - theta) * ln (sum (cells a) (fun t => rho a t * exp (blended a t / (s - theta))))) / s))).
  Proof.
    intros S B. eapply Rle_trans.
    - apply (closing_linear values cells pi rho P Ref _ K 0 s (fun _ => theta) blended); try lra; try (intros; lra).
      rewrite Rmult_0_l, Rplus_0_l. apply blended_majorant.
    - rewrite Rplus_0_l. lra.
  Qed.
End Contraction.
