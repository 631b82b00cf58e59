(** Designs: what no mechanism can do better than, by weak duality over a pool of priors (6.3), and what the designed one does.

    The bound is proved for mechanisms on datasets, not on classes of them: a prior stands in the pool once for every record
    and every renaming of values under which the problem stays the same. *)
From Coq Require Import Reals Lra ZArith List Arith Bool.
From Dalenius Require Import Sums Information Lumping Numbers Tables Duality Audit.
Import ListNotations.
Local Open Scope R_scope.

(** A prior about one record, by its value and the answer: the mass of each such dataset before division by their sum;
    logarithms of ratios by value and output; and the weight, lambda. *)
Record belief := Belief { weight : number; about : nat; density : list (list number); logs : list (list number) }.

(** The least of finitely many numbers. *)
Definition least_of {T} (l : list T) (f : T -> R) (start : R) : R := - fold_right (fun y m => Rmax (- f y) m) (- start) l.
Definition least_around {T} (l : list T) (f : T -> I.type) (start : I.type) : I.type :=
  I.neg (fold_right (fun y m => max_around (I.neg (f y)) m) (I.neg start) l).

Lemma least_is_least {T} (l : list T) f start y : In y l -> least_of l f start <= f y.
Proof.
  unfold least_of. induction l as [|z l IH]; simpl; [easy|]. intros [->|H].
  - pose proof (Rmax_l (- f y) (fold_right (fun y m => Rmax (- f y) m) (- start) l)). lra.
  - specialize (IH H). pose proof (Rmax_r (- f z) (fold_right (fun y m => Rmax (- f y) m) (- start) l)). lra.
Qed.

Lemma holds_least {T} (l : list T) f g start start' :
  (forall y, In y l -> holds (f y) (g y)) -> holds start start' -> holds (least_around l f start) (least_of l g start').
Proof.
  intros H S. apply holds_neg. induction l as [|y l IH]; simpl; [now apply holds_neg|].
  apply holds_max; [apply holds_neg, H; now left | apply IH; intros; apply H; now right].
Qed.

(** A mean is reached by some of its terms. *)
Lemma some_reach {T} (l : list T) (w f : T -> R) c :
  (forall k, In k l -> 0 <= w k) -> 0 < sum l w -> c * sum l w <= sum l (fun k => w k * f k) -> exists k, In k l /\ c <= f k.
