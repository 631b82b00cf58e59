(** Golden, Jensen and choices: bounds against every prior, whatever is known (1.3, 4.1). *)
From Coq Require Import Reals Lra List.
From Dalenius Require Import Sums Information Closing.
Import ListNotations.
Local Open Scope R_scope.

Section Golden.
  Context {V C O : Type}.
  Variables (values : list V) (cells : V -> list C) (outputs : list O).
  Variables (pi : V -> C -> R) (q : V -> C -> O -> R) (r : O -> R).
  Hypotheses (P : is_prior values cells pi) (Q : is_channel values cells outputs q).
  Hypotheses (Pos : forall y, In y outputs -> 0 < r y) (Sub : sum outputs r <= 1).

  Notation z := (joint cells pi q).
  Notation zy := (seen values cells pi q).

  (** "Golden. For any r with sum_y r_y <= 1, I <= sum_a p_a F(u_a) - <z, log r>". *)
  Lemma golden :
    information values cells outputs pi q
      <= sum values (fun a => sum outputs (fun y => z a y * ln (z a y / total cells pi a)))
         - sum outputs (fun y => zy y * ln (r y)).
  Proof.
    rewrite (information_rows values cells outputs pi q P Q).
    assert (G : 1 * ln (1 / sum outputs r) <= sum outputs (fun y => zy y * ln (zy y / r y))).
    { rewrite <- (seen_one values cells outputs pi q P Q) at 1 2. apply log_sum. intros y Y.
      pose proof (seen_nonneg values cells outputs pi q P Q y Y). specialize (Pos y Y). repeat split; lra. }
    assert (N : outputs <> []).
    { intros E. pose proof (seen_one values cells outputs pi q P Q) as O1. rewrite E in O1. simpl in O1. lra. }
    assert (0 <= ln (1 / sum outputs r)).
    { rewrite <- ln_1. apply ln_le; [lra|]. apply Rmult_le_reg_r with (sum outputs r); [now apply sum_pos|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l; [lra|]. apply Rgt_not_eq. now apply sum_pos. }
    rewrite (sum_ext outputs (fun y => zy y * ln (zy y / r y)) (fun y => phi (zy y) - zy y * ln (r y))) in G.
    - rewrite sum_minus in G. lra.
    - intros y Y. unfold phi.
      destruct (Rle_lt_or_eq_dec _ _ (seen_nonneg values cells outputs pi q P Q y Y)) as [L|L]; [|rewrite <- L; ring].
      rewrite ln_div by auto. ring.
  Qed.

  (** Jensen: F(u_a) <= sum_t w_a(t) F(q_at), here times p_a. *)
  Lemma jensen a : In a values ->
    sum outputs (fun y => z a y * ln (z a y / total cells pi a)) <= sum (cells a) (fun t => pi a t * sum outputs (fun y => phi (q a t y))).
  Proof.
    intros A.
    rewrite (sum_ext (cells a) _ (fun t => sum outputs (fun y => pi a t * phi (q a t y)))) by (intros; symmetry; apply sum_scale).
    rewrite sum_swap. apply sum_le. intros y Y.
    apply Rle_trans with (sum (cells a) (fun t => pi a t * q a t y * ln (pi a t * q a t y / pi a t))).
    - apply log_sum. intros t T. pose proof (pi_nonneg values cells pi P a t A T). pose proof (q_nonneg values cells outputs q Q a t y A T Y).
      repeat split; [now apply Rmult_le_pos | assumption | intros ->; ring].
    - right. apply sum_ext. intros t T. unfold phi.
      destruct (Req_dec (pi a t) 0) as [->|N]; [ring|].
      replace (pi a t * q a t y / pi a t) with (q a t y) by (field; assumption). ring.
  Qed.

  (** D(q_t || r). *)
  Definition row_divergence a t : R := sum outputs (fun y => phi (q a t y) - q a t y * ln (r y)).

  (** I <= sum_t pi(t) D(q_t || r): the majorant of the capacity, theta = 0 and eta = 0. *)
  Theorem capacity_majorant :
    information values cells outputs pi q <= over values cells (fun a t => pi a t * row_divergence a t).
  Proof.
    apply (Rle_trans _ _ _ golden).
    rewrite (sum_ext outputs (fun y => zy y * ln (r y)) (fun y => sum values (fun a => z a y * ln (r y))))
      by (intros; symmetry; apply sum_scale_r).
    rewrite <- (sum_swap values outputs), <- sum_minus. apply sum_le. intros a A.
    rewrite (joint_linear cells outputs pi q a (fun y => ln (r y))).
    apply Rle_trans with (sum (cells a) (fun t => pi a t * sum outputs (fun y => phi (q a t y)))
      - sum (cells a) (fun t => pi a t * sum outputs (fun y => q a t y * ln (r y)))).
    - apply Rplus_le_compat_r. now apply jensen.
    - right. rewrite <- sum_minus. apply sum_ext. intros. unfold row_divergence. rewrite sum_minus. ring.
  Qed.

  (** "The capacity of that channel is at most max_t D(q_t || r)". *)
  Theorem capacity_bound B :
    (forall a t, is_cell values cells a t -> row_divergence a t <= B) -> information values cells outputs pi q <= B.
  Proof. intros L. exact (closing_largest values cells pi P _ _ _ capacity_majorant L). Qed.

  (** Constrained capacity (4.4, theta = 0): L <= s K + s log sum_t rho(t) exp( D(q_t || r) / s ). *)
  Theorem constrained_capacity (rho : V -> C -> R) s K :
    is_reference values cells rho -> 0 < s -> divergence values cells pi rho <= K ->
    information values cells outputs pi q
      <= s * K + s * ln (sum values (fun a => sum (cells a) (fun t => rho a t * exp (row_divergence a t / s)))).
  Proof.
    intros Ref S B.
    eapply Rle_trans.
    - apply (closing_linear values cells pi rho P Ref _ K 0 s (fun _ => 0) row_divergence); try lra; try (intros; lra).
      rewrite (sum_ext values (fun a => 0 * within cells pi rho a) (fun _ => 0)) by (intros; ring).
      rewrite sum_zero, Rmult_0_l, Rplus_0_l, Rplus_0_r. apply capacity_majorant.
    - right. rewrite Rplus_0_l. do 3 f_equal. apply sum_ext. intros a A. rewrite Rminus_0_r, Rmult_0_l, Rplus_0_l.
      replace (s * ln _ / s) with (ln (sum (cells a) (fun t => rho a t * exp (row_divergence a t / s)))) by (field; lra).
      apply exp_ln. apply sum_pos; [now apply Ref|]. intros t T. apply Rmult_lt_0_compat; [now apply Ref | apply exp_pos].
  Qed.
End Golden.

(** "I <= H(A) <= log |A|": what holds for every mechanism. *)
Section Trivial.
  Context {V C O : Type}.
  Variables (values : list V) (cells : V -> list C) (outputs : list O) (pi : V -> C -> R) (q : V -> C -> O -> R).
  Hypotheses (P : is_prior values cells pi) (Q : is_channel values cells outputs q).

  Theorem trivial_bound : information values cells outputs pi q <= ln (sum values (fun _ => 1)).
  Proof.
    rewrite (information_posterior values cells outputs pi q P Q).
    assert (A : sum outputs (fun y => sum values (fun a => joint cells pi q a y * ln (joint cells pi q a y / seen values cells pi q y))) <= 0).
    { rewrite <- (sum_zero outputs). apply sum_le. intros y Y. rewrite <- (sum_zero values). apply sum_le. intros a A.
      pose proof (joint_le_seen values cells outputs pi q P Q a y A Y).
      destruct (Rle_lt_or_eq_dec _ _ (joint_nonneg values cells outputs pi q P Q a y A Y)) as [L|L]; [|rewrite <- L; lra].
      assert (ln (joint cells pi q a y) <= ln (seen values cells pi q y)) by now apply ln_le.
      rewrite ln_div by lra. nra. }
    pose proof (log_sum values (total cells pi) (fun _ => 1)) as G. rewrite (total_one values cells pi P) in G.
    rewrite (sum_ext values (fun a => total cells pi a * ln (total cells pi a / 1)) (fun a => phi (total cells pi a))) in G
      by (intros; unfold phi, Rdiv; now rewrite Rinv_1, Rmult_1_r).
    assert (0 < sum values (fun _ => 1)).
    { apply sum_pos; [|intros; lra]. intros E. pose proof (total_one values cells pi P) as One. rewrite E in One. simpl in One. lra. }
    rewrite ln_div, ln_1 in G by lra. unfold entropy. apply Rplus_le_reg_r with (- ln (sum values (fun _ => 1))).
    assert (1 * (0 - ln (sum values (fun _ => 1))) <= sum values (fun a => phi (total cells pi a))); [|lra].
    apply G. intros a I. pose proof (total_nonneg values cells pi P a I). repeat split; lra.
  Qed.
End Trivial.

(** ** Choices

    "I is convex in each w(.|a), so its maximum is at single cells; branching on q(y|a,t) <= c or >= c splits the
    candidates of one value, and each choice ends in some leaf." What a split needs is one step of that convexity: two
    priors with one law of the secret, and their mixture. *)

Section Mixtures.
  Context {V C O : Type}.
  Variables (values : list V) (cells : V -> list C) (outputs : list O).
  Variables (pi pi1 pi2 : V -> C -> R) (q : V -> C -> O -> R) (share : R).
  Hypotheses (P1 : is_prior values cells pi1) (P2 : is_prior values cells pi2) (Q : is_channel values cells outputs q).
  Hypotheses (Share : 0 < share < 1)
    (Mixture : forall a t, is_cell values cells a t -> pi a t = share * pi1 a t + (1 - share) * pi2 a t)
    (Same : forall a, In a values -> total cells pi1 a = total cells pi2 a).

  Lemma mixed_joint a y : In a values -> joint cells pi q a y = share * joint cells pi1 q a y + (1 - share) * joint cells pi2 q a y.
  Proof.
    intros A. unfold joint. rewrite <- !sum_scale, <- sum_plus. apply sum_ext. intros t T.
    rewrite Mixture by now split. ring.
  Qed.

  Lemma mixed_total a : In a values -> total cells pi a = total cells pi1 a.
  Proof.
    intros A. unfold total. rewrite (sum_ext _ _ (fun t => share * pi1 a t + (1 - share) * pi2 a t)) by (intros; apply Mixture; now split).
    rewrite sum_plus, !sum_scale. fold (total cells pi1 a) (total cells pi2 a). rewrite <- Same by assumption. ring.
  Qed.

  Lemma mixed_seen y : seen values cells pi q y = share * seen values cells pi1 q y + (1 - share) * seen values cells pi2 q y.
  Proof. unfold seen. rewrite <- !sum_scale, <- sum_plus. apply sum_ext. intros. now apply mixed_joint. Qed.

  (** x log(x/y) is jointly convex: log-sum for two terms. *)
  Lemma two_terms x1 y1 x2 y2 : below x1 y1 -> below x2 y2 ->
    (share * x1 + (1 - share) * x2) * ln ((share * x1 + (1 - share) * x2) / (share * y1 + (1 - share) * y2))
      <= share * (x1 * ln (x1 / y1)) + (1 - share) * (x2 * ln (x2 / y2)).
  Proof.
    intros (A1 & B1 & Z1) (A2 & B2 & Z2).
    pose proof (log_sum [true; false] (fun b : bool => if b then share * x1 else (1 - share) * x2)
      (fun b : bool => if b then share * y1 else (1 - share) * y2)) as L.
    simpl in L. rewrite !Rplus_0_r in L. eapply Rle_trans; [apply L|].
    - intros b _. destruct b; repeat split; try (apply Rmult_le_pos; lra); intros E; apply Rmult_integral in E;
        destruct E as [E|E]; try lra; [rewrite (Z1 E) | rewrite (Z2 E)]; ring.
    - unfold Rdiv. rewrite !Rinv_mult.
      replace (share * x1 * (/ share * / y1)) with ((share * / share) * (x1 * / y1)) by ring.
      replace ((1 - share) * x2 * (/ (1 - share) * / y2)) with (((1 - share) * / (1 - share)) * (x2 * / y2)) by ring.
      rewrite !Rinv_r, !Rmult_1_l by lra. lra.
  Qed.

  Lemma joint_below (f : V -> C -> R) a y : is_prior values cells f -> In a values -> In y outputs ->
    below (joint cells f q a y) (total cells f a * seen values cells f q y).
  Proof.
    intros F A Y. pose proof (joint_nonneg values cells outputs f q F Q a y A Y). pose proof (joint_le_seen values cells outputs f q F Q a y A Y).
    pose proof (joint_le_total values cells outputs f q F Q a y A Y).
    repeat split; [assumption | apply Rmult_le_pos; lra |]. intros E. apply Rmult_integral in E. lra.
  Qed.

  Theorem information_convex :
    information values cells outputs pi q
      <= share * information values cells outputs pi1 q + (1 - share) * information values cells outputs pi2 q.
  Proof.
    unfold information. rewrite <- !sum_scale, <- sum_plus. apply sum_le. intros a A.
    rewrite <- !sum_scale, <- sum_plus. apply sum_le. intros y Y.
    rewrite mixed_joint, mixed_total, mixed_seen by assumption.
    replace (total cells pi1 a * (share * seen values cells pi1 q y + (1 - share) * seen values cells pi2 q y))
      with (share * (total cells pi1 a * seen values cells pi1 q y) + (1 - share) * (total cells pi2 a * seen values cells pi2 q y))
      by (rewrite <- Same by assumption; ring).
    apply two_terms; now apply joint_below.
  Qed.
End Mixtures.
