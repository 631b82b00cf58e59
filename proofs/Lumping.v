(** Lumping (2, and Lemma R for a deterministic kernel): datasets with one value of the secret and one row are a cell.

    [datasets a] are the datasets whose secret is [a]; [class] puts them into classes, and the row of a dataset is that
    of its class. *)
From Coq Require Import Reals Lra List Bool Arith.
From Dalenius Require Import Sums Information.
Import ListNotations.
Local Open Scope R_scope.

Lemma sum_split {X} (l : list X) (test : X -> bool) f :
  sum l f = sum (filter test l) f + sum (filter (fun x => negb (test x)) l) f.
Proof. induction l as [|x l IH]; simpl; [lra|]. destruct (test x); simpl; rewrite IH; lra. Qed.

Definition fibre {X} (class : X -> nat) (l : list X) (t : nat) : list X := filter (fun x => class x =? t)%nat l.

Lemma in_fibre {X} (class : X -> nat) l t x : In x (fibre class l t) <-> In x l /\ class x = t.
Proof. unfold fibre. rewrite filter_In, Nat.eqb_eq. tauto. Qed.

(** A sum over datasets is one over classes, and over the datasets of each. *)
Lemma sum_fibres {X} (class : X -> nat) (f : X -> R) classes : NoDup classes ->
  forall l, (forall x, In x l -> In (class x) classes) -> sum classes (fun t => sum (fibre class l t) f) = sum l f.
