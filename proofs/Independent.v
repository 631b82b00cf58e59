(** Independent records (10): what a release tells about a record when the records are independent, whatever their laws. *)
From Coq Require Import Reals Lra ZArith List Arith Bool.
From Dalenius Require Import Sums Information Lumping Choices Numbers Tables Trees Audit.
Import ListNotations.
Local Open Scope R_scope.

(** ** Laws of all records, and the prior that they make *)

Fixpoint chance (laws : list (nat -> R)) (x : list nat) : R :=
  match laws, x with
  | f :: rest, v :: others => f v * chance rest others
  | _, _ => 1
  end.

(** One law for every record, on its values. *)
Definition are_laws (sizes : list nat) (laws : list (nat -> R)) : Prop :=
  Forall2 (fun k f => (forall v, In v (seq 0 k) -> 0 <= f v) /\ sum (seq 0 k) f = 1) sizes laws.

(** A dataset in which one record has another value. *)
Fixpoint with_value (i a : nat) (x : list nat) : list nat :=
  match x, i with
  | [], _ => []
  | _ :: rest, O => a :: rest
  | v :: rest, S i => v :: with_value i a rest
  end.

Lemma with_itself i x : with_value i (record i x) x = x.
Proof. revert i. induction x as [|v x IH]; intros [|i]; simpl; try reflexivity. f_equal. apply IH. Qed.

Lemma with_twice i a b x : with_value i a (with_value i b x) = with_value i a x.
Proof. revert i. induction x as [|v x IH]; intros [|i]; simpl; try reflexivity. now rewrite IH. Qed.

Lemma sum_app {T} (l m : list T) f : sum (l ++ m) f = sum l f + sum m f.
Proof. induction l as [|x l IH]; simpl; [|rewrite IH]; lra. Qed.

Lemma sum_map {T U} (l : list T) (g : T -> U) f : sum (map g l) f = sum l (fun x => f (g x)).
Proof. induction l as [|x l IH]; simpl; [reflexivity | now rewrite IH]. Qed.

Lemma sum_datasets k rest f : sum (datasets (k :: rest)) f = sum (seq 0 k) (fun v => sum (datasets rest) (fun x => f (v :: x))).
Proof. simpl. induction (seq 0 k) as [|v l IH]; simpl; [reflexivity|]. now rewrite sum_app, sum_map, IH. Qed.

Lemma sum_tested {T} (l : list T) (test : T -> bool) f : sum (filter test l) f = sum l (fun x => if test x then f x else 0).
Proof. induction l as [|x l IH]; simpl; [reflexivity|]. destruct (test x); simpl; rewrite IH; lra. Qed.

Lemma chance_is_law sizes laws : are_laws sizes laws -> law sizes (chance laws).
Proof.
  induction 1 as [|k f sizes laws [F1 F2] _ [P1 P2]]; split.
  - intros x _. destruct x; simpl; lra.
  - simpl. lra.
  - intros x I. simpl in I. apply in_flat_map in I as (v & V & I). apply in_map_iff in I as (z & <- & I). simpl.
    apply Rmult_le_pos; auto.
  - rewrite sum_datasets. simpl. rewrite (sum_ext _ _ f) by (intros; rewrite sum_scale, P2; ring). exact F2.
Qed.

(** What does not depend on a record is independent of it. *)
Lemma apart i : forall sizes laws a (g : list nat -> R), are_laws sizes laws -> In a (alphabet sizes i) ->
  sum (having sizes i a) (fun x => chance laws x * g (with_value i 0 x))
    = nth i laws (fun _ => 0) a * sum (datasets sizes) (fun x => chance laws x * g (with_value i 0 x)).
