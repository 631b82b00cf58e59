(** Bounds against every prior, whatever it knows: trees of choices (4.1), and the number of values. *)
From Coq Require Import Reals Lra List Arith Bool.
From Dalenius Require Import Sums Information Lumping Choices Numbers Tables Trees.
Import ListNotations.
Local Open Scope R_scope.

Inductive choice_tree :=
  (** A leaf states a law of the output, before division by its sum: any law gives a bound. *)
  | Law (r : list number)
  (** The cells of one value that are listed, and those that are not; any list will do. *)
  | Split (a : nat) (listed : list nat) (these others : choice_tree).

Section Choices.
  Variables (rows masses : list (list number)) (K upper : number).
  Notation values := (values masses).
  Notation cells := (cells rows masses).
  Notation outputs := (outputs rows).
  Notation q := (q rows).

  Definition candidates := nat -> nat -> bool.
  Definition among (listed : list nat) (t : nat) : bool := existsb (Nat.eqb t) listed.
  Definition only (keep : candidates) a (test : nat -> bool) : candidates :=
    fun b t => keep b t && (if (b =? a)%nat then test t else true).

  Section Check.
    Variables (q' : nat -> nat -> I.type) (upper' : I.type).

    Definition law_right (keep : candidates) (r : list number) : bool :=
      let weights := table (length outputs) (fun y => around (nth y r (Whole 0))) in
      let all := sum_around outputs weights in
      let logs := table (length outputs) (fun y => I.ln bits (weights y /i all)) in
      let far := table (length rows) (fun t => sum_around outputs (fun y => phi_around (q' t y) -i q' t y *i logs y)) in
      forallb (fun y => less (whole 0) (around (nth y r (Whole 0)))) outputs
      && forallb (fun a => forallb (fun t => negb (keep a t) || at_most (far t) upper') (cells a)) values.

    Fixpoint choices_check (keep : candidates) (x : choice_tree) : bool :=
      match x with
      | Law r => law_right keep r
      | Split a listed these others =>
          if choices_check (only keep a (among listed)) these
          then choices_check (only keep a (fun t => negb (among listed t))) others
          else false
      end.
  End Check.

  Definition choices_right (x : choice_tree) : bool :=
    rows_right rows && choices_check (row_around rows) (around upper) (fun _ _ => true) x.

  Section Sound.
    Hypothesis Channel : is_channel values cells outputs q.
    Variables (q' : nat -> nat -> I.type) (upper' : I.type).
    Hypotheses (Q' : forall t y, holds (q' t y) (row rows t y)) (HU : holds upper' (value upper)).

    (** The prior has mass at candidates alone. *)
    Definition supported (keep : candidates) (pi : nat -> nat -> R) : Prop :=
      forall a t, is_cell values cells a t -> keep a t = false -> pi a t = 0.
    Notation learnt pi := (information values cells outputs pi q).

    Lemma law_sound keep r pi : is_prior values cells pi -> supported keep pi -> law_right q' upper' keep r = true -> learnt pi <= value upper.
    Proof.
      intros P S H. unfold law_right in H. apply andb_prop in H as [Pos H].
      set (w := fun y => value (nth y r (Whole 0))).
      assert (W : forall y, In y outputs -> 0 < w y)
        by (intros y Y; exact (less_lt _ _ _ _ (holds_whole 0) (holds_around _) (all_true _ _ Pos y Y))).
      assert (N : outputs <> []).
      { intros E. pose proof (seen_one values cells outputs pi q P Channel) as One. rewrite E in One. simpl in One. lra. }
      assert (T : 0 < sum outputs w) by now apply sum_pos.
      set (r' := fun y => w y / sum outputs w).
      assert (R1 : forall y, In y outputs -> 0 < r' y) by (intros; apply Rdiv_lt_0_compat; auto).
      assert (R2 : sum outputs r' <= 1) by (right; unfold r', Rdiv; rewrite sum_scale_r; field; lra).
      apply (Rle_trans _ _ _ (capacity_majorant values cells outputs pi q r' P Channel R1 R2)).
      apply Rle_trans with (over values cells (fun a t => pi a t * value upper)).
      - apply sum_le. intros a A. apply sum_le. intros t C. destruct (keep a t) eqn:E.
        + apply Rmult_le_compat_l; [apply P; now split|].
          pose proof (all_true _ _ H a A) as L. cbv beta in L. apply all_true with (x := t) in L; [|assumption].
          rewrite E in L. simpl in L. refine (at_most_le _ _ _ _ _ HU L).
          apply (holds_table _ (fun t => sum_around _ _)). apply holds_sum. intros y Y.
          apply holds_sub; [apply holds_phi, Q' | apply holds_mul; [apply Q'|]].
          apply (holds_table _ (fun y => I.ln bits _)). apply holds_ln, holds_div.
          * apply (holds_table _ (fun y => around _)). apply holds_around.
          * apply holds_sum. intros x X. apply (holds_table _ (fun y => around _)). apply holds_around.
        + rewrite (S a t) by (try split; assumption). lra.
      - unfold over. rewrite (sum_ext values _ (fun a => total cells pi a * value upper)) by (intros; apply sum_scale_r).
        rewrite sum_scale_r, (total_one values cells pi P). lra.
    Qed.

    (** The part of a prior in which the value [a] has cells that pass the test, as likely as it was. *)
    Definition part (pi : nat -> nat -> R) a (test : nat -> bool) (share : R) : nat -> nat -> R :=
      fun b t => if (b =? a)%nat then (if test t then pi b t / share else 0) else pi b t.
    Definition passing (pi : nat -> nat -> R) a (test : nat -> bool) : R := sum (filter test (cells a)) (pi a).

    Lemma sum_filter (l : list nat) (test : nat -> bool) (f : nat -> R) : sum l (fun t => if test t then f t else 0) = sum (filter test l) f.
    Proof. induction l as [|t l IH]; simpl; [reflexivity|]. destruct (test t); simpl; rewrite IH; lra. Qed.

    Lemma part_total pi a test b : 0 < passing pi a test -> 0 < total cells pi a ->
      total cells (part pi a test (passing pi a test / total cells pi a)) b = total cells pi b.
    Proof.
      intros M T. unfold total at 1, part. destruct (b =? a)%nat eqn:E; [|reflexivity]. apply Nat.eqb_eq in E. subst b.
      rewrite sum_filter. unfold Rdiv at 1. rewrite sum_scale_r. fold (passing pi a test). field. lra.
    Qed.

    Lemma part_prior pi a test : is_prior values cells pi -> 0 < passing pi a test -> 0 < total cells pi a ->
      is_prior values cells (part pi a test (passing pi a test / total cells pi a)).
    Proof.
      intros [P1 P2] M T. split.
      - intros b t C. unfold part. destruct (b =? a)%nat; [|now apply P1]. destruct (test t); [|lra].
        apply Rmult_le_pos; [now apply P1|]. apply Rlt_le, Rinv_0_lt_compat, Rdiv_lt_0_compat; assumption.
      - rewrite <- P2. apply sum_ext. intros b B. now apply part_total.
    Qed.

    Lemma passing_nonneg pi a test : is_prior values cells pi -> In a values -> 0 <= passing pi a test.
    Proof. intros P A. apply sum_nonneg. intros t I. apply filter_In in I as [I _]. apply P. now split. Qed.

    Lemma part_supported keep pi a test share : supported keep pi -> supported (only keep a test) (part pi a test share).
    Proof.
      intros S b t C E. unfold only in E. unfold part. apply andb_false_iff in E. destruct (b =? a)%nat.
      - destruct (test t); [|reflexivity]. destruct E as [E|E]; [|discriminate]. rewrite (S b t C E). unfold Rdiv. ring.
      - destruct E as [E|E]; [now apply S | discriminate].
    Qed.

    (** Where no mass passes, all candidates are among the others. *)
    Lemma none_passes keep pi a test : is_prior values cells pi -> supported keep pi -> passing pi a test = 0 ->
      supported (only keep a (fun t => negb (test t))) pi.
    Proof.
      intros P S Z b t [B T] E. unfold only in E. apply andb_false_iff in E as [E|E]; [apply S; [now split | assumption]|].
      destruct (b =? a)%nat eqn:F; [|discriminate]. apply Nat.eqb_eq in F. subst b. apply negb_false_iff in E.
      apply (sum_is_zero (filter test (cells a)) (pi a)); [|exact Z | now apply filter_In].
      intros x I. apply filter_In in I as [I _]. apply P. now split.
    Qed.

    Lemma only_ext keep a f g pi : (forall t, f t = g t) -> supported (only keep a f) pi -> supported (only keep a g) pi.
    Proof. intros E S b t C N. apply S; [assumption|]. unfold only in *. destruct (b =? a)%nat; [now rewrite E | assumption]. Qed.

    Lemma choices_sound x : forall keep pi, is_prior values cells pi -> supported keep pi ->
      choices_check q' upper' keep x = true -> learnt pi <= value upper.
    Proof.
      induction x as [r | a listed these IH1 others IH2]; intros keep pi P S H; simpl in H.
      - now apply (law_sound keep r).
      - apply andb_if in H as [H1 H2]. set (test := among listed) in *. set (rest := fun t => negb (test t)) in *.
        destruct (in_dec Nat.eq_dec a values) as [A|A].
        + pose proof (passing_nonneg pi a test P A) as N1. pose proof (passing_nonneg pi a rest P A) as N2.
          assert (T : total cells pi a = passing pi a test + passing pi a rest) by (apply sum_split).
          destruct (Rle_lt_or_eq_dec _ _ N1) as [M1|M1].
          * destruct (Rle_lt_or_eq_dec _ _ N2) as [M2|M2].
            -- assert (T' : 0 < total cells pi a) by lra.
               set (share := passing pi a test / total cells pi a).
               set (share' := passing pi a rest / total cells pi a).
               assert (Sum : share + share' = 1) by (unfold share, share'; rewrite T; field; lra).
               assert (0 < share) by (now apply Rdiv_lt_0_compat). assert (0 < share') by (now apply Rdiv_lt_0_compat).
               pose proof (information_convex values cells outputs pi (part pi a test share) (part pi a rest share') q share
                 (part_prior pi a test P M1 T') (part_prior pi a rest P M2 T') Channel) as V.
               assert (L1 : learnt (part pi a test share) <= value upper)
                 by (apply (IH1 (only keep a test)); [now apply part_prior | now apply part_supported | assumption]).
               assert (L2 : learnt (part pi a rest share') <= value upper)
                 by (apply (IH2 (only keep a rest)); [now apply part_prior | now apply part_supported | assumption]).
               assert (learnt pi <= share * learnt (part pi a test share) + (1 - share) * learnt (part pi a rest share')).
               { apply V; [lra | |].
                 - intros b t C. unfold part, rest. destruct (b =? a)%nat; [|ring].
                   replace (1 - share) with share' by lra. destruct (test t); simpl; field; lra.
                 - intros b B. unfold share, share'. now rewrite !part_total. }
               nra.
            -- apply (IH1 (only keep a test)); [assumption | | assumption].
               apply only_ext with (f := fun t => negb (rest t)); [intros; apply negb_involutive|].
               apply none_passes; [assumption | assumption | now symmetry].
          * apply (IH2 (only keep a rest)); [assumption | | assumption]. apply none_passes; [assumption | assumption | now symmetry].
        + apply (IH1 (only keep a test)); [assumption | | assumption]. intros b t C E. apply S; [assumption|].
          unfold only in E. destruct (b =? a)%nat eqn:F.
          * apply Nat.eqb_eq in F. subst b. destruct C. contradiction.
          * now rewrite andb_true_r in E.
    Qed.
  End Sound.

  Theorem choices_prove x : choices_right x = true -> leaks_at_most values cells outputs (mass masses) q (value K) (value upper).
  Proof.
    intros H p P _. unfold choices_right in H. apply andb_prop in H as [R H].
    apply channel with (masses := masses) in R.
    apply (choices_sound R (row_around rows) (around upper) (holds_row rows) (holds_around upper) x (fun _ _ => true) p P); [|exact H].
    intros a t _ E. discriminate.
  Qed.

  (** The bound that needs no tree: log |A|. *)
  Definition values_right : bool := rows_right rows && at_most (I.ln bits (sum_around values (fun _ => whole 1))) (around upper).

  Theorem values_prove : values_right = true -> leaks_at_most values cells outputs (mass masses) q (value K) (value upper).
  Proof.
    intros H p P _. unfold values_right in H. apply andb_prop in H as [R H]. apply channel with (masses := masses) in R.
    apply (Rle_trans _ _ _ (trivial_bound values cells outputs p q P R)).
    refine (at_most_le _ _ _ _ (holds_ln _ _ (holds_sum _ _ _ _)) (holds_around upper) H). intros. apply holds_whole.
  Qed.
End Choices.
