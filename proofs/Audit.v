(** The question as a user puts it: records, a release, and an adversary whose prior on datasets has D(p || uniform) <= K. *)
From Coq Require Import Reals Lra ZArith List Arith Bool Lia.
From Dalenius Require Import Sums Information Lumping Numbers Tables Trees.
Import ListNotations.
Local Open Scope R_scope.

(** All datasets, by the number of values of every record; the last record changes fastest. *)
Fixpoint datasets (sizes : list nat) : list (list nat) :=
  match sizes with
  | [] => [[]]
  | k :: rest => flat_map (fun v => map (cons v) (datasets rest)) (seq 0 k)
  end.

(** The value of a record, and the datasets in which it has the value [a]. *)
Definition record (i : nat) (x : list nat) : nat := nth i x O.
Definition having (sizes : list nat) (i a : nat) : list (list nat) := fibre (record i) (datasets sizes) a.

Section Audit.
  (** [answer] of a dataset is the row of the release that it has. *)
  Variables (sizes : list nat) (answer : list nat -> nat) (rows : list (list number)).
  Notation X := (datasets sizes).
  Definition how_many : Z := Z.of_nat (length X).
  Definition alphabet (i : nat) : list nat := seq 0 (nth i sizes O).

  Definition law (p : list nat -> R) : Prop := (forall x, In x X -> 0 <= p x) /\ sum X p = 1.

  (** D(p || uniform) = log|X| - H(X). *)
  Definition knowledge (p : list nat -> R) : R := sum X (fun x => p x * ln (p x / (1 / IZR how_many))).

  (** I(X_i; Y), where the release draws Y from the row of the answer. *)
  Definition leakage (i : nat) (p : list nat -> R) : R :=
    information (alphabet i) (having sizes i) (outputs rows) (fun _ => p) (of_dataset answer (row rows)).

  (** Lumped: how many datasets have a value of the record and an answer. *)
  Definition cell_mass (i a t : nat) : number :=
    match length (fibre answer (having sizes i a) t) with O => Whole 0 | c => Over (Whole (Z.of_nat c)) (Whole how_many) end.
  Definition cell_masses (i : nat) : list (list number) := map (fun a => map (cell_mass i a) (seq 0 (length rows))) (alphabet i).

  (** Every answer has a row, and every record a value of its alphabet: both are computed. *)
  Definition well_formed (i : nat) : bool :=
    forallb (fun x => (answer x <? length rows) && (record i x <? nth i sizes O))%nat X.

  Section Record.
    Variable i : nat.
    Hypothesis Formed : well_formed i = true.
    Notation masses := (cell_masses i).

    Lemma formed x : In x X -> (answer x < length rows)%nat /\ (record i x < nth i sizes O)%nat.
    Proof. intros I. pose proof (all_true _ _ Formed x I) as L. cbv beta in L. apply andb_prop in L as [A B]. split; now apply Nat.ltb_lt. Qed.

    Lemma same_values : values masses = alphabet i.
    Proof. unfold values, cell_masses, alphabet. now rewrite map_length, seq_length. Qed.

    Lemma entry_mass a t : In a (alphabet i) -> In t (classes rows) -> entry masses a t = cell_mass i a t.
    Proof.
      intros A T. apply in_seq_0 in A, T. unfold entry, cell_masses, alphabet.
      rewrite nth_indep with (d' := map (cell_mass i O) (seq 0 (length rows))) by now rewrite map_length, seq_length.
      rewrite (map_nth (fun a => map (cell_mass i a) (seq 0 (length rows))) (seq 0 (nth i sizes O)) O a), seq_nth by assumption.
      rewrite nth_indep with (d' := cell_mass i (0 + a) O) by now rewrite map_length, seq_length.
      rewrite map_nth, seq_nth by assumption. reflexivity.
    Qed.

    Lemma none_mass a t : none (cell_mass i a t) = true <-> fibre answer (having sizes i a) t = [].
    Proof. unfold cell_mass. destruct (fibre answer (having sizes i a) t); simpl; split; congruence. Qed.

    Lemma in_cells a t : In a (alphabet i) ->
      (In t (cells rows masses a) <-> In t (classes rows) /\ fibre answer (having sizes i a) t <> []).
    Proof.
      intros A. unfold cells. rewrite filter_In, negb_true_iff. split; intros [T E]; split; try assumption.
      - rewrite entry_mass in E by assumption. intros F. apply none_mass in F. congruence.
      - rewrite entry_mass by assumption. apply not_true_is_false. now rewrite none_mass.
    Qed.

    Lemma in_having a x : In x (having sizes i a) <-> In x X /\ record i x = a.
    Proof. apply in_fibre. Qed.

    Lemma some_dataset a x : In x (having sizes i a) -> 0 < IZR how_many.
    Proof.
      intros I. apply in_having in I as [I _]. apply IZR_lt. unfold how_many. destruct X; [easy | simpl; lia].
    Qed.

    Lemma sum_constant {T} (l : list T) c : sum l (fun _ => c) = IZR (Z.of_nat (length l)) * c.
    Proof. rewrite <- INR_IZR_INZ. induction l as [|x l IH]; [simpl; lra|]. cbn [length sum]. rewrite S_INR, IH. lra. Qed.

    Lemma once a : In a (alphabet i) -> NoDup (cells rows masses a).
    Proof. intros. apply NoDup_filter, seq_NoDup. Qed.

    Lemma found a x : In a (alphabet i) -> In x (having sizes i a) -> In (answer x) (cells rows masses a).
    Proof.
      intros A I. apply in_cells; [assumption|]. pose proof I as H. apply in_having in H as [H _]. split.
      - apply in_seq_0. now apply formed.
      - intros E. assert (J : In x (fibre answer (having sizes i a) (answer x))) by (apply in_fibre; now split). now rewrite E in J.
    Qed.

    Lemma masses_sum a t : In a (alphabet i) -> In t (cells rows masses a) ->
      sum (fibre answer (having sizes i a) t) (fun _ => 1 / IZR how_many) = mass masses a t.
    Proof.
      intros A T. apply in_cells in T as [T N]; [|assumption]. unfold mass. rewrite entry_mass by assumption. unfold cell_mass.
      rewrite sum_constant. destruct (fibre answer (having sizes i a) t); [easy|]. cbn [length value]. unfold Rdiv. ring.
    Qed.

    Lemma met a t : In a (alphabet i) -> In t (cells rows masses a) -> fibre answer (having sizes i a) t <> [].
    Proof. intros A T. now apply in_cells in T as [_ N]. Qed.

    (** Sums over datasets are sums over the values of a record. *)
    Lemma by_value (f : list nat -> R) : over (alphabet i) (having sizes i) (fun _ => f) = sum X f.
    Proof.
      unfold over. unfold having. apply (sum_fibres (record i)).
      - apply seq_NoDup.
      - intros x I. apply in_seq_0. now apply formed.
    Qed.

    (** What is proved of cells holds for every prior on datasets. *)
    Theorem audited_above K upper :
      leaks_at_most (values masses) (cells rows masses) (outputs rows) (mass masses) (q rows) K upper ->
      forall p, law p -> knowledge p <= K -> leakage i p <= upper.
    Proof.
      rewrite same_values. intros B p [P1 P2] D.
      apply (lumping_upper (alphabet i) (having sizes i) (outputs rows) (fun _ _ => 1 / IZR how_many) answer (row rows)
        (cells rows masses) (mass masses) once found) with (K := K); try assumption.
      - intros a x A I. apply Rdiv_lt_0_compat; [lra | now apply some_dataset with a x].
      - exact masses_sum.
      - split; [|now rewrite (by_value p)]. intros a x [_ I]. apply P1. now apply in_having in I.
      - unfold divergence. now rewrite (by_value (fun x => p x * ln (p x / (1 / IZR how_many)))).
    Qed.

    Theorem audited_below K lower :
      leaks_at_least (values masses) (cells rows masses) (outputs rows) (mass masses) (q rows) K lower ->
      exists p, law p /\ knowledge p <= K /\ lower <= leakage i p.
    Proof.
      rewrite same_values. intros B.
      apply (lumping_lower (alphabet i) (having sizes i) (outputs rows) (fun _ _ => 1 / IZR how_many) answer (row rows)
        (cells rows masses) (mass masses) once found) in B.
      - destruct B as (pi & [P1 P2] & D & L). exists (fun x => pi (record i x) x).
        assert (E : forall f, over (alphabet i) (having sizes i) (fun a x => f (pi a x) x) = sum X (fun x => f (pi (record i x) x) x)).
        { intros f. rewrite <- by_value. apply sum_ext. intros a A. apply sum_ext. intros x I. apply in_having in I as [_ <-]. reflexivity. }
        split; [split|split].
        + intros x I. apply P1. split; [apply in_seq_0; now apply formed | apply in_having; now split].
        + rewrite <- P2. symmetry. apply (E (fun z _ => z)).
        + apply Rle_trans with (2 := D). right. symmetry. apply (E (fun z _ => z * ln (z / (1 / IZR how_many)))).
        + apply (Rle_trans _ _ _ L). right. unfold leakage, information, seen, joint, total.
          assert (J : forall a y, sum (having sizes i a) (fun t => pi a t * of_dataset answer (row rows) a t y)
            = sum (having sizes i a) (fun t => pi (record i t) t * of_dataset answer (row rows) a t y)).
          { intros a y. apply sum_ext. intros x I. apply in_having in I as [_ <-]. reflexivity. }
          apply sum_ext. intros a A. apply sum_ext. intros y Y. rewrite J. do 3 f_equal. f_equal.
          * apply sum_ext. intros x I. apply in_having in I as [_ <-]. reflexivity.
          * apply sum_ext. intros b Hb. apply J.
      - intros a x A I. apply Rdiv_lt_0_compat; [lra | now apply some_dataset with a x].
      - exact masses_sum.
      - exact met.
    Qed.
  End Record.
End Audit.