Proof.
  induction classes as [|t classes IH]; intros N l C; simpl.
  - destruct l as [|x l]; [reflexivity|]. destruct (C x); now left.
  - inversion N as [|? ? T N']; subst.
    rewrite (sum_split l (fun x => class x =? t)%nat). fold (fibre class l t). f_equal.
    rewrite <- (IH N').
    + apply sum_ext. intros u U. unfold fibre. f_equal. clear - T U.
      induction l as [|x l IH]; simpl; [reflexivity|].
      destruct (class x =? u)%nat eqn:E1; destruct (class x =? t)%nat eqn:E2; simpl; rewrite ?E1, IH; try reflexivity.
      apply Nat.eqb_eq in E1, E2. congruence.
    + intros x I. apply filter_In in I as [I E]. apply negb_true_iff, Nat.eqb_neq in E.
      destruct (C x I); [congruence | assumption].
Qed.

Section Lumping.
  Context {V X O : Type}.
  Variables (values : list V) (datasets : V -> list X) (outputs : list O).
  Variables (rho : V -> X -> R) (class : X -> nat) (row : nat -> O -> R).

  (** The cells, each class once, and their masses. *)
  Variables (cells : V -> list nat) (mass : V -> nat -> R).
  Hypotheses (Once : forall a, In a values -> NoDup (cells a))
    (Found : forall a x, In a values -> In x (datasets a) -> In (class x) (cells a)).

  Definition of_dataset (_ : V) (x : X) (y : O) : R := row (class x) y.
  Definition of_cell (_ : V) (t : nat) (y : O) : R := row t y.

  (** The prior mass of a cell. *)
  Definition lumped (p : V -> X -> R) a t : R := sum (fibre class (datasets a) t) (p a).

  Lemma lumped_sum p (g : nat -> R) a : In a values ->
    sum (cells a) (fun t => lumped p a t * g t) = sum (datasets a) (fun x => p a x * g (class x)).
  Proof.
    intros A. rewrite <- (sum_fibres class (fun x => p a x * g (class x)) (cells a) (Once a A)) by (intros; now apply Found).
    apply sum_ext. intros t T. unfold lumped. rewrite <- sum_scale_r. apply sum_ext. intros x I.
    apply in_fibre in I as [_ ->]. reflexivity.
  Qed.

  Lemma lumped_total p a : In a values -> total cells (lumped p) a = total datasets p a.
  Proof.
    intros A. unfold total. rewrite (sum_ext _ _ (fun t => lumped p a t * 1)) by (intros; ring).
    rewrite (lumped_sum p (fun _ => 1)) by assumption. apply sum_ext. intros. ring.
  Qed.

  (** "I depends on pi alone." *)
  Lemma lumped_information p : information values cells outputs (lumped p) of_cell = information values datasets outputs p of_dataset.
  Proof.
    assert (J : forall a y, In a values -> joint cells (lumped p) of_cell a y = joint datasets p of_dataset a y).
    { intros a y A. unfold joint, of_cell, of_dataset. now apply (lumped_sum p (fun t => row t y)). }
    unfold information. apply sum_ext. intros a A. apply sum_ext. intros y Y. rewrite lumped_total, J by assumption.
    do 3 f_equal. f_equal. unfold seen. apply sum_ext. intros. now rewrite J.
  Qed.

  Hypotheses (Rho : forall a x, In a values -> In x (datasets a) -> 0 < rho a x)
    (Mass : forall a t, In a values -> In t (cells a) -> sum (fibre class (datasets a) t) (rho a) = mass a t)
    (Met : forall a t, In a values -> In t (cells a) -> fibre class (datasets a) t <> []).

  Lemma lumped_prior p : is_prior values datasets p -> is_prior values cells (lumped p).
  Proof.
    intros [P1 P2]. split.
    - intros a t [A T]. apply sum_nonneg. intros x I. apply in_fibre in I as [I _]. apply P1. now split.
    - rewrite <- P2. apply sum_ext. intros a A. now apply lumped_total.
  Qed.

  (** "The least divergence given pi is D(pi || rho)": lumping does not raise it (log-sum). *)
  Lemma lumped_divergence p : is_prior values datasets p -> divergence values cells (lumped p) mass <= divergence values datasets p rho.
  Proof.
    intros [P _]. apply sum_le. intros a A.
    rewrite <- (sum_fibres class (fun x => p a x * ln (p a x / rho a x)) (cells a) (Once a A)) by (intros; now apply Found).
    apply sum_le. intros t T. unfold lumped. rewrite <- Mass by assumption. apply log_sum. intros x I. apply in_fibre in I as [I _].
    specialize (Rho a x A I). assert (0 <= p a x) by (apply P; now split). repeat split; lra.
  Qed.

  (** A bound about cells is one about datasets. *)
  Theorem lumping_upper K upper :
    leaks_at_most values cells outputs mass of_cell K upper -> leaks_at_most values datasets outputs rho of_dataset K upper.
  Proof.
    intros B p P D. rewrite <- lumped_information. apply B; [now apply lumped_prior|].
    apply Rle_trans with (2 := D). now apply lumped_divergence.
  Qed.

  (** "The way back gives every dataset of a cell its share under rho." *)
  Definition spread (pi : V -> nat -> R) a x : R := pi a (class x) * (rho a x / mass a (class x)).

  Lemma mass_pos a t : In a values -> In t (cells a) -> 0 < mass a t.
  Proof.
    intros A T. rewrite <- Mass by assumption. apply sum_pos; [now apply Met|]. intros x I. apply in_fibre in I as [I _]. now apply Rho.
  Qed.

  Lemma spread_lumped pi a t : In a values -> In t (cells a) -> lumped (spread pi) a t = pi a t.
  Proof.
    intros A T. unfold lumped, spread.
    rewrite (sum_ext _ _ (fun x => pi a t / mass a t * rho a x)).
    - rewrite sum_scale, Mass by assumption. field. apply Rgt_not_eq. now apply mass_pos.
    - intros x I. apply in_fibre in I as [_ ->]. unfold Rdiv. ring.
  Qed.

  Theorem lumping_lower K lower :
    leaks_at_least values cells outputs mass of_cell K lower -> leaks_at_least values datasets outputs rho of_dataset K lower.
  Proof.
    intros (pi & [P1 P2] & D & L). exists (spread pi).
    assert (E : forall f, over values cells (fun a t => f (pi a t) a t) = over values cells (fun a t => f (lumped (spread pi) a t) a t)).
    { intros f. apply sum_ext. intros a A. apply sum_ext. intros t T. now rewrite spread_lumped. }
    split; [|split].
    - split.
      + intros a x [A I]. unfold spread. pose proof (Found a x A I) as T. apply Rmult_le_pos; [apply P1; now split|].
        apply Rlt_le, Rdiv_lt_0_compat; [now apply Rho | now apply mass_pos].
      + rewrite <- P2. change (over values cells pi) with (over values cells (fun a t => (fun z _ _ => z) (pi a t) a t)). rewrite E.
        apply sum_ext. intros a A. symmetry. now apply lumped_total.
    - apply Rle_trans with (2 := D). right. apply sum_ext. intros a A.
      rewrite <- (sum_fibres class (fun x => spread pi a x * ln (spread pi a x / rho a x)) (cells a) (Once a A)) by (intros; now apply Found).
      apply sum_ext. intros t T. pose proof (mass_pos a t A T) as M. rewrite (sum_ext _ _ (fun x => spread pi a x * ln (pi a t / mass a t))).
      + rewrite sum_scale_r. fold (lumped (spread pi) a t). now rewrite spread_lumped.
      + intros x I. apply in_fibre in I as [I C]. specialize (Rho a x A I). unfold spread. rewrite C. do 2 f_equal. field. lra.
    - apply (Rle_trans _ _ _ L). right. rewrite <- lumped_information. unfold information.
      assert (J : forall a y, In a values -> joint cells pi of_cell a y = joint cells (lumped (spread pi)) of_cell a y).
      { intros a y A. apply sum_ext. intros t T. now rewrite spread_lumped. }
      apply sum_ext. intros a A. apply sum_ext. intros y Y. rewrite J by assumption. do 3 f_equal. f_equal.
      + apply sum_ext. intros t T. now rewrite spread_lumped.
      + apply sum_ext. intros. now apply J.
  Qed.
End Lumping.
