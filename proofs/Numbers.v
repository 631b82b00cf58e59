(** Numbers of a certificate, and intervals around them that Coq computes.

    A number is what a certificate states or a mechanism is made of: whole numbers, quotients, exp and log. [value] is
    the real number, [around] an interval that holds it, by Coq-Interval's arithmetic on plain integers: its proofs rest
    on the axioms of the real numbers alone, unlike those of the faster machine integers and floats. *)
From Coq Require Import Reals Lra ZArith List Arith Bool.
From Interval Require Import Float.Specific_ops Float.Specific_stdz Interval.Float_full Interval.Interval Real.Xreal.
From Dalenius Require Import Sums.
Import ListNotations.
Local Open Scope R_scope.

Module F := SpecificFloat StdZRadix2.
Module I := FloatIntervalFull F.

(** Bits of the arithmetic. More make a check slower, and never wrong. *)
Definition bits := F.PtoP 54.

Inductive number :=
  | Whole (z : Z)
  | Binary (z : Z) (places : positive) (* z / 2^places: what a float is *)
  | Plus (x y : number)
  | Minus (x y : number)
  | Times (x y : number)
  | Over (x y : number)
  | Exp (x : number)
  | Log (x : number).

Fixpoint value (x : number) : R :=
  match x with
  | Whole z => IZR z
  | Binary z k => IZR z / IZR (2 ^ Zpos k)
  | Plus x y => value x + value y
  | Minus x y => value x - value y
  | Times x y => value x * value y
  | Over x y => value x / value y
  | Exp x => exp (value x)
  | Log x => ln (value x)
  end.

Definition whole z := I.fromZ bits z.
Notation "i +i j" := (I.add bits i j) (at level 50).
Notation "i -i j" := (I.sub bits i j) (at level 50).
Notation "i *i j" := (I.mul bits i j) (at level 40).
Notation "i /i j" := (I.div bits i j) (at level 40).

Fixpoint around (x : number) : I.type :=
  match x with
  | Whole z => whole z
  | Binary z k => whole z /i whole (2 ^ Zpos k)
  | Plus x y => around x +i around y
  | Minus x y => around x -i around y
  | Times x y => around x *i around y
  | Over x y => around x /i around y
  | Exp x => I.exp bits (around x)
  | Log x => I.ln bits (around x)
  end.

(** The interval [i] holds the real number [x]. *)
Definition holds (i : I.type) (x : R) : Prop := contains (I.convert i) (Xreal x).

Lemma holds_nothing_known x : holds I.nai x.
Proof. unfold holds. now rewrite I.nai_correct. Qed.

(** Where an operation is not defined, the interval is the one about which nothing is known. *)
Lemma undefined i x : contains (I.convert i) Xnan -> holds i x.
Proof. intros N. apply contains_Xnan in N. unfold holds. now rewrite N. Qed.

Lemma holds_whole z : holds (whole z) (IZR z).
Proof. apply I.fromZ_correct. Qed.
Lemma holds_add i j x y : holds i x -> holds j y -> holds (i +i j) (x + y).
Proof. apply I.add_correct. Qed.
Lemma holds_sub i j x y : holds i x -> holds j y -> holds (i -i j) (x - y).
Proof. apply I.sub_correct. Qed.
Lemma holds_mul i j x y : holds i x -> holds j y -> holds (i *i j) (x * y).
Proof. apply I.mul_correct. Qed.
Lemma holds_exp i x : holds i x -> holds (I.exp bits i) (exp x).
Proof. apply I.exp_correct. Qed.
Lemma holds_neg i x : holds i x -> holds (I.neg i) (- x).
Proof. apply I.neg_correct. Qed.
Lemma holds_div i j x y : holds i x -> holds j y -> holds (i /i j) (x / y).
Proof.
  intros X Y. pose proof (I.div_correct bits i j _ _ X Y) as D. simpl in D. unfold Xdiv' in D.
  destruct (is_zero y); [now apply undefined | exact D].
Qed.
Lemma holds_ln i x : holds i x -> holds (I.ln bits i) (ln x).
Proof.
  intros X. pose proof (I.ln_correct bits i _ X) as D. simpl in D. unfold Xln' in D.
  destruct (is_positive x); [exact D | now apply undefined].
Qed.

Lemma holds_around x : holds (around x) (value x).
Proof.
  induction x; cbn [around value]; auto using holds_whole, holds_add, holds_sub, holds_mul, holds_exp, holds_ln, holds_div.
Qed.

(** Comparisons: [true] is a proof, [false] says nothing. *)
Definition at_most (i j : I.type) : bool := match I.sign_large (i -i j) with Xlt | Xeq => true | _ => false end.
Definition less (i j : I.type) : bool := match I.sign_strict (i -i j) with Xlt => true | _ => false end.
Definition zero (i : I.type) : bool := match I.sign_large i with Xeq => true | _ => false end.

