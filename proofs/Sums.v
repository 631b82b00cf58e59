(** Finite sums over lists, and the logarithm's two inequalities that everything rests on. *)
From Coq Require Import Reals Lra List.
Import ListNotations.
Local Open Scope R_scope.

(** [sum l f] is the sum of [f x] over the entries [x] of the list [l]. *)
Fixpoint sum {X : Type} (l : list X) (f : X -> R) : R :=
  match l with
  | [] => 0
  | x :: rest => f x + sum rest f
  end.

Section Rules.
  Context {X : Type}.
  Implicit Types (l : list X) (f g : X -> R) (c : R).

  Lemma sum_ext l f g : (forall x, In x l -> f x = g x) -> sum l f = sum l g.
  Proof. induction l; simpl; intros E; [reflexivity|]. rewrite E, IHl; auto. Qed.

  Lemma sum_le l f g : (forall x, In x l -> f x <= g x) -> sum l f <= sum l g.
  Proof. induction l; simpl; intros E; [lra|]. apply Rplus_le_compat; auto. Qed.

  Lemma sum_zero l : sum l (fun _ => 0) = 0.
  Proof. induction l; simpl; lra. Qed.

  Lemma sum_nonneg l f : (forall x, In x l -> 0 <= f x) -> 0 <= sum l f.
  Proof. intros. rewrite <- (sum_zero l). apply sum_le; auto. Qed.

  Lemma sum_plus l f g : sum l (fun x => f x + g x) = sum l f + sum l g.
  Proof. induction l; simpl; [|rewrite IHl]; lra. Qed.

  Lemma sum_minus l f g : sum l (fun x => f x - g x) = sum l f - sum l g.
  Proof. induction l; simpl; [|rewrite IHl]; lra. Qed.

  Lemma sum_scale l c f : sum l (fun x => c * f x) = c * sum l f.
  Proof. induction l; simpl; [|rewrite IHl]; lra. Qed.

  Lemma sum_scale_r l c f : sum l (fun x => f x * c) = sum l f * c.
  Proof. induction l; simpl; [|rewrite IHl]; lra. Qed.

  Lemma sum_term l f x : (forall y, In y l -> 0 <= f y) -> In x l -> f x <= sum l f.
  Proof.
    induction l as [|y l IH]; simpl; [easy|]. intros P [E|E].
    - subst. assert (0 <= sum l f) by (apply sum_nonneg; auto). lra.
    - assert (0 <= f y) by auto. specialize (IH (fun z H => P z (or_intror H)) E). lra.
  Qed.

  Lemma sum_pos l f : l <> [] -> (forall x, In x l -> 0 < f x) -> 0 < sum l f.
  Proof.
    destruct l as [|x l]; [easy|]. intros _ P. apply Rlt_le_trans with (f x); [apply P; now left|].
    apply sum_term; [|now left]. intros. now apply Rlt_le, P.
  Qed.

  (** A sum of terms that are not negative is zero only if all are. *)
  Lemma sum_is_zero l f : (forall x, In x l -> 0 <= f x) -> sum l f = 0 -> forall x, In x l -> f x = 0.
  Proof. intros P Z x I. pose proof (sum_term l f x P I). pose proof (P x I). lra. Qed.
End Rules.

Lemma sum_swap {X Y} (l : list X) (m : list Y) (f : X -> Y -> R) :
  sum l (fun x => sum m (f x)) = sum m (fun y => sum l (fun x => f x y)).
Proof. induction l as [|x l IH]; simpl; [now rewrite sum_zero | now rewrite IH, sum_plus]. Qed.

(** ** The logarithm *)

Lemma ln_le_minus_one x : 0 < x -> ln x <= x - 1.
Proof. intros P. pose proof (exp_ineq1_le (ln x)) as E. rewrite exp_ln in E; lra. Qed.

Lemma ln_le x y : 0 < x -> x <= y -> ln x <= ln y.
Proof. intros P [L|E]; [left; now apply ln_increasing | subst; lra]. Qed.

Lemma ln_div x y : 0 < x -> 0 < y -> ln (x / y) = ln x - ln y.
Proof.
  intros P Q. unfold Rdiv. rewrite ln_mult; [|assumption|now apply Rinv_0_lt_compat].
  rewrite ln_Rinv; lra.
Qed.

(** Coq's [ln 0] is some number, but [0 * ln 0 = 0], and so all formulas hold where mass is missing. *)
Definition phi (u : R) : R := u * ln u.

(** [x] has mass only where [y] has. *)
Definition below (x y : R) : Prop := 0 <= x /\ 0 <= y /\ (y = 0 -> x = 0).

(** The tangent of x log(x/y), from which log-sum and Gibbs follow. *)
Lemma tangent x y c : below x y -> 0 < c -> x * ln c + x - c * y <= x * ln (x / y).
Proof.
  intros (Px & Py & Z) Pc. destruct (Rle_lt_or_eq_dec 0 x Px) as [X|X].
  - assert (Y : 0 < y) by (destruct Py as [|E]; [assumption | symmetry in E; apply Z in E; lra]).
    assert (E : ln (c * y / x) <= c * y / x - 1) by (apply ln_le_minus_one; apply Rdiv_lt_0_compat; nra).
    rewrite ln_div, ln_mult in E by nra. rewrite ln_div by assumption.
    apply (Rmult_le_compat_l x) in E; [|lra].
    replace (x * (c * y / x - 1)) with (c * y - x) in E by (field; lra). nra.
  - subst x. assert (0 <= c * y) by nra. lra.
Qed.

(** The log-sum inequality: sum x log(x/y) >= X log(X/Y), with X and Y the sums of x and y. *)
Theorem log_sum {I} (l : list I) (x y : I -> R) :
  (forall i, In i l -> below (x i) (y i)) ->
  sum l x * ln (sum l x / sum l y) <= sum l (fun i => x i * ln (x i / y i)).
Proof.
  intros B.
  assert (Px : 0 <= sum l x) by (apply sum_nonneg; intros i I'; apply (B i I')).
  assert (Py : 0 <= sum l y) by (apply sum_nonneg; intros i I'; apply (B i I')).
  destruct (Rle_lt_or_eq_dec 0 (sum l x) Px) as [X|X].
  - assert (Y : 0 < sum l y).
    { destruct Py as [|E]; [assumption|]. exfalso. symmetry in E.
      rewrite (sum_ext l x (fun _ => 0)), sum_zero in X; [lra|]. intros i Hi. apply (B i Hi).
      apply (sum_is_zero l y); try assumption. intros j Hj. apply (B j Hj). }
    set (c := sum l x / sum l y).
    assert (C : 0 < c) by (now apply Rdiv_lt_0_compat).
    apply Rle_trans with (sum l (fun i => x i * ln c + x i - c * y i)).
    + rewrite sum_minus, sum_plus, sum_scale_r, sum_scale.
      assert (c * sum l y = sum l x) by (unfold c; field; lra). lra.
    + apply sum_le. intros i Hi. apply tangent; auto.
  - rewrite <- X. rewrite Rmult_0_l. apply sum_nonneg. intros i Hi.
    rewrite (sum_is_zero l x); try lra; try assumption; try (now symmetry). intros j Hj. apply (B j Hj).
