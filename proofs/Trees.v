(** Trees of posteriors (4.10): what each node says, and why the leaves cover every prior. *)
From Coq Require Import Reals Lra Psatz ZArith List Arith Bool.
From Dalenius Require Import Sums Information Posteriors Numbers Tables.
Import ListNotations.
Local Open Scope R_scope.

(** A bound on a posterior: v(a|y) <= c where [upward], else v(a|y) >= c. *)
Record side := Side { upward : bool; at_value : nat; at_output : nat }.

Inductive tree :=
  (** A leaf states sigma and the multipliers m of its box: any numbers give a bound. *)
  | Leaf (sigma : number) (m : list (list number))
  (** Priors with v(a|y) <= c, and those with v(a|y) >= c; any c will do. *)
  | Cut (a y : nat) (c : number) (below above : tree)
  (** A bound that follows from bounds that hold already, by a sum of them with weights that are not negative: ratios
      carry a cut to the other outputs, and posteriors sum to one. *)
  | Follows (new : side) (c : number) (from : list (side * number)) (rest : tree)
  (** Lower end above the upper one: no prior is here. *)
  | Nobody (a y : nat).

Lemma sum_single (l : list nat) a f : NoDup l -> In a l -> sum l (fun b => if (b =? a)%nat then f b else 0) = f a.
Proof.
  induction l as [|b l IH]; simpl; [easy|]. intros N I. inversion N as [|? ? B N']; subst.
  destruct (b =? a)%nat eqn:E.
  - apply Nat.eqb_eq in E. subst b. rewrite (sum_ext l _ (fun _ => 0)), sum_zero; [lra|].
    intros x X. destruct (x =? a)%nat eqn:E; [|reflexivity]. apply Nat.eqb_eq in E. subst. contradiction.
  - rewrite IH; [lra | assumption |]. apply Nat.eqb_neq in E. destruct I; [contradiction | assumption].
Qed.

(** As [andb], but what comes second is computed only where it matters. *)
Lemma andb_if (x y : bool) : (if x then y else false) = true -> x = true /\ y = true.
Proof. destruct x; [now split | easy]. Qed.

Section Trees.
  Variables (rows masses : list (list number)) (K upper : number).
  Notation values := (values masses).
  Notation cells := (cells rows masses).
  Notation outputs := (outputs rows).
  Notation q := (q rows).

  Definition ends := nat -> nat -> number.
  Definition put (f : ends) a y c : ends := fun b x => if ((b =? a) && (x =? y))%nat then c else f b x.
  Definition end_of (low high : ends) (s : side) : number :=
    (if upward s then high else low) (at_value s) (at_output s).

  (** The bound as a sum over cells: over( pi * form ) <= 0. *)
  Definition form (s : side) (c : R) (b t : nat) : R :=
    ((if (b =? at_value s)%nat then 1 else 0) - c) * q b t (at_output s) * (if upward s then 1 else -1).

  (** ** The check *)

  Section Check.
    (** Intervals around the rows, the masses, K and the bound to be shown, each computed once. *)
    Variables (q' mass' : nat -> nat -> I.type) (K' upper' : I.type).

    Definition form_around (s : side) (c : I.type) (b t : nat) : I.type :=
      (whole (if (b =? at_value s)%nat then 1 else 0) -i c) *i q' t (at_output s) *i whole (if upward s then 1 else -1).

    Definition leaf_around (low high : ends) (sigma : number) (m : list (list number)) : I.type :=
      let l := table2 (length masses) (length outputs) (fun a y => around (low a y)) in
      let h := table2 (length masses) (length outputs) (fun a y => around (high a y)) in
      let phi_l := table2 (length masses) (length outputs) (fun a y => phi_around (l a y)) in
      let slopes := table2 (length masses) (length outputs) (fun a y => (phi_around (h a y) -i phi_l a y) /i (h a y -i l a y)) in
      let common := table (length outputs) (fun y => sum_around values (fun b =>
        (phi_l b y -i slopes b y *i l b y)
        +i max_around (around (entry m b y) *i h b y) (around (entry m b y) *i l b y))) in
      let coefficients := table2 (length masses) (length outputs) (fun a y => (slopes a y -i around (entry m a y)) +i common y) in
      let s := around sigma in
      let share := whole 1 +i s in
      s *i K' +i share *i I.ln bits (sum_around values (fun a =>
        I.exp bits (s *i I.ln bits (sum_around (cells a) (fun t =>
          mass' a t *i I.exp bits (sum_around outputs (fun y => q' t y *i coefficients a y) /i s))) /i share))).

    Definition leaf_right low high sigma m : bool :=
      forallb (fun a => forallb (fun y => at_most (whole 0) (around (low a y))) outputs) values
      && less (whole 0) (around sigma)
      && at_most (leaf_around low high sigma m) upper'.

    Definition within_range (s : side) : bool :=
      ((at_value s <? length masses) && (at_output s <? length (hd [] rows)))%nat.

    Definition follows_right low high (new : side) (c : number) (from : list (side * number)) : bool :=
      forallb (fun old => within_range (fst old) && at_most (whole 0) (around (snd old))) from
      && let c' := around c in
         let olds := map (fun old => (fst old, around (end_of low high (fst old)), around (snd old))) from in
         forallb (fun b => forallb (fun t =>
           at_most (form_around new c' b t)
             (sum_around olds (fun old => snd old *i form_around (fst (fst old)) (snd (fst old)) b t))) (cells b)) values.

    Definition nobody_right (low high : ends) a y : bool :=
      within_range (Side true a y) && less (around (high a y)) (around (low a y))
      && forallb (fun b => forallb (fun t => less (whole 0) (q' t y)) (cells b)) values.

    Fixpoint tree_right (low high : ends) (x : tree) : bool :=
      match x with
      | Leaf sigma m => leaf_right low high sigma m
      | Cut a y c below above => if tree_right low (put high a y c) below then tree_right (put low a y c) high above else false
      | Follows new c from rest =>
          if follows_right low high new c from
          then if upward new then tree_right low (put high (at_value new) (at_output new) c) rest
               else tree_right (put low (at_value new) (at_output new) c) high rest
          else false
      | Nobody a y => nobody_right low high a y
      end.
  End Check.

  (** The root's box: every posterior lies between 0 and 1. *)
  Definition posteriors_right (x : tree) : bool :=
    rows_right rows && masses_right rows masses
    && tree_right (row_around rows) (mass_around rows masses) (around K) (around upper) (fun _ _ => Whole 0) (fun _ _ => Whole 1) x.

  (** ** Why it proves *)

  Section Sound.
    Hypotheses (Channel : is_channel values cells outputs q) (Reference : is_reference values cells (mass masses)).
    Variables (q' mass' : nat -> nat -> I.type) (K' upper' : I.type).
    Hypotheses (Q' : forall t y, holds (q' t y) (row rows t y)) (M' : forall a t, holds (mass' a t) (mass masses a t))
      (HK : holds K' (value K)) (HU : holds upper' (value upper)).
    Variable pi : nat -> nat -> R.
    Hypotheses (P : is_prior values cells pi) (D : divergence values cells pi (mass masses) <= value K).

    Notation learnt := (information values cells outputs pi q).
    Notation box low high := (in_box values cells outputs pi q (fun a y => value (low a y)) (fun a y => value (high a y))).

    Lemma holds_form s c b t x : holds c x -> holds (form_around q' s c b t) (form s x b t).
    Proof.
      intros H. unfold form_around, form. apply holds_mul; [apply holds_mul; [apply holds_sub; [|assumption] | apply Q'] |].
      - destruct (b =? at_value s)%nat; apply holds_whole.
      - destruct (upward s); apply holds_whole.
    Qed.

    Lemma leaf_holds low high sigma m :
      holds (leaf_around q' mass' K' low high sigma m)
        (value sigma * value K + (1 + value sigma) * ln (sum values (fun a => exp (value sigma * ln (sum (cells a) (fun t =>
          mass masses a t * exp (linear values outputs q (fun a y => value (low a y)) (fun a y => value (high a y))
            (fun a y => value (entry m a y)) a t / value sigma))) / (1 + value sigma))))).
    Proof.
      unfold leaf_around.
      assert (L : forall a y, holds (table2 (length masses) (length outputs) (fun a y => around (low a y)) a y) (value (low a y)))
        by (intros a y; apply (holds_table2 _ _ (fun a y => around _)); auto with holds).
      assert (H : forall a y, holds (table2 (length masses) (length outputs) (fun a y => around (high a y)) a y) (value (high a y)))
        by (intros a y; apply (holds_table2 _ _ (fun a y => around _)); auto with holds).
      set (l := table2 _ _ (fun a y => around (low a y))) in *. set (h := table2 _ _ (fun a y => around (high a y))) in *.
      assert (F : forall a y, holds (table2 (length masses) (length outputs) (fun a y => phi_around (l a y)) a y) (phi (value (low a y))))
        by (intros a y; apply (holds_table2 _ _ (fun a y => phi_around _)); auto with holds).
      set (phi_l := table2 _ _ (fun a y => phi_around (l a y))) in *.
      assert (S : forall a y, holds (table2 (length masses) (length outputs) (fun a y => (phi_around (h a y) -i phi_l a y) /i (h a y -i l a y)) a y)
        (slope (value (low a y)) (value (high a y))))
        by (intros a y; apply (holds_table2 _ _ (fun a y => _ /i _)); unfold slope; auto with holds).
      set (slopes := table2 _ _ (fun a y => (phi_around (h a y) -i phi_l a y) /i _)) in *.
      apply holds_add; [auto with holds|]. apply holds_mul; [auto with holds|]. apply holds_ln, holds_sum. intros a A.
      apply holds_exp, holds_div; [|auto with holds]. apply holds_mul; [auto with holds|]. apply holds_ln, holds_sum. intros t T.
      apply holds_mul; [apply M'|]. apply holds_exp, holds_div; [|auto with holds]. unfold linear. apply holds_sum. intros y Y.
      apply holds_mul; [apply Q'|]. apply (holds_table2 _ _ (fun a y => _ +i _)). unfold coefficient.
      apply holds_add; [auto with holds|]. apply (holds_table _ (fun y => sum_around _ _)). apply holds_sum. intros b B.
      unfold height. auto 7 with holds.
    Qed.

    Lemma leaf_sound low high sigma m : box low high -> leaf_right q' mass' K' upper' low high sigma m = true -> learnt <= value upper.
    Proof.
      intros B H. unfold leaf_right in H. apply andb_prop in H as [H U]. apply andb_prop in H as [L S].
      apply (at_most_le _ _ _ _ (leaf_holds low high sigma m) HU) in U. apply Rle_trans with (2 := U).
      apply posteriors_bound; try assumption.
      - intros a y A Y. pose proof (all_true _ _ L a A) as L'. cbv beta in L'.
        apply (at_most_le _ _ _ _ (holds_whole 0) (holds_around _) (all_true _ _ L' y Y)).
      - apply (less_lt _ _ _ _ (holds_whole 0) (holds_around _) S).
    Qed.

    (** A bound on a posterior is a bound on a sum over cells. *)
    Lemma form_over s c : In (at_value s) values ->
      over values cells (fun b t => pi b t * form s c b t)
        = (joint cells pi q (at_value s) (at_output s) - c * seen values cells pi q (at_output s)) * (if upward s then 1 else -1).
    Proof.
      intros A. unfold over, form. destruct s as [up a y]; simpl in *.
      rewrite (sum_ext values _ (fun b => ((if (b =? a)%nat then joint cells pi q b y else 0) - c * joint cells pi q b y) * (if up then 1 else -1))).
      - rewrite sum_scale_r, sum_minus, sum_scale, sum_single; [reflexivity | apply seq_NoDup | assumption].
      - intros b B. unfold joint. destruct (b =? a)%nat.
        + rewrite <- sum_scale, <- sum_minus, <- sum_scale_r. apply sum_ext. intros. ring.
        + replace (0 - c * sum (cells b) (fun t => pi b t * q b t y)) with (sum (cells b) (fun t => - c * (pi b t * q b t y)))
            by (rewrite sum_scale; ring).
          rewrite <- sum_scale_r. apply sum_ext. intros. ring.
    Qed.

    Lemma range s : within_range s = true -> In (at_value s) values /\ In (at_output s) outputs.
    Proof. intros H. apply andb_prop in H as [A Y]. apply Nat.ltb_lt in A, Y. split; now apply in_seq_0. Qed.

    Lemma end_holds low high s : box low high -> within_range s = true ->
      over values cells (fun b t => pi b t * form s (value (end_of low high s)) b t) <= 0.
    Proof.
      intros B R. apply range in R as [A Y]. rewrite form_over by assumption. destruct (B _ _ A Y).
      destruct s as [up a y]; unfold end_of; simpl in *. destruct up; lra.
    Qed.

    Lemma follows_sound low high new c from : box low high -> follows_right q' low high new c from = true ->
      In (at_value new) values -> over values cells (fun b t => pi b t * form new (value c) b t) <= 0.
    Proof.
      intros B H A. unfold follows_right in H. apply andb_prop in H as [S H].
      apply Rle_trans with (over values cells (fun b t => pi b t * sum from (fun old => value (snd old) * form (fst old) (value (end_of low high (fst old))) b t))).
      - apply sum_le. intros b Hb. apply sum_le. intros t Ht. apply Rmult_le_compat_l; [apply P; now split|].
        pose proof (all_true _ _ H b Hb) as H'. cbv beta in H'. apply all_true with (x := t) in H'; [|assumption].
        refine (at_most_le _ _ _ _ _ _ H'); [apply holds_form, holds_around|].
        clear - Q'. induction from as [|[s k] l IH]; simpl; [apply holds_whole|].
        apply holds_add; [|exact IH]. apply holds_mul; [apply holds_around | apply holds_form, holds_around].
      - unfold over. rewrite (sum_ext values _ (fun b => sum from (fun old => value (snd old) *
          sum (cells b) (fun t => pi b t * form (fst old) (value (end_of low high (fst old))) b t)))).
        + rewrite sum_swap. rewrite <- (sum_zero from). apply sum_le. intros old O. rewrite sum_scale.
          pose proof (all_true _ _ S old O) as S'. cbv beta in S'. apply andb_prop in S' as [R N].
          pose proof (end_holds low high (fst old) B R) as E. unfold over in E.
          apply (at_most_le _ _ _ _ (holds_whole 0) (holds_around _)) in N. nra.
        + intros b Hb. rewrite (sum_ext (cells b) _ (fun t => sum from (fun old => value (snd old) * (pi b t * form (fst old) (value (end_of low high (fst old))) b t)))).
          * rewrite sum_swap. apply sum_ext. intros. apply sum_scale.
          * intros t Ht. rewrite <- sum_scale. apply sum_ext. intros. ring.
    Qed.

    Lemma put_high low high a y c : box low high ->
      (In a values -> In y outputs -> joint cells pi q a y <= value c * seen values cells pi q y) -> box low (put high a y c).
    Proof.
      intros B N b x Hb Hx. destruct (B b x Hb Hx) as [B1 B2]. split; [assumption|]. unfold put.
      destruct ((b =? a) && (x =? y))%nat eqn:E; [|assumption].
      apply andb_prop in E as [E1 E2]. apply Nat.eqb_eq in E1, E2. subst. now apply N.
    Qed.

    Lemma put_low low high a y c : box low high ->
      (In a values -> In y outputs -> value c * seen values cells pi q y <= joint cells pi q a y) -> box (put low a y c) high.
    Proof.
      intros B N b x Hb Hx. destruct (B b x Hb Hx) as [B1 B2]. split; [|assumption]. unfold put.
      destruct ((b =? a) && (x =? y))%nat eqn:E; [|assumption].
      apply andb_prop in E as [E1 E2]. apply Nat.eqb_eq in E1, E2. subst. now apply N.
    Qed.

    Lemma nobody_sound low high a y : box low high -> nobody_right q' low high a y = true -> False.
    Proof.
      intros B H. unfold nobody_right in H. apply andb_prop in H as [H Pos]. apply andb_prop in H as [R L].
      apply range in R as [A Y]. simpl in A, Y. apply (less_lt _ _ _ _ (holds_around _) (holds_around _)) in L.
      destruct (B a y A Y).
      assert (0 < seen values cells pi q y).
      { destruct (Rle_lt_or_eq_dec _ _ (seen_nonneg values cells outputs pi q P Channel y Y)) as [|Z]; [assumption | exfalso].
        assert (Zero : over values cells pi = 0).
        { unfold over. rewrite <- (sum_zero values). apply sum_ext. intros b Hb. rewrite <- (sum_zero (cells b)). apply sum_ext. intros t Ht.
          assert (J : joint cells pi q b y = 0).
          { apply (sum_is_zero values (fun b => joint cells pi q b y)); [|now symmetry | assumption].
            intros. now apply (joint_nonneg values cells outputs pi q P Channel). }
          assert (Z' : pi b t * q b t y = 0).
          { apply (sum_is_zero (cells b) (fun t => pi b t * q b t y)); [|exact J | assumption].
            intros t' T'. apply Rmult_le_pos; [now apply (pi_nonneg values cells pi P) | now apply (q_nonneg values cells outputs q Channel)]. }
          pose proof (all_true _ _ Pos b Hb) as L'. cbv beta in L'. apply all_true with (x := t) in L'; [|assumption].
          apply (less_lt _ _ _ _ (holds_whole 0) (Q' t y)) in L'. apply Rmult_integral in Z'. destruct Z' as [|Z']; [assumption|].
          change (q b t y) with (row rows t y) in Z'. simpl in L'. lra. }
        destruct P as [_ One]. lra. }
      nra.
    Qed.

    Lemma tree_sound x : forall low high, box low high -> tree_right q' mass' K' upper' low high x = true -> learnt <= value upper.
    Proof.
      induction x as [sigma m | a y c below IHl above IHr | new c from rest IH | a y]; intros low high B H; simpl in H.
      - now apply (leaf_sound low high sigma m).
      - apply andb_if in H as [L R].
        destruct (Rle_dec (joint cells pi q a y) (value c * seen values cells pi q y)).
        + apply (IHl low (put high a y c)); [apply put_high; auto | assumption].
        + apply (IHr (put low a y c) high); [apply put_low; auto; intros; lra | assumption].
      - apply andb_if in H as [F R]. pose proof (follows_sound low high new c from B F) as N.
        destruct new as [up a y]; simpl in *. destruct up.
        + apply (IH low (put high a y c)); [apply put_high; auto | assumption].
          intros A Y. specialize (N A). rewrite form_over in N by assumption. simpl in N. lra.
        + apply (IH (put low a y c) high); [apply put_low; auto | assumption].
          intros A Y. specialize (N A). rewrite form_over in N by assumption. simpl in N. lra.
      - exfalso. now apply (nobody_sound low high a y).
    Qed.
  End Sound.

  Theorem posteriors_prove x : posteriors_right x = true -> leaks_at_most values cells outputs (mass masses) q (value K) (value upper).
  Proof.
    intros H p P D. unfold posteriors_right in H. apply andb_prop in H as [H T]. apply andb_prop in H as [R M].
    apply channel with (masses := masses) in R. apply reference in M.
    apply (tree_sound R M (row_around rows) (mass_around rows masses) (around K) (around upper)
      (holds_row rows) (holds_mass rows masses) (holds_around K) (holds_around upper) p P D x (fun _ _ => Whole 0) (fun _ _ => Whole 1)); [|exact T].
    intros a y A Y. simpl. pose proof (joint_nonneg values cells outputs p q P R a y A Y).
    pose proof (joint_le_seen values cells outputs p q P R a y A Y). lra.
  Qed.
End Trees.
