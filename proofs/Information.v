(** The question: a prior on cells, a channel, what the output tells of the secret, and what the adversary knew.

    docs/mathematics.md, 1 and 1.1: a cell (a,t) is a value [a] of the secret and a class [t] of datasets with one row
    q(.|a,t); rho(a,t) > 0 is its reference mass, and a prior is pi(a,t). A dataset may be a cell of its own. *)
From Coq Require Import Reals Lra List.
From Dalenius Require Import Sums.
Import ListNotations.
Local Open Scope R_scope.

Section Question.
  Context {V C O : Type}.
  Variables (values : list V) (cells : V -> list C) (outputs : list O).
  Implicit Types (pi rho h : V -> C -> R) (q : V -> C -> O -> R) (a : V) (t : C) (y : O).

  (** All cells: sums over values, then over the cells of a value. *)
  Definition over (f : V -> C -> R) : R := sum values (fun a => sum (cells a) (f a)).

  Definition is_cell a t : Prop := In a values /\ In t (cells a).

  Definition is_prior pi : Prop := (forall a t, is_cell a t -> 0 <= pi a t) /\ over pi = 1.

  (** Rows are laws of the output. *)
  Definition is_channel q : Prop :=
    forall a t, is_cell a t -> (forall y, In y outputs -> 0 <= q a t y) /\ sum outputs (q a t) = 1.

  (** rho has mass at every cell that is listed; it need not sum to one. *)
  Definition is_reference rho : Prop :=
    (forall a t, is_cell a t -> 0 < rho a t) /\ (forall a, In a values -> cells a <> []).

  (** p_a, the law of the secret; z(a,y), the joint law of secret and output; z_y, the law of the output. *)
  Definition total (pi : V -> C -> R) a : R := sum (cells a) (pi a).
  Definition joint pi q a y : R := sum (cells a) (fun t => pi a t * q a t y).
  Definition seen pi q y : R := sum values (fun a => joint pi q a y).

  (** I(A;Y) = sum z log( z / (p_a z_y) ). *)
  Definition information pi q : R :=
    sum values (fun a => sum outputs (fun y => joint pi q a y * ln (joint pi q a y / (total pi a * seen pi q y)))).

  (** D(pi || rho) = sum pi log( pi / rho ). *)
  Definition divergence pi rho : R := over (fun a t => pi a t * ln (pi a t / rho a t)).

  (** H(p), the entropy of the secret. *)
  Definition entropy pi : R := - sum values (fun a => phi (total pi a)).

  (** p_a D(w_a || rho_a), what the prior knows of the cells of one value. *)
  Definition within pi rho a : R :=
    sum (cells a) (fun t => pi a t * ln (pi a t / rho a t)) - total pi a * ln (total pi a / total rho a).

  (** What is to be proved: L = max { I(A;Y) : D(pi || rho) <= K } lies between two numbers. *)
  Definition leaks_at_most rho q (K upper : R) : Prop :=
    forall pi, is_prior pi -> divergence pi rho <= K -> information pi q <= upper.
  Definition leaks_at_least rho q (K lower : R) : Prop :=
    exists pi, is_prior pi /\ divergence pi rho <= K /\ lower <= information pi q.

  Section Facts.
    Variables (pi : V -> C -> R) (q : V -> C -> O -> R).
    Hypotheses (P : is_prior pi) (Q : is_channel q).

    Lemma pi_nonneg a t : In a values -> In t (cells a) -> 0 <= pi a t.
    Proof. intros. apply P. now split. Qed.

    Lemma q_nonneg a t y : In a values -> In t (cells a) -> In y outputs -> 0 <= q a t y.
    Proof. intros. apply Q; [now split | assumption]. Qed.

    Lemma total_nonneg a : In a values -> 0 <= total pi a.
    Proof. intros. apply sum_nonneg. intros. now apply pi_nonneg. Qed.

    Lemma total_one : sum values (total pi) = 1.
    Proof. apply P. Qed.

    Lemma joint_nonneg a y : In a values -> In y outputs -> 0 <= joint pi q a y.
    Proof. intros. apply sum_nonneg. intros. apply Rmult_le_pos; [now apply pi_nonneg | now apply q_nonneg]. Qed.

    Lemma seen_nonneg y : In y outputs -> 0 <= seen pi q y.
    Proof. intros. apply sum_nonneg. intros. now apply joint_nonneg. Qed.

    Lemma joint_le_seen a y : In a values -> In y outputs -> joint pi q a y <= seen pi q y.
    Proof. intros A Y. apply (sum_term values (fun a => joint pi q a y)); [|assumption]. intros. now apply joint_nonneg. Qed.

    (** What is linear in z is linear in the prior. *)
    Lemma joint_linear a (g : O -> R) :
      sum outputs (fun y => joint pi q a y * g y) = sum (cells a) (fun t => pi a t * sum outputs (fun y => q a t y * g y)).
    Proof.
      unfold joint. rewrite (sum_ext _ _ (fun y => sum (cells a) (fun t => pi a t * (q a t y * g y)))).
      - rewrite <- sum_swap. apply sum_ext. intros. apply sum_scale.
      - intros. rewrite <- sum_scale_r. apply sum_ext. intros. ring.
    Qed.

    Lemma joint_total a : In a values -> sum outputs (joint pi q a) = total pi a.
    Proof.
      intros A. rewrite (sum_ext _ _ (fun y => joint pi q a y * 1)) by (intros; ring).
      rewrite (joint_linear a (fun _ => 1)). apply sum_ext. intros t T.
      rewrite (sum_ext _ _ (q a t)) by (intros; ring). destruct (Q a t (conj A T)) as [_ ->]. ring.
    Qed.

    Lemma seen_one : sum outputs (seen pi q) = 1.
    Proof.
      unfold seen. rewrite <- sum_swap. rewrite <- total_one. apply sum_ext. intros. now apply joint_total.
    Qed.

    Lemma joint_le_total a y : In a values -> In y outputs -> joint pi q a y <= total pi a.
    Proof.
      intros A Y. rewrite <- (joint_total a A). apply (sum_term outputs (joint pi q a)); [|assumption].
      intros. now apply joint_nonneg.
    Qed.

    (** I = H(A) - H(A|Y). *)
    Lemma information_posterior :
      information pi q = entropy pi + sum outputs (fun y => sum values (fun a => joint pi q a y * ln (joint pi q a y / seen pi q y))).
    Proof.
      unfold information, entropy. rewrite sum_swap.
      apply Rplus_eq_reg_l with (sum values (fun a => phi (total pi a))).
      ring_simplify. rewrite (sum_ext values (fun a => phi (total pi a)) (fun a => sum outputs (fun y => joint pi q a y * ln (total pi a)))).
      - rewrite (sum_swap values outputs), <- sum_plus. apply sum_ext. intros y Y. rewrite <- sum_plus. apply sum_ext. intros a A.
        pose proof (joint_le_seen a y A Y). pose proof (joint_le_total a y A Y).
        destruct (Rle_lt_or_eq_dec _ _ (joint_nonneg a y A Y)) as [L|L]; [|rewrite <- L; ring].
        rewrite !ln_div, ln_mult by nra. ring.
      - intros a A. rewrite sum_scale_r, joint_total by assumption. reflexivity.
    Qed.

    (** I = sum_a p_a F(u_a) - sum_y phi(z_y), where p_a F(u_a) = sum_y z log( z / p_a ). *)
    Lemma information_rows :
      information pi q = sum values (fun a => sum outputs (fun y => joint pi q a y * ln (joint pi q a y / total pi a)))
        - sum outputs (fun y => phi (seen pi q y)).
    Proof.
      unfold information.
      rewrite (sum_ext outputs (fun y => phi (seen pi q y)) (fun y => sum values (fun a => joint pi q a y * ln (seen pi q y)))).
      - rewrite <- (sum_swap values outputs), <- sum_minus. apply sum_ext. intros a A. rewrite <- sum_minus. apply sum_ext. intros y Y.
        pose proof (joint_le_seen a y A Y). pose proof (joint_le_total a y A Y).
        destruct (Rle_lt_or_eq_dec _ _ (joint_nonneg a y A Y)) as [L|L]; [|rewrite <- L; ring].
        rewrite !ln_div, ln_mult by nra. ring.
      - intros. rewrite sum_scale_r. reflexivity.
    Qed.
  End Facts.
End Question.