Qed.

(** Gibbs' inequality [donsker75]: <w, x> - c D(w || rho) <= c log sum rho e^(x/c), for every measure w and c > 0. The
    measure w need not sum to one: W is its sum. *)
Theorem gibbs {I} (l : list I) (w rho x : I -> R) c :
  0 < c -> (forall i, In i l -> 0 <= w i) -> (forall i, In i l -> 0 < rho i) ->
  let W := sum l w in
  sum l (fun i => w i * x i) - c * sum l (fun i => w i * ln (w i / rho i))
    <= c * W * ln (sum l (fun i => rho i * exp (x i / c))) - c * phi W.
Proof.
  intros C Pw Pr W.
  set (y := fun i => rho i * exp (x i / c)).
  assert (Py : forall i, In i l -> 0 < y i) by (intros i Hi; apply Rmult_lt_0_compat; [auto | apply exp_pos]).
  assert (L : W * ln (W / sum l y) <= sum l (fun i => w i * ln (w i / y i))).
  { apply log_sum. intros i Hi. specialize (Pw i Hi). specialize (Py i Hi). repeat split; lra. }
  assert (E : sum l (fun i => w i * ln (w i / y i)) = sum l (fun i => w i * ln (w i / rho i)) - sum l (fun i => w i * x i) / c).
  { unfold Rdiv at 3. rewrite <- sum_scale_r, <- sum_minus. apply sum_ext. intros i Hi.
    destruct (Rle_lt_or_eq_dec 0 (w i) (Pw i Hi)) as [P|P]; [|rewrite <- P; lra].
    specialize (Pr i Hi). specialize (Py i Hi). rewrite !ln_div by assumption. unfold y.
    rewrite ln_mult, ln_exp; [field; lra | assumption | apply exp_pos]. }
  rewrite E in L. apply (Rmult_le_compat_l c) in L; [|lra].
  assert (F : W * ln (W / sum l y) = phi W - W * ln (sum l y)).
  { unfold phi. assert (PW : 0 <= W) by (apply sum_nonneg; auto).
    destruct (Rle_lt_or_eq_dec 0 W PW) as [P|P]; [|rewrite <- P; lra].
    rewrite ln_div; [lra | assumption |]. apply sum_pos; auto. intros ->. unfold W in P. simpl in P. lra. }
  rewrite F in L.
  replace (c * (sum l (fun i => w i * ln (w i / rho i)) - sum l (fun i => w i * x i) / c))
    with (c * sum l (fun i => w i * ln (w i / rho i)) - sum l (fun i => w i * x i)) in L by (field; lra).
  lra.
Qed.