Lemma at_most_le i j x y : holds i x -> holds j y -> at_most i j = true -> x <= y.
Proof.
  intros X Y. pose proof (holds_sub _ _ _ _ X Y) as S. unfold at_most.
  pose proof (I.sign_large_correct (i -i j)) as C. destruct (I.sign_large (i -i j)); try discriminate; intros _.
  - specialize (C _ S). injection C. lra.
  - destruct (C _ S) as [_ L]. simpl in L. lra.
Qed.

Lemma less_lt i j x y : holds i x -> holds j y -> less i j = true -> x < y.
Proof.
  intros X Y. pose proof (holds_sub _ _ _ _ X Y) as S. unfold less.
  pose proof (I.sign_strict_correct (i -i j)) as C. destruct (I.sign_strict (i -i j)); try discriminate; intros _.
  destruct (C _ S) as [_ L]. simpl in L. lra.
Qed.

Lemma zero_eq i x : holds i x -> zero i = true -> x = 0.
Proof.
  intros X. unfold zero. pose proof (I.sign_large_correct i) as C. destruct (I.sign_large i); try discriminate; intros _.
  specialize (C _ X). now injection C.
Qed.

(** The functions of this mathematics: x log(x/y), phi, maxima, sums. *)
Definition relative (i j : I.type) : I.type := if zero i then whole 0 else i *i I.ln bits (i /i j).
Definition phi_around (i : I.type) : I.type := if zero i then whole 0 else i *i I.ln bits i.
Definition max_around (i j : I.type) : I.type :=
  if at_most i j then j else if at_most j i then i else I.join i j.
Definition sum_around {X} (l : list X) (f : X -> I.type) : I.type := fold_right (fun x s => f x +i s) (whole 0) l.

Lemma holds_relative i j x y : holds i x -> holds j y -> holds (relative i j) (x * ln (x / y)).
Proof.
  intros X Y. unfold relative. destruct (zero i) eqn:E.
  - rewrite (zero_eq i x X E), Rmult_0_l. apply holds_whole.
  - auto using holds_mul, holds_ln, holds_div.
Qed.

Lemma holds_phi i x : holds i x -> holds (phi_around i) (phi x).
Proof.
  intros X. unfold phi_around, phi. destruct (zero i) eqn:E.
  - rewrite (zero_eq i x X E), Rmult_0_l. apply holds_whole.
  - auto using holds_mul, holds_ln.
Qed.

Lemma holds_max i j x y : holds i x -> holds j y -> holds (max_around i j) (Rmax x y).
Proof.
  intros X Y. unfold max_around. destruct (at_most i j) eqn:A; [|destruct (at_most j i) eqn:B].
  - rewrite Rmax_right; [assumption | now apply (at_most_le i j)].
  - rewrite Rmax_left; [assumption | now apply (at_most_le j i)].
  - apply I.join_correct. unfold Rmax. destruct (Rle_dec x y); [now right | now left].
Qed.

Lemma holds_sum {X} (l : list X) f g : (forall x, In x l -> holds (f x) (g x)) -> holds (sum_around l f) (sum l g).
Proof.
  induction l as [|x l IH]; intros H; simpl; [apply holds_whole|].
  apply holds_add; [apply H; now left | apply IH; intros; apply H; now right].
Qed.

(** A function of a number below [n], computed once for each. *)
Definition table (n : nat) (f : nat -> I.type) : nat -> I.type :=
  let entries := map f (seq 0 n) in fun i => nth i entries I.nai.

Lemma holds_table n f i x : holds (f i) x -> holds (table n f i) x.
Proof.
  intros H. unfold table. destruct (Nat.lt_ge_cases i n) as [L|L].
  - rewrite nth_indep with (d' := f O) by now rewrite map_length, seq_length.
    rewrite map_nth, seq_nth by assumption. exact H.
  - rewrite nth_overflow by now rewrite map_length, seq_length. apply holds_nothing_known.
Qed.

Definition table2 (n m : nat) (f : nat -> nat -> I.type) : nat -> nat -> I.type :=
  let entries := map (fun i => map (f i) (seq 0 m)) (seq 0 n) in fun i j => nth j (nth i entries []) I.nai.

Lemma holds_table2 n m f i j x : holds (f i j) x -> holds (table2 n m f i j) x.
Proof.
  intros H. unfold table2. destruct (Nat.lt_ge_cases i n) as [L|L].
  - rewrite nth_indep with (d' := map (f O) (seq 0 m)) by now rewrite map_length, seq_length.
    rewrite (map_nth (fun i => map (f i) (seq 0 m)) (seq 0 n) O i), seq_nth by assumption. now apply (holds_table m (f i)).
  - rewrite (nth_overflow (map _ (seq 0 n))) by now rewrite map_length, seq_length. destruct j; apply holds_nothing_known.
Qed.

#[export] Hint Resolve holds_whole holds_add holds_sub holds_mul holds_div holds_exp holds_ln holds_neg holds_around holds_relative
  holds_phi holds_max holds_sum holds_table holds_table2 : holds.

(** [forallb] as a statement. *)
Lemma all_true {X} (l : list X) test : forallb test l = true -> forall x, In x l -> test x = true.
Proof. intros H. now apply forallb_forall. Qed.