Proof.
  induction l as [|k l IH]; simpl; intros W P M; [lra|].
  destruct (Rle_dec c (f k)) as [G|G]; [exists k; auto|].
  assert (W' : 0 <= w k) by auto. assert (0 <= sum l w) by (apply sum_nonneg; auto).
  destruct (Rle_lt_or_eq_dec 0 (sum l w)) as [Q|Q]; [assumption| |].
  - destruct IH as (j & J & C); [auto | assumption | nra | exists j; auto].
  - exfalso. assert (Z : sum l (fun k => w k * f k) = 0).
    { rewrite (sum_ext l _ (fun _ => 0)); [apply sum_zero|]. intros j J. rewrite (sum_is_zero l w) by auto. ring. }
    nra.
Qed.

Section Designs.
  (** As in an audit; [data] says how likely every dataset is, by its answer, before division by the sum over datasets;
      [errors] is d, by answer and output. *)
  Variables (sizes : list nat) (answer : list nat -> nat) (rows errors : list (list number)) (data : list number).
  Notation X := (datasets sizes).
  Notation Y := (outputs rows).

  (** Any mechanism on datasets with these outputs; the one that was designed. *)
  Definition mechanism (q : list nat -> nat -> R) : Prop :=
    forall x, In x X -> (forall y, In y Y -> 0 <= q x y) /\ sum Y (q x) = 1.
  Definition designed (x : list nat) (y : nat) : R := row rows (answer x) y.

  (** What it tells about a record under a prior, and its expected error. *)
  Definition tells (q : list nat -> nat -> R) i (p : list nat -> R) : R :=
    information (alphabet sizes i) (having sizes i) Y (fun _ => p) (fun _ => q).
  Definition error x y : R := value (entry errors (answer x) y).
  Definition likely x : R := value (nth (answer x) data (Whole 0)) / sum X (fun x => value (nth (answer x) data (Whole 0))).
  Definition distortion (q : list nat -> nat -> R) : R := sum X (fun x => sum Y (fun y => q x y * (likely x * error x y))).

  (** So what an audit proves of its rows holds for the designed mechanism. *)
  Lemma designed_tells i p : tells designed i p = leakage sizes answer rows i p.
  Proof. reflexivity. Qed.

  Lemma by_record i f : well_formed sizes answer rows i = true ->
    over (alphabet sizes i) (having sizes i) f = sum X (fun x => f (record i x) x).
  Proof.
    intros F. rewrite <- (by_value sizes answer rows i F). apply sum_ext. intros a A. apply sum_ext. intros x I.
    apply in_having in I as [_ <-]. reflexivity.
  Qed.

  Section Belief.
    Variable k : belief.
    Notation i := (about k).
    Definition raw x : R := value (entry (density k) (record i x) (answer x)).
    Definition held x : R := raw x / sum X raw.
    Definition ratio_sum y : R := sum (alphabet sizes i) (fun a => sum (having sizes i a) held * exp (value (entry (logs k) a y))).
    Definition log_ratio a y : R := value (entry (logs k) a y) - ln (ratio_sum y).
    (** W(x,y) of this prior. *)
    Definition says x y : R := held x * log_ratio (record i x) y.

    Definition raw_around x : I.type := around (entry (density k) (record i x) (answer x)).
    Definition held_around : nat -> nat -> I.type :=
      let all := sum_around X raw_around in table2 (length (density k)) (length rows) (fun a t => around (entry (density k) a t) /i all).
    Definition ratio_sum_around (p : nat -> nat -> I.type) y : I.type :=
      sum_around (alphabet sizes i) (fun a => sum_around (having sizes i a) (fun x => p (record i x) (answer x))
        *i I.exp bits (around (entry (logs k) a y))).
    Definition says_around : nat -> nat -> nat -> I.type :=
      let p := held_around in
      let logarithms := table (length Y) (fun y => I.ln bits (ratio_sum_around p y)) in
      let r := table2 (length (logs k)) (length Y) (fun a y => around (entry (logs k) a y) -i logarithms y) in
      fun a t y => p a t *i r a y.

    Definition belief_right (K : number) : bool :=
      let p := held_around in
      (i <? length sizes)%nat && well_formed sizes answer rows i
      && at_most (whole 0) (around (weight k))
      && forallb (fun x => at_most (whole 0) (raw_around x)) X
      && less (whole 0) (sum_around X raw_around)
      && let known := table2 (length (density k)) (length rows) (fun a t => relative (p a t) (whole 1 /i whole (how_many sizes))) in
         at_most (sum_around X (fun x => known (record i x) (answer x))) (around K).

    Lemma holds_held x : holds (held_around (record i x) (answer x)) (held x).
    Proof.
      apply (holds_table2 _ _ (fun a t => around _ /i sum_around X raw_around)). apply holds_div; [apply holds_around|].
      apply holds_sum. intros. apply holds_around.
    Qed.

    Lemma holds_ratio_sum y : holds (ratio_sum_around held_around y) (ratio_sum y).
    Proof. apply holds_sum. intros a A. apply holds_mul; [apply holds_sum; intros; apply holds_held | apply holds_exp, holds_around]. Qed.

    Lemma holds_says x y : holds (says_around (record i x) (answer x) y) (says x y).
    Proof.
      apply holds_mul; [apply holds_held|]. apply (holds_table2 _ _ (fun a y => _ -i _)). apply holds_sub; [apply holds_around|].
      apply (holds_table _ (fun y => I.ln bits _)). apply holds_ln, holds_ratio_sum.
    Qed.

    Section Right.
      Variable K : number.
      Hypothesis Right : belief_right K = true.

      Lemma belief_facts : (i < length sizes)%nat /\ well_formed sizes answer rows i = true /\ 0 <= value (weight k)
        /\ law sizes held /\ knowledge sizes held <= value K.
      Proof.
        pose proof Right as H. unfold belief_right in H.
        apply andb_prop in H as [H Knows]. apply andb_prop in H as [H Some].
        apply andb_prop in H as [H NonNeg]. apply andb_prop in H as [H W]. apply andb_prop in H as [N F].
        assert (S : 0 < sum X raw).
        { refine (less_lt _ _ _ _ (holds_whole 0) (holds_sum _ _ _ _) Some). intros. apply holds_around. }
        split; [now apply Nat.ltb_lt|]. split; [assumption|]. split; [|split].
        - exact (at_most_le _ _ _ _ (holds_whole 0) (holds_around _) W).
        - split.
          + intros x I. apply Rmult_le_pos; [|apply Rlt_le, Rinv_0_lt_compat, S].
            exact (at_most_le _ _ _ _ (holds_whole 0) (holds_around _) (all_true _ _ NonNeg x I)).
          + unfold held, Rdiv. rewrite sum_scale_r. field. lra.
        - refine (at_most_le _ _ _ _ _ (holds_around _) Knows). apply holds_sum. intros x I.
          apply (holds_table2 _ _ (fun a t => relative _ _)). apply holds_relative; [apply holds_held | apply holds_div; apply holds_whole].
      Qed.

      Lemma ratio_sum_positive y : 0 < ratio_sum y.
      Proof.
        destruct belief_facts as (_ & F & _ & [P1 P2] & _).
        set (p := fun a => sum (having sizes i a) held). set (e := fun a => exp (value (entry (logs k) a y))).
        assert (P : forall a, 0 <= p a) by (intros a; apply sum_nonneg; intros x I; apply in_having in I as [I _]; auto).
        assert (E : forall a, 0 < e a) by (intros; apply exp_pos).
        assert (N : forall a, In a (alphabet sizes i) -> 0 <= p a * e a) by (intros; apply Rmult_le_pos; [apply P | apply Rlt_le, E]).
        change (ratio_sum y) with (sum (alphabet sizes i) (fun a => p a * e a)).
        destruct (Rle_lt_or_eq_dec _ _ (sum_nonneg _ _ N)) as [|Z]; [assumption | exfalso]. symmetry in Z.
        assert (O : sum (alphabet sizes i) p = 0).
        { rewrite <- (sum_zero (alphabet sizes i)). apply sum_ext. intros a A. pose proof (sum_is_zero _ _ N Z a A) as T.
          apply Rmult_integral in T as [T|T]; [assumption | specialize (E a); lra]. }
        pose proof (by_value sizes answer rows i F held) as T. unfold over in T. fold p in T. lra.
      Qed.

      Lemma belief_tells q : mechanism q -> sum X (fun x => sum Y (fun y => q x y * says x y)) <= tells q i held.
      Proof.
        intros Q. destruct belief_facts as (_ & F & _ & [P1 P2] & _).
        assert (P : is_prior (alphabet sizes i) (having sizes i) (fun _ => held)).
        { split; [|now rewrite (by_value sizes answer rows i F)]. intros a x [_ I]. apply in_having in I as [I _]. auto. }
        assert (C : is_channel (alphabet sizes i) (having sizes i) Y (fun _ => q)).
        { intros a x [_ I]. apply in_having in I as [I _]. auto. }
        set (ratio := fun a y => exp (log_ratio a y)).
        assert (Sub : forall y, In y Y -> sum (alphabet sizes i) (fun a => total (having sizes i) (fun _ => held) a * ratio a y) <= 1).
        { intros y _. right. pose proof (ratio_sum_positive y). unfold ratio, log_ratio, Rminus, total.
          rewrite (sum_ext _ _ (fun a => sum (having sizes i a) held * exp (value (entry (logs k) a y)) * / ratio_sum y))
            by (intros; rewrite exp_plus, exp_Ropp, exp_ln by assumption; ring).
          rewrite sum_scale_r. fold (ratio_sum y). field. lra. }
        pose proof (variational (alphabet sizes i) (having sizes i) Y (fun _ => held) (fun _ => q) ratio P C (fun a y _ _ => exp_pos _) Sub) as V.
        rewrite (by_record i _ F) in V. apply Rle_trans with (2 := V).
        right. apply sum_ext. intros x I. rewrite <- sum_scale. apply sum_ext. intros y J. unfold says, ratio. rewrite ln_exp. ring.
      Qed.
    End Right.
  End Belief.

  Section Pool.
    Variables (pool : list belief) (K price : number).

    Definition weights : R := sum pool (fun k => value (weight k)).
    Definition weights_around : I.type := sum_around pool (fun k => around (weight k)).
    Definition cost x y : R := value price * (likely x * error x y).
    Definition all_say x y : R := sum pool (fun k => value (weight k) * says k x y).
    Definition bound : R := sum X (fun x => least_of Y (fun y => cost x y + all_say x y) (cost x O + all_say x O)).

    Definition data_around x : I.type := around (nth (answer x) data (Whole 0)).
    Definition error_around : nat -> nat -> I.type :=
      let all := sum_around X data_around in
      table2 (length rows) (length Y) (fun t y => around (nth t data (Whole 0)) /i all *i around (entry errors t y)).
    Definition bound_around : I.type :=
      let e := error_around in let p := around price in
      let say := map (fun k => (k, around (weight k), says_around k)) pool in
      let term x y := p *i e (answer x) y
        +i sum_around say (fun s => let '(k, w, f) := s in w *i f (record (about k) x) (answer x) y) in
      sum_around X (fun x => least_around Y (term x) (term x O)).

    Lemma holds_error x y : holds (error_around (answer x) y) (likely x * error x y).
    Proof.
      apply (holds_table2 _ _ (fun t y => _ *i _)). apply holds_mul; [apply holds_div|]; try apply holds_around.
      apply holds_sum. intros. apply holds_around.
    Qed.

    Lemma holds_bound : holds bound_around bound.
    Proof.
      assert (E : forall x y, holds (around price *i error_around (answer x) y
        +i sum_around (map (fun k => (k, around (weight k), says_around k)) pool) (fun s => let '(k, w, f) := s in w *i f (record (about k) x) (answer x) y))
        (cost x y + all_say x y)).
      { intros x y. apply holds_add; [apply holds_mul; [apply holds_around | apply holds_error]|].
        unfold all_say. induction pool as [|k l IH]; [apply holds_whole|]. simpl. apply holds_add; [|exact IH].
        apply holds_mul; [apply holds_around | apply holds_says]. }
      apply holds_sum. intros x I. apply holds_least; auto.
    Qed.

    Definition pool_right : bool := forallb (fun k => belief_right k K) pool.

    (** Weak duality: sum_x min_y [ nu P_0 d + W ] <= sum_k lambda_k I_k + nu E d, for every mechanism. *)
    Theorem pooled q : pool_right = true -> mechanism q ->
      bound <= sum pool (fun k => value (weight k) * tells q (about k) (held k)) + value price * distortion q.
    Proof.
      intros R Q.
      assert (W : sum X (fun x => sum Y (fun y => q x y * all_say x y)) <= sum pool (fun k => value (weight k) * tells q (about k) (held k))).
      { rewrite (sum_ext X _ (fun x => sum pool (fun k => value (weight k) * sum Y (fun y => q x y * says k x y)))).
        - rewrite sum_swap. apply sum_le. intros k I. rewrite sum_scale.
          pose proof (all_true _ _ R k I) as B. cbv beta in B. destruct (belief_facts k K B) as (_ & _ & W & _).
          apply Rmult_le_compat_l; [exact W | exact (belief_tells k K B q Q)].
        - intros x I. unfold all_say. rewrite (sum_ext Y _ (fun y => sum pool (fun k => value (weight k) * (q x y * says k x y)))).
          + rewrite sum_swap. apply sum_ext. intros. apply sum_scale.
          + intros. rewrite <- sum_scale. apply sum_ext. intros. ring. }
      pose proof (weak_duality X Y q cost all_say (fun x => least_of Y (fun y => cost x y + all_say x y) (cost x O + all_say x O))
        _ Q (fun x y _ J => least_is_least Y (fun y => cost x y + all_say x y) _ y J) W) as D.
      assert (E : sum X (fun x => sum Y (fun y => q x y * cost x y)) = value price * distortion q).
      { unfold distortion. rewrite <- sum_scale. apply sum_ext. intros x I. rewrite <- sum_scale. apply sum_ext. intros. unfold cost. ring. }
      unfold bound. lra.
    Qed.

    (** "eps(D,b) >= sum_c min_y [ W(c,y) + nu P_0(c) d(c,y) ] - nu D", with weights that need not sum to one. *)
    Definition leakage_right (budget lower : number) : bool :=
      at_most (whole 0) (around price) && less (whole 0) weights_around && pool_right
      && at_most (around lower *i weights_around) (bound_around -i around price *i around budget).

    Lemma holds_weights : holds weights_around weights.
    Proof. apply holds_sum. intros. apply holds_around. Qed.

    Theorem least_leakage budget lower : leakage_right budget lower = true ->
      forall q, mechanism q -> distortion q <= value budget ->
      exists i p, (i < length sizes)%nat /\ law sizes p /\ knowledge sizes p <= value K /\ value lower <= tells q i p.
    Proof.
      intros H q Q D. unfold leakage_right in H. apply andb_prop in H as [H B]. apply andb_prop in H as [H R]. apply andb_prop in H as [N P].
      apply (at_most_le _ _ _ _ (holds_whole 0) (holds_around _)) in N.
      apply (less_lt _ _ _ _ (holds_whole 0) holds_weights) in P.
      apply (at_most_le _ _ _ _ (holds_mul _ _ _ _ (holds_around _) holds_weights)
        (holds_sub _ _ _ _ holds_bound (holds_mul _ _ _ _ (holds_around _) (holds_around _)))) in B.
      pose proof (pooled q R Q) as G.
      assert (F : forall k, In k pool -> belief_right k K = true) by (intros k I; exact (all_true _ _ R k I)).
      destruct (some_reach pool (fun k => value (weight k)) (fun k => tells q (about k) (held k)) (value lower)) as (k & I & L).
      - intros k I. now destruct (belief_facts k K (F k I)) as (_ & _ & W & _).
      - exact P.
      - fold weights. assert (value price * distortion q <= value price * value budget) by (apply Rmult_le_compat_l; assumption). lra.
      - destruct (belief_facts k K (F k I)) as (A & _ & _ & B1 & B2). exists (about k), (held k). auto.
    Qed.

    (** "D(L,b) >= sum_c min_y [ P_0(c) d(c,y) + W(c,y) ] - L sum_k lambda_k": here with a price of distortion above 0. *)
    Definition distortion_right (budget lower : number) : bool :=
      less (whole 0) (around price) && pool_right
      && at_most (around lower *i around price) (bound_around -i around budget *i weights_around).

    Theorem least_distortion budget lower : distortion_right budget lower = true ->
      forall q, mechanism q ->
      (forall i p, (i < length sizes)%nat -> law sizes p -> knowledge sizes p <= value K -> tells q i p <= value budget) ->
      value lower <= distortion q.
    Proof.
      intros H q Q L. unfold distortion_right in H. apply andb_prop in H as [H B]. apply andb_prop in H as [P R].
      apply (less_lt _ _ _ _ (holds_whole 0) (holds_around _)) in P.
      apply (at_most_le _ _ _ _ (holds_mul _ _ _ _ (holds_around _) (holds_around _))
        (holds_sub _ _ _ _ holds_bound (holds_mul _ _ _ _ (holds_around _) holds_weights))) in B.
      pose proof (pooled q R Q) as G.
      assert (W : sum pool (fun k => value (weight k) * tells q (about k) (held k)) <= value budget * weights).
      { unfold weights. rewrite <- sum_scale. apply sum_le. intros k I.
        destruct (belief_facts k K (all_true _ _ R k I)) as (A & _ & W & B1 & B2).
        rewrite (Rmult_comm (value budget)). apply Rmult_le_compat_l; auto. }
      apply Rmult_le_reg_r with (value price); [assumption|]. lra.
    Qed.
  End Pool.

  (** What the designed mechanism errs. *)
  Definition errs_around : I.type :=
    let e := error_around in let w := row_around rows in sum_around X (fun x => sum_around Y (fun y => w (answer x) y *i e (answer x) y)).

  Theorem errs_at_most most : at_most errs_around (around most) = true -> distortion designed <= value most.
  Proof.
    apply at_most_le; [|apply holds_around]. apply holds_sum. intros x I. apply holds_sum. intros y J.
    apply holds_mul; [apply holds_row | apply holds_error].
  Qed.
End Designs.