Proof.
  intros sizes laws a g L A. unfold having, fibre. rewrite sum_tested. revert sizes laws g L A.
  induction i as [|i IH]; intros sizes laws g L A; (inversion L as [|k f rest others [F1 F2] L']; subst; [destruct A|]); rewrite !sum_datasets.
  - set (S := sum (datasets rest) (fun x => chance others x * g (0%nat :: x))).
    rewrite (sum_ext _ _ (fun v => if (v =? a)%nat then f v * S else 0)).
    + rewrite (sum_single (seq 0 k) a (fun v => f v * S)) by (try apply seq_NoDup; assumption).
      rewrite (sum_ext (seq 0 k) (fun v => sum _ _) (fun v => f v * S)).
      * rewrite sum_scale_r, F2. simpl. ring.
      * intros v _. unfold S. rewrite <- sum_scale. apply sum_ext. intros. simpl. ring.
    + intros v _. unfold record. simpl. destruct (v =? a)%nat; [|apply sum_zero].
      unfold S. rewrite <- sum_scale. apply sum_ext. intros. ring.
  - simpl nth. rewrite <- sum_scale. apply sum_ext. intros v _.
    rewrite (sum_ext _ _ (fun x => f v * (if (record i x =? a)%nat then chance others x * g (v :: with_value i 0 x) else 0))).
    + rewrite sum_scale, (IH rest others (fun x => g (v :: x)) L' A).
      rewrite (sum_ext (datasets rest) (fun x => chance (f :: others) (v :: x) * _) (fun x => f v * (chance others x * g (v :: with_value i 0 x))))
        by (intros; simpl; ring).
      rewrite sum_scale. ring.
    + intros x _. unfold record. simpl. destruct (nth i x 0 =? a)%nat; ring.
Qed.

(** ** The upper bound *)

Section Lines.
  Variables (sizes : list nat) (answer : list nat -> nat) (rows : list (list number)) (i : nat).
  Notation X := (datasets sizes).
  Notation Y := (outputs rows).
  Notation A := (alphabet sizes i).
  Hypothesis Formed : well_formed sizes answer rows i = true.
  Hypothesis Rows : rows_right rows = true.

  Lemma row_law x : In x X -> (forall y, In y Y -> 0 <= row rows (answer x) y) /\ sum Y (row rows (answer x)) = 1.
  Proof.
    intros I. pose proof (formed sizes answer rows i Formed x I) as [T R].
    assert (A' : In (record i x) (values (cell_masses sizes answer rows i))) by (rewrite same_values; now apply in_seq_0).
    apply (channel rows (cell_masses sizes answer rows i) Rows (record i x) (answer x)). split; [assumption|].
    apply found; [assumption | now apply in_seq_0 | apply in_having; now split].
  Qed.

  Section Mixtures.
    Variables (laws : list (nat -> R)) (r : list nat -> nat -> R) (upper : R).
    Hypotheses (L : are_laws sizes laws)
      (* A law of the output for everything that the others may be. *)
      (Others : forall x y, r x y = r (with_value i 0 x) y)
      (Law : forall x, In x X -> sum Y (r x) = 1)
      (Below : forall x y, In x X -> In y Y -> below (row rows (answer x) y) (r x y))
      (Near : forall x, In x X -> sum Y (fun y => row rows (answer x) y * ln (row rows (answer x) y / r x y)) <= upper).

    Notation p := (chance laws).
    Notation z a y := (joint (having sizes i) (fun _ => p) (of_dataset answer (row rows)) a y).
    Notation zy y := (seen A (having sizes i) (fun _ => p) (of_dataset answer (row rows)) y).
    Notation pa a := (total (having sizes i) (fun _ => p) a).
    Definition mixed y : R := sum X (fun x => p x * r x y).

    Lemma own_law : law sizes p.
    Proof. now apply chance_is_law. Qed.

    Lemma mixed_apart a y : In a A -> sum (having sizes i a) (fun x => p x * r x y) = pa a * mixed y.
    Proof.
      intros I. assert (E : forall l, sum l (fun x => p x * r x y) = sum l (fun x => p x * r (with_value i 0 x) y))
        by (intros; apply sum_ext; intros; now rewrite <- Others).
      unfold mixed. rewrite !E, (apart i sizes laws a (fun x => r x y) L I). f_equal.
      unfold total. rewrite (sum_ext _ _ (fun x => p x * 1)) by (intros; ring). rewrite (apart i sizes laws a (fun _ => 1) L I).
      rewrite (sum_ext X _ p) by (intros; ring). destruct own_law as [_ ->]. ring.
    Qed.

    Lemma one_dataset x y : In x X -> In y Y -> below (p x * row rows (answer x) y) (p x * r x y).
    Proof.
      intros I J. destruct (Below x y I J) as (B1 & B2 & B3). destruct own_law as [P _]. specialize (P x I).
      repeat split; try (apply Rmult_le_pos; assumption). intros E. apply Rmult_integral in E as [E|E]; [rewrite E | rewrite (B3 E)]; ring.
    Qed.

    Lemma sum_below {T} (l : list T) f g : (forall x, In x l -> below (f x) (g x)) -> below (sum l f) (sum l g).
    Proof.
      intros B. assert (N : forall x, In x l -> 0 <= g x) by (intros x I; apply (B x I)).
      split; [apply sum_nonneg; intros x I; apply (B x I)|]. split; [now apply sum_nonneg|]. intros Z.
      rewrite <- (sum_zero l). apply sum_ext. intros x I. apply (B x I). now apply (sum_is_zero l g).
    Qed.

    Lemma value_below a y : In a A -> In y Y -> below (z a y) (pa a * mixed y).
    Proof.
      intros I J. rewrite <- mixed_apart by assumption. apply sum_below. intros x H. apply in_having in H as [H _]. now apply one_dataset.
    Qed.

    Lemma all_values y : zy y = sum X (fun x => p x * row rows (answer x) y).
    Proof. exact (by_value sizes answer rows i Formed (fun x => p x * row rows (answer x) y)). Qed.

    Lemma seen_below y : In y Y -> below (zy y) (mixed y).
    Proof. intros J. rewrite all_values. apply sum_below. intros x I. now apply one_dataset. Qed.

    (** "I(X_i;Y) <= I(X_i;Y|X') <= max D(q(.|a,x') || r_x')". *)
    Theorem lines_bound : leakage sizes answer rows i p <= upper.
    Proof.
      destruct own_law as [P1 P2].
      (* Golden, with the mean of the laws r. *)
      apply Rle_trans with (sum A (fun a => sum Y (fun y => z a y * ln (z a y / (pa a * mixed y))))).
      - assert (G : 0 <= sum Y (fun y => zy y * ln (zy y / mixed y))).
        { assert (S1 : sum Y (fun y => zy y) = 1).
          { rewrite (sum_ext Y _ (fun y => sum X (fun x => p x * row rows (answer x) y))) by (intros; apply all_values).
            rewrite sum_swap, <- P2. apply sum_ext. intros x I. rewrite sum_scale. destruct (row_law x I) as [_ ->]. ring. }
          assert (S2 : sum Y mixed = 1).
          { unfold mixed. rewrite sum_swap, <- P2. apply sum_ext. intros x I. rewrite sum_scale, Law by assumption. ring. }
          pose proof (log_sum Y (fun y => zy y) mixed seen_below) as G. rewrite S1, S2 in G.
          replace (1 / 1) with 1 in G by lra. rewrite ln_1 in G. lra. }
        assert (E : sum A (fun a => sum Y (fun y => z a y * ln (z a y / (pa a * mixed y)))) - sum Y (fun y => zy y * ln (zy y / mixed y))
          = leakage sizes answer rows i p); [|lra].
        unfold leakage, information.
        rewrite (sum_ext Y (fun y => zy y * _) (fun y => sum A (fun a => z a y * ln (zy y / mixed y)))) by (intros; symmetry; apply sum_scale_r).
        rewrite <- (sum_swap A Y), <- sum_minus. apply sum_ext. intros a I. rewrite <- sum_minus. apply sum_ext. intros y J.
        destruct (value_below a y I J) as (B1 & B2 & B3).
        destruct (Rle_lt_or_eq_dec _ _ B1) as [G'|G']; [|rewrite <- G'; ring].
        assert (T : 0 <= pa a) by (apply sum_nonneg; intros x H; apply in_having in H as [H _]; auto).
        destruct (seen_below y J) as (S1 & S2 & S3).
        assert (D : 0 < pa a * mixed y) by (destruct B2 as [B2|B2]; [assumption | symmetry in B2; apply B3 in B2; lra]).
        assert (0 < mixed y) by (destruct S2 as [S2|S2]; [assumption | rewrite <- S2, Rmult_0_r in D; lra]).
        assert (0 < pa a) by (destruct T as [T|T]; [assumption | rewrite <- T, Rmult_0_l in D; lra]).
        assert (0 < zy y).
        { apply Rlt_le_trans with (z a y); [assumption|]. apply (sum_term A (fun a => z a y)); [|assumption]. intros b Hb. apply (value_below b y Hb J). }
        rewrite !ln_div, !ln_mult by (try assumption; now apply Rmult_lt_0_compat). ring.
      - (* Log-sum over the datasets of a value. *)
        apply Rle_trans with (sum X (fun x => p x * sum Y (fun y => row rows (answer x) y * ln (row rows (answer x) y / r x y)))).
        + rewrite <- (by_value sizes answer rows i Formed). apply sum_le. intros a I.
          rewrite (sum_ext (having sizes i a) _ (fun x => sum Y (fun y => p x * (row rows (answer x) y * ln (row rows (answer x) y / r x y)))))
            by (intros; symmetry; apply sum_scale).
          rewrite sum_swap. apply sum_le. intros y J. rewrite <- mixed_apart by assumption.
          apply Rle_trans with (sum (having sizes i a) (fun x => p x * row rows (answer x) y * ln (p x * row rows (answer x) y / (p x * r x y)))).
          * apply log_sum. intros x H. apply in_having in H as [H _]. now apply one_dataset.
          * right. apply sum_ext. intros x H. destruct (Req_dec (p x) 0) as [->|N]; [ring|].
            unfold Rdiv. rewrite Rinv_mult. replace (p x * row rows (answer x) y * (/ p x * / r x y)) with (p x * / p x * (row rows (answer x) y * / r x y)) by ring.
            rewrite Rinv_r, Rmult_1_l by assumption. ring.
        + apply Rle_trans with (sum X (fun x => p x * upper)); [|rewrite sum_scale_r, P2; lra].
          apply sum_le. intros x I. apply Rmult_le_compat_l; auto.
    Qed.
  End Mixtures.
End Lines.

(** ** The check *)

Lemma nth_map_seq {T} (f : nat -> T) n a d : In a (seq 0 n) -> nth a (map f (seq 0 n)) d = f a.
Proof.
  intros I. apply in_seq_0 in I. rewrite nth_indep with (d' := f O) by now rewrite map_length, seq_length.
  now rewrite map_nth, seq_nth.
Qed.

Lemma in_with_value i a : forall sizes x, In x (datasets sizes) -> In a (alphabet sizes i) -> In (with_value i a x) (datasets sizes).
Proof.
  induction i as [|i IH]; intros [|k sizes] x I A; try destruct A; simpl in I;
    apply in_flat_map in I as (v & V & I); apply in_map_iff in I as (z & <- & I); simpl; apply in_flat_map.
  - exists a. split; [exact A | now apply in_map].
  - exists v. split; [assumption | apply in_map, IH; assumption].
Qed.

Section Check.
  Variables (sizes : list nat) (answer : list nat -> nat) (rows : list (list number)) (i : nat) (upper : number).
  (** What the answer is by the value of the record, for everything that the others may be, each with a law of that
      value before division by its sum: its mixture of rows is the law r. *)
  Variable lines : list (list nat * list number).
  Notation X := (datasets sizes).
  Notation Y := (outputs rows).
  Notation A := (alphabet sizes i).

  Definition line_of (x : list nat) : list nat := map (fun a => answer (with_value i a x)) A.
  Definition same (l m : list nat) : bool := if list_eq_dec Nat.eq_dec l m then true else false.
  Definition weights_of (line : list nat) : list number :=
    match find (fun e => same line (fst e)) lines with Some e => snd e | None => [] end.
  Definition mixture (line : list nat) (w : list number) y : R :=
    sum A (fun a => value (nth a w (Whole 0)) / sum A (fun a => value (nth a w (Whole 0))) * row rows (nth a line O) y).

  Definition line_right (q' : nat -> nat -> I.type) (e : list nat * list number) : bool :=
    let all := sum_around A (fun a => around (nth a (snd e) (Whole 0))) in
    let r := table (length Y) (fun y => sum_around A (fun a => around (nth a (snd e) (Whole 0)) /i all *i q' (nth a (fst e) O) y)) in
    forallb (fun a => at_most (whole 0) (around (nth a (snd e) (Whole 0)))) A && less (whole 0) all
    && forallb (fun a => forallb (fun y => zero (q' (nth a (fst e) O) y) || less (whole 0) (r y)) Y
      && at_most (sum_around Y (fun y => relative (q' (nth a (fst e) O) y) (r y))) (around upper)) A.

  Definition lines_right : bool :=
    well_formed sizes answer rows i && rows_right rows
    && (let q' := row_around rows in forallb (line_right q') lines)
    && forallb (fun x => existsb (fun e => same (line_of x) (fst e)) lines) X.

  (** "Against independent records a leakage is at most max D(q(.|a,x') || r_x')": for every law of every record. *)
  Theorem lines_prove : lines_right = true -> forall laws, are_laws sizes laws -> leakage sizes answer rows i (chance laws) <= value upper.
  Proof.
    intros H laws L. unfold lines_right in H. apply andb_prop in H as [H Listed]. apply andb_prop in H as [H Right].
    apply andb_prop in H as [F R].
    assert (E : forall x, In x X -> line_right (row_around rows) (line_of x, weights_of (line_of x)) = true).
    { intros x I. pose proof (all_true _ _ Listed x I) as M. cbv beta in M. unfold weights_of.
      destruct (find (fun e => same (line_of x) (fst e)) lines) as [e|] eqn:G.
      - apply find_some in G as [G S]. unfold same in S. destruct (list_eq_dec Nat.eq_dec (line_of x) (fst e)) as [->|]; [|discriminate].
        rewrite <- surjective_pairing. exact (all_true _ _ Right e G).
      - apply existsb_exists in M as (e & I' & S). pose proof (find_none _ _ G e I') as N. cbv beta in N. congruence. }
    assert (At : forall a x, In a A -> nth a (line_of x) O = answer (with_value i a x)) 
      by (intros a x I; exact (nth_map_seq (fun a => answer (with_value i a x)) _ a O I)).
    assert (Own : forall x, In x X -> In (record i x) A /\ nth (record i x) (line_of x) O = answer x).
    { intros x I. assert (O : In (record i x) A) by (apply in_seq_0; now apply (formed sizes answer rows i F)).
      split; [assumption|]. rewrite At by assumption. now rewrite with_itself. }
    assert (W : forall x, In x X -> let w := weights_of (line_of x) in
      (forall a, In a A -> 0 <= value (nth a w (Whole 0))) /\ 0 < sum A (fun a => value (nth a w (Whole 0)))).
    { intros x I. specialize (E x I). unfold line_right in E. simpl fst in E. simpl snd in E. apply andb_prop in E as [E _].
      apply andb_prop in E as [N S]. split.
      - intros a A'. exact (at_most_le _ _ _ _ (holds_whole 0) (holds_around _) (all_true _ _ N a A')).
      - exact (less_lt _ _ _ _ (holds_whole 0) (holds_sum _ _ _ (fun a _ => holds_around _)) S). }
    assert (Law : forall a x, In a A -> In x X -> (forall y, In y Y -> 0 <= row rows (nth a (line_of x) O) y) /\ sum Y (row rows (nth a (line_of x) O)) = 1).
    { intros a x A' I. rewrite At by assumption. apply (row_law sizes answer rows i F R). now apply in_with_value. }
    assert (Near : forall x y, In x X -> holds (table (length Y) (fun y => sum_around A (fun a => around (nth a (weights_of (line_of x)) (Whole 0))
      /i sum_around A (fun a => around (nth a (weights_of (line_of x)) (Whole 0))) *i row_around rows (nth a (line_of x) O) y)) y)
      (mixture (line_of x) (weights_of (line_of x)) y)).
    { intros x y I. apply (holds_table _ (fun y => sum_around _ _)). apply holds_sum. intros a A'. apply holds_mul; [|apply holds_row].
      apply holds_div; [apply holds_around | apply holds_sum; intros; apply holds_around]. }
    apply (lines_bound sizes answer rows i F R laws (fun x y => mixture (line_of x) (weights_of (line_of x)) y)); try assumption.
    - intros x y. assert (S : line_of (with_value i 0 x) = line_of x) by (unfold line_of; apply map_ext; intros; now rewrite with_twice).
      now rewrite S.
    - intros x I. destruct (W x I) as [_ T]. unfold mixture. rewrite sum_swap.
      rewrite (sum_ext A _ (fun a => value (nth a (weights_of (line_of x)) (Whole 0)) * / sum A (fun a => value (nth a (weights_of (line_of x)) (Whole 0))))).
      + rewrite sum_scale_r. field. lra.
      + intros a A'. rewrite sum_scale. destruct (Law a x A' I) as [_ ->]. unfold Rdiv. ring.
    - intros x y I J. destruct (W x I) as [N T]. destruct (Own x I) as [O S]. split; [exact (proj1 (row_law sizes answer rows i F R x I) y J)|]. split.
      + apply sum_nonneg. intros a A'. apply Rmult_le_pos; [apply Rmult_le_pos; [auto | apply Rlt_le, Rinv_0_lt_compat, T] | now apply Law].
      + intros Z. specialize (E x I). unfold line_right in E. simpl fst in E. simpl snd in E. apply andb_prop in E as [_ E].
        pose proof (all_true _ _ E _ O) as E'. cbv beta in E'. apply andb_prop in E' as [E' _].
        pose proof (all_true _ _ E' y J) as E''. cbv beta in E''. rewrite S in E''. apply orb_prop in E'' as [E''|E''].
        * exact (zero_eq _ _ (holds_row rows (answer x) y) E'').
        * apply (less_lt _ _ _ _ (holds_whole 0) (Near x y I)) in E''. lra.
    - intros x I. destruct (Own x I) as [O S]. specialize (E x I). unfold line_right in E. simpl fst in E. simpl snd in E.
      apply andb_prop in E as [_ E]. pose proof (all_true _ _ E _ O) as E'. cbv beta in E'. apply andb_prop in E' as [_ E'].
      rewrite S in E'. refine (at_most_le _ _ _ _ (holds_sum _ _ _ _) (holds_around upper) E').
      intros y J. apply holds_relative; [apply holds_row | now apply Near].
  Qed.
End Check.

(** ** The witness: a law for every record, before division by its sum *)

Definition law_of (k : nat) (w : list number) (v : nat) : R :=
  value (nth v w (Whole 0)) / sum (seq 0 k) (fun v => value (nth v w (Whole 0))).
Fixpoint laws_of (sizes : list nat) (given : list (list number)) : list (nat -> R) :=
  match sizes, given with
  | k :: rest, w :: others => law_of k w :: laws_of rest others
  | _, _ => []
  end.
Fixpoint laws_right (sizes : list nat) (given : list (list number)) : bool :=
  match sizes, given with
  | [], [] => true
  | k :: rest, w :: others =>
      forallb (fun v => at_most (whole 0) (around (nth v w (Whole 0)))) (seq 0 k)
      && less (whole 0) (sum_around (seq 0 k) (fun v => around (nth v w (Whole 0)))) && laws_right rest others
  | _, _ => false
  end.
Fixpoint chance_around (sizes : list nat) (given : list (list number)) (x : list nat) : I.type :=
  match sizes, given, x with
  | k :: rest, w :: others, v :: z =>
      around (nth v w (Whole 0)) /i sum_around (seq 0 k) (fun v => around (nth v w (Whole 0))) *i chance_around rest others z
  | _, _, _ => whole 1
  end.

Lemma holds_chance : forall sizes given x, holds (chance_around sizes given x) (chance (laws_of sizes given) x).
Proof.
  induction sizes as [|k sizes IH]; intros [|w given] [|v x]; try apply holds_whole. simpl. apply holds_mul; [|apply IH].
  apply holds_div; [apply holds_around | apply holds_sum; intros; apply holds_around].
Qed.

Lemma laws_are : forall sizes given, laws_right sizes given = true -> are_laws sizes (laws_of sizes given).
Proof.
  induction sizes as [|k sizes IH]; intros [|w given] H; try discriminate; [constructor|]. simpl in H.
  apply andb_prop in H as [H R]. apply andb_prop in H as [N S].
  apply (less_lt _ _ _ _ (holds_whole 0) (holds_sum _ _ _ (fun v _ => holds_around (nth v w (Whole 0))))) in S.
  constructor; [split | now apply IH].
  - intros v V. apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat, S].
    exact (at_most_le _ _ _ _ (holds_whole 0) (holds_around _) (all_true _ _ N v V)).
  - unfold law_of, Rdiv. rewrite sum_scale_r. simpl in S. field. lra.
Qed.

Section Known.
  Variables (sizes : list nat) (answer : list nat -> nat) (rows : list (list number)) (i : nat) (given : list (list number)) (lower : number).
  Notation Y := (outputs rows).
  Notation A := (alphabet sizes i).

  Definition leakage_around : I.type :=
    let w := row_around rows in
    let p := map (fun a => map (fun x => (answer x, chance_around sizes given x)) (having sizes i a)) A in
    let z := table2 (length A) (length Y) (fun a y => sum_around (nth a p []) (fun s => snd s *i w (fst s) y)) in
    let pa := table (length A) (fun a => sum_around (nth a p []) snd) in
    let zy := table (length Y) (fun y => sum_around A (fun a => z a y)) in
    sum_around A (fun a => sum_around Y (fun y => relative (z a y) (pa a *i zy y))).

  Lemma holds_listed {T} (l : list T) (f : T -> nat * I.type) h g :
    (forall x, In x l -> holds (h (f x)) (g x)) -> holds (sum_around (map f l) h) (sum l g).
  Proof.
    induction l as [|x l IH]; intros H; simpl; [apply holds_whole|].
    apply holds_add; [apply H; now left | apply IH; intros; apply H; now right].
  Qed.

  Lemma holds_leakage : holds leakage_around (leakage sizes answer rows i (chance (laws_of sizes given))).
  Proof.
    set (p := map (fun a => map (fun x => (answer x, chance_around sizes given x)) (having sizes i a)) A).
    assert (Z : forall a y, In a A -> holds (table2 (length A) (length Y) (fun a y => sum_around (nth a p []) (fun s => snd s *i row_around rows (fst s) y)) a y)
      (joint (having sizes i) (fun _ => chance (laws_of sizes given)) (of_dataset answer (row rows)) a y)).
    { intros a y I. apply (holds_table2 _ _ (fun a y => sum_around _ _)). unfold p, alphabet. rewrite nth_map_seq by assumption.
      apply holds_listed. intros x _. simpl. apply holds_mul; [apply holds_chance | apply holds_row]. }
    apply holds_sum. intros a I. apply holds_sum. intros y J. apply holds_relative; [now apply Z|]. apply holds_mul.
    - apply (holds_table _ (fun a => sum_around _ _)). unfold p, alphabet. rewrite nth_map_seq by assumption.
      apply holds_listed. intros x _. apply holds_chance.
    - apply (holds_table _ (fun y => sum_around _ _)). apply holds_sum. intros b Hb. now apply Z.
  Qed.

  Theorem known_proves : laws_right sizes given && at_most (around lower) leakage_around = true ->
    exists laws, are_laws sizes laws /\ value lower <= leakage sizes answer rows i (chance laws).
  Proof.
    intros H. apply andb_prop in H as [L H]. exists (laws_of sizes given). split; [now apply laws_are|].
    exact (at_most_le _ _ _ _ (holds_around _) holds_leakage H).
  Qed.
End Known.
