(** Theorem U: from a majorant of I(A;Y) to a bound for every prior that the adversary may hold (1.1). *)
From Coq Require Import Reals Lra List.
From Dalenius Require Import Sums Information.
Import ListNotations.
Local Open Scope R_scope.

Section Closing.
  Context {V C : Type}.
  Variables (values : list V) (cells : V -> list C) (pi rho : V -> C -> R).
  Hypotheses (P : is_prior values cells pi) (Ref : is_reference values cells rho).

  Notation p := (total cells pi).
  Notation H := (entropy values cells pi).
  Notation D := (divergence values cells pi rho).

  Lemma reference_pos a : In a values -> 0 < total cells rho a.
  Proof. intros A. apply sum_pos; [now apply Ref | intros; now apply Ref]. Qed.

  (** D(pi || rho) = sum_a p_a log( p_a / rho(a) ) + sum_a p_a D(w_a || rho_a). *)
  Lemma chain_rule :
    D = sum values (fun a => p a * ln (p a / total cells rho a)) + sum values (within cells pi rho).
  Proof. rewrite <- sum_plus. apply sum_ext. intros. unfold within. ring. Qed.

  Lemma log_ratio a : In a values -> p a * ln (p a / total cells rho a) = phi (p a) - p a * ln (total cells rho a).
  Proof.
    intros A. unfold phi. destruct (Rle_lt_or_eq_dec _ _ (total_nonneg values cells pi P a A)) as [L|L]; [|rewrite <- L; ring].
    rewrite ln_div; [ring | assumption | now apply reference_pos].
  Qed.

  (** "Let theta >= 0, f_a functions of laws, and on R the majorant (M)  I <= theta H(p) + sum_a p_a f_a(w_a). Then every
      prior of R with D(pi || rho) <= K has, for every s >= 0 and numbers G_a >= sup f_a(w_a) - s D(w_a || rho_a),
      (C)  I <= s K + (theta+s) log sum_a exp( (s log rho(a) + G_a) / (theta+s) )."  [f a] stands for p_a f_a(w_a). *)
  Theorem closing (I K theta s : R) (f G : V -> R) :
    0 <= s -> 0 < theta + s ->
    I <= theta * H + sum values f ->
    (forall a, In a values -> f a <= p a * G a + s * within cells pi rho a) ->
    D <= K ->
    I <= s * K + (theta + s) * ln (sum values (fun a => exp ((s * ln (total cells rho a) + G a) / (theta + s)))).
  Proof.
    intros S T M F B.
    apply Rle_trans with (theta * H + sum values f + s * (K - D)); [nra|].
    rewrite chain_rule.
    assert (F' : sum values f <= sum values (fun a => p a * G a) + s * sum values (within cells pi rho)).
    { rewrite <- sum_scale, <- sum_plus. now apply sum_le. }
    rewrite (sum_ext values (fun a => p a * ln (p a / total cells rho a)) (fun a => phi (p a) - p a * ln (total cells rho a)))
      by (intros; now apply log_ratio).
    rewrite sum_minus. unfold entropy.
    pose proof (gibbs values p (fun _ => 1) (fun a => s * ln (total cells rho a) + G a) (theta + s) T
      (total_nonneg values cells pi P) (fun _ _ => Rlt_0_1)) as L.
    cbv zeta in L. rewrite (total_one values cells pi P) in L.
    rewrite (sum_ext values (fun i => 1 * exp _) (fun a => exp ((s * ln (total cells rho a) + G a) / (theta + s)))) in L
      by (intros; ring).
    rewrite (sum_ext values (fun i => p i * ln (p i / 1)) (fun a => phi (p a))) in L
      by (intros; unfold phi, Rdiv; now rewrite Rinv_1, Rmult_1_r).
    rewrite (sum_ext values (fun i => p i * (s * ln (total cells rho i) + G i))
      (fun a => s * (p a * ln (total cells rho a)) + p a * G a)) in L by (intros; ring).
    rewrite sum_plus, sum_scale in L. unfold phi at 2 in L. rewrite ln_1 in L. nra.
  Qed.

  (** "If f_a(w) = <w, h(a,.)> + eta_a D(w || rho_a), these G_a serve for every s >= eta_a, with sigma_a = s - eta_a:
      G_a = sigma_a log sum_t rho_a(t) e^(h/sigma_a)". In joint masses s log rho(a) + G_a is eta_a log rho(a) + g_a with
      rho(a,t) in place of rho_a(t), and that is how it stands here. *)
  Corollary closing_linear (I K theta s : R) (eta : V -> R) (h : V -> C -> R) :
    0 <= s -> 0 < theta + s -> (forall a, In a values -> eta a < s) ->
    I <= theta * H + over values cells (fun a t => pi a t * h a t) + sum values (fun a => eta a * within cells pi rho a) ->
    D <= K ->
    I <= s * K + (theta + s) * ln (sum values (fun a =>
      exp ((eta a * ln (total cells rho a) + (s - eta a) * ln (sum (cells a) (fun t => rho a t * exp (h a t / (s - eta a))))) / (theta + s)))).
  Proof.
    intros S T E M B.
    set (g := fun a => (s - eta a) * ln (sum (cells a) (fun t => rho a t * exp (h a t / (s - eta a))))).
    rewrite (sum_ext values _ (fun a => exp ((s * ln (total cells rho a) + (g a - (s - eta a) * ln (total cells rho a))) / (theta + s))))
      by (intros; f_equal; unfold g, Rdiv; ring).
    apply closing with (f := fun a => sum (cells a) (fun t => pi a t * h a t) + eta a * within cells pi rho a); try assumption.
    - rewrite sum_plus. unfold over in M. lra.
    - intros a A. specialize (E a A).
      pose proof (gibbs (cells a) (pi a) (rho a) (h a) (s - eta a) ltac:(lra)
        (fun t T => pi_nonneg values cells pi P a t A T) (fun t T => proj1 Ref a t (conj A T))) as L.
      cbv zeta in L. change (sum (cells a) (pi a)) with (p a) in L. unfold within. rewrite log_ratio by assumption. unfold g. nra.
  Qed.

  (** The same where theta + s = 0: "a mean is at most a maximum". *)
  Lemma closing_largest (I B : R) (h : V -> C -> R) :
    I <= over values cells (fun a t => pi a t * h a t) -> (forall a t, is_cell values cells a t -> h a t <= B) -> I <= B.
  Proof.
    intros M L. apply (Rle_trans _ _ _ M). apply Rle_trans with (over values cells (fun a t => pi a t * B)).
    - apply sum_le. intros a A. apply sum_le. intros t T. apply Rmult_le_compat_l; [now apply (pi_nonneg values cells pi P) | now apply L].
    - unfold over. rewrite (sum_ext values _ (fun a => p a * B)) by (intros; apply sum_scale_r).
      rewrite sum_scale_r, (total_one values cells pi P). lra.
  Qed.
End Closing.
