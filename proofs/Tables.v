(** A question about a finite channel, as a certificate states it: rows and reference masses in tables. *)
From Coq Require Import Reals Lra ZArith List Arith Bool.
From Dalenius Require Import Sums Information Numbers Lumping Witness.
Import ListNotations.
Local Open Scope R_scope.

Lemma in_seq_0 i n : In i (seq 0 n) <-> (i < n)%nat.
Proof. rewrite in_seq. split; [intros [_ L]; exact L | intros L; split; [apply Nat.le_0_l | exact L]]. Qed.

Definition entry (tables : list (list number)) (i j : nat) : number := nth j (nth i tables []) (Whole 0).

(** Cells without mass are [Whole 0]. *)
Definition none (x : number) : bool := match x with Whole 0 => true | _ => false end.

Section Tables.
  (** [rows]: one row per class, before division by its sum; [masses]: rho(a,t), by value of the secret and class. *)
  Variables rows masses : list (list number).

  Definition values : list nat := seq 0 (length masses).
  Definition outputs : list nat := seq 0 (length (hd [] rows)).
  Definition classes : list nat := seq 0 (length rows).
  Definition cells (a : nat) : list nat := filter (fun t => negb (none (entry masses a t))) classes.

  (** q(y|t), divided by the sum of its row, and rho(a,t). *)
  Definition row (t y : nat) : R := value (entry rows t y) / sum outputs (fun y => value (entry rows t y)).
  Definition mass (a t : nat) : R := value (entry masses a t).
  Definition q : nat -> nat -> nat -> R := of_cell row.

  Definition row_around : nat -> nat -> I.type :=
    let sums := table (length rows) (fun t => sum_around outputs (fun y => around (entry rows t y))) in
    table2 (length rows) (length outputs) (fun t y => around (entry rows t y) /i sums t).
  Definition mass_around : nat -> nat -> I.type :=
    table2 (length masses) (length rows) (fun a t => around (entry masses a t)).

  Lemma holds_row t y : holds (row_around t y) (row t y).
  Proof.
    unfold row_around, row. apply (holds_table2 _ _ (fun t y => _ /i _) t y). apply holds_div; [apply holds_around|].
    apply (holds_table _ (fun t => sum_around _ _) t). apply holds_sum. intros. apply holds_around.
  Qed.

  Lemma holds_mass a t : holds (mass_around a t) (mass a t).
  Proof. apply (holds_table2 _ _ (fun a t => around _)). apply holds_around. Qed.

  (** Rows are laws, and the listed cells have mass. *)
  Definition rows_right : bool :=
    forallb (fun t => forallb (fun y => at_most (whole 0) (around (entry rows t y))) outputs
      && less (whole 0) (sum_around outputs (fun y => around (entry rows t y)))) classes.
  Definition masses_right : bool :=
    forallb (fun a => match cells a with [] => false | _ => true end
      && forallb (fun t => less (whole 0) (around (entry masses a t))) (cells a)) values.

  Lemma cell_class a t : In t (cells a) -> In t classes.
  Proof. intros T. now apply filter_In in T as [T _]. Qed.

  Lemma channel : rows_right = true -> is_channel values cells outputs q.
  Proof.
    intros R a t [A T]. apply cell_class in T. pose proof (all_true _ _ R t T) as L. cbv beta in L.
    apply andb_prop in L as [N S].
    assert (S' : 0 < sum outputs (fun y => value (entry rows t y))).
    { apply (less_lt _ _ _ _ (holds_whole 0) (holds_sum _ _ _ (fun y _ => holds_around (entry rows t y))) S). }
    split.
    - intros y Y. unfold q, of_cell, row. apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat, S'].
      apply (at_most_le _ _ _ _ (holds_whole 0) (holds_around _) (all_true _ _ N y Y)).
    - unfold q, of_cell, row, Rdiv. rewrite sum_scale_r. field. lra.
  Qed.

  Lemma mass_positive : masses_right = true -> forall a t, In a values -> In t (cells a) -> 0 < mass a t.
  Proof.
    intros R a t A T. pose proof (all_true _ _ R a A) as L. cbv beta in L. apply andb_prop in L as [_ L].
    apply (less_lt _ _ _ _ (holds_whole 0) (holds_around _) (all_true _ _ L t T)).
  Qed.

  Lemma reference : masses_right = true -> is_reference values cells mass.
  Proof.
    intros R. split; [intros a t [A T]; now apply mass_positive|]. intros a A E. pose proof (all_true _ _ R a A) as L.
    cbv beta in L. now rewrite E in L.
  Qed.

  (** ** The witness *)

  Section Witness.
    Variables (prior : list (list number)) (K lower : number).

    Definition pi (a t : nat) : R := divided values cells (fun a t => value (entry prior a t)) a t.
    Definition total_around : I.type := sum_around values (fun a => sum_around (cells a) (fun t => around (entry prior a t))).
    Definition pi_around : nat -> nat -> I.type :=
      let all := total_around in table2 (length masses) (length rows) (fun a t => around (entry prior a t) /i all).

    Lemma holds_pi a t : holds (pi_around a t) (pi a t).
    Proof.
      apply (holds_table2 _ _ (fun a t => _ /i total_around)). apply holds_div; [apply holds_around|].
      apply holds_sum. intros. apply holds_sum. intros. apply holds_around.
    Qed.

    Definition divergence_around : I.type :=
      let p := pi_around in let m := mass_around in
      sum_around values (fun a => sum_around (cells a) (fun t => relative (p a t) (m a t))).

    Definition information_around : I.type :=
      let p := pi_around in let w := row_around in
      let z := table2 (length masses) (length outputs) (fun a y => sum_around (cells a) (fun t => p a t *i w t y)) in
      let pa := table (length masses) (fun a => sum_around (cells a) (p a)) in
      let zy := table (length outputs) (fun y => sum_around values (fun a => z a y)) in
      sum_around values (fun a => sum_around outputs (fun y => relative (z a y) (pa a *i zy y))).

    Definition witness_right : bool :=
      rows_right && masses_right
      && forallb (fun a => forallb (fun t => at_most (whole 0) (around (entry prior a t))) (cells a)) values
      && less (whole 0) total_around
      && at_most divergence_around (around K)
      && at_most (around lower) information_around.

    Lemma holds_divergence : holds divergence_around (divergence values cells pi mass).
    Proof. apply holds_sum. intros a A. apply holds_sum. intros t T. apply holds_relative; [apply holds_pi | apply holds_mass]. Qed.

    Lemma holds_information : holds information_around (information values cells outputs pi q).
    Proof.
      assert (Z : forall a y, holds (table2 (length masses) (length outputs) (fun a y => sum_around (cells a) (fun t => pi_around a t *i row_around t y)) a y)
        (joint cells pi q a y)).
      { intros a y. apply (holds_table2 _ _ (fun a y => sum_around _ _)). apply holds_sum. intros t T.
        apply holds_mul; [apply holds_pi | apply holds_row]. }
      apply holds_sum. intros a A. apply holds_sum. intros y Y. apply holds_relative; [apply Z|]. apply holds_mul.
      - apply (holds_table _ (fun a => sum_around _ _)). apply holds_sum. intros. apply holds_pi.
      - apply (holds_table _ (fun y => sum_around _ _)). apply holds_sum. intros. apply Z.
    Qed.

    Theorem witness_proves : witness_right = true -> leaks_at_least values cells outputs mass q (value K) (value lower).
    Proof.
      intros H. unfold witness_right in H. apply andb_prop in H as [H Learns]. apply andb_prop in H as [H Knows].
      apply andb_prop in H as [H Some]. apply andb_prop in H as [_ NonNeg].
      apply (witness values cells outputs mass (fun a t => value (entry prior a t)) q).
      - intros a t [A T]. pose proof (all_true _ _ NonNeg a A) as L. cbv beta in L.
        apply (at_most_le _ _ _ _ (holds_whole 0) (holds_around _) (all_true _ _ L t T)).
      - apply (less_lt _ _ _ _ (holds_whole 0) (holds_sum _ _ _ (fun a _ => holds_sum _ _ _ (fun t _ => holds_around (entry prior a t)))) Some).
      - apply (at_most_le _ _ _ _ holds_divergence (holds_around _) Knows).
      - apply (at_most_le _ _ _ _ (holds_around _) holds_information Learns).
    Qed.
  End Witness.
End Tables.
