(** Posteriors with secants on a box (4.10, single outputs: eta = 0), and the linear rules by which boxes are cut. *)
From Coq Require Import Reals Lra Psatz List.
From Dalenius Require Import Sums Information Closing.
Import ListNotations.
Local Open Scope R_scope.

(** phi is convex: a line above it at both ends of an interval is above it in between. *)
Lemma phi_tangent u v : 0 <= u -> 0 < v -> phi v + (ln v + 1) * (u - v) <= phi u.
Proof.
  intros U W. assert (B : below u 1) by (repeat split; lra).
  pose proof (tangent u 1 v B W) as T. unfold phi. unfold Rdiv in T. rewrite Rinv_1, !Rmult_1_r in T. lra.
Qed.

Lemma line_above l h v alpha beta :
  0 <= l -> l <= v <= h -> phi l <= alpha * l + beta -> phi h <= alpha * h + beta -> phi v <= alpha * v + beta.
Proof.
  intros L [V1 V2] A B.
  destruct (Req_dec v l) as [->|N]; [assumption|].
  assert (W : 0 < v) by lra.
  pose proof (phi_tangent l v L W). pose proof (phi_tangent h v ltac:(lra) W).
  assert (0 <= (h - v) * (phi l - phi v - (ln v + 1) * (l - v))) by (apply Rmult_le_pos; lra).
  assert (0 <= (v - l) * (phi h - phi v - (ln v + 1) * (h - v))) by (apply Rmult_le_pos; lra).
  assert (0 <= (h - v) * (alpha * l + beta - phi l)) by (apply Rmult_le_pos; lra).
  assert (0 <= (v - l) * (alpha * h + beta - phi h)) by (apply Rmult_le_pos; lra).
  apply Rmult_le_reg_l with (h - l); nra.
Qed.

(** The secant. Where l = h the slope may be anything. *)
Definition slope l h := (phi h - phi l) / (h - l).
Definition height l h := phi l - slope l h * l.

Lemma secant_above l h v : 0 <= l -> l <= v <= h -> phi v <= slope l h * v + height l h.
Proof.
  intros L B. apply line_above with l h; try assumption; unfold height; [lra|].
  destruct (Req_dec l h) as [->|N]; [lra|]. unfold slope. right. field. lra.
Qed.

Section Box.
  Context {V C O : Type}.
  Variables (values : list V) (cells : V -> list C) (outputs : list O).
  Variables (pi rho : V -> C -> R) (q : V -> C -> O -> R).
  Hypotheses (P : is_prior values cells pi) (Ref : is_reference values cells rho) (Q : is_channel values cells outputs q).
  Variables (low high m : V -> O -> R).

  Notation z := (joint cells pi q).
  Notation zy := (seen values cells pi q).

  (** The box: l <= v(a|y) <= h with v = z / z_y, written without the quotient. *)
  Definition in_box : Prop :=
    forall a y, In a values -> In y outputs -> low a y * zy y <= z a y <= high a y * zy y.

  (** "h_c = sum_y q_cy [ alpha_ay + sum_a' beta_a'y + sum_a' max(m h, m l)_a'y - m_ay ]". *)
  Definition coefficient a y : R :=
    slope (low a y) (high a y) - m a y
    + sum values (fun b => height (low b y) (high b y) + Rmax (m b y * high b y) (m b y * low b y)).
  Definition linear a t : R := sum outputs (fun y => q a t y * coefficient a y).

  Hypotheses (Low : forall a y, In a values -> In y outputs -> 0 <= low a y) (Box : in_box).

  (** z_y (alpha v + beta) lies above z_y phi(v), and the terms with m are not negative in the box. *)
  Lemma under_secant a y : In a values -> In y outputs ->
    z a y * ln (z a y / zy y)
      <= z a y * (slope (low a y) (high a y) - m a y)
         + zy y * (height (low a y) (high a y) + Rmax (m a y * high a y) (m a y * low a y)).
  Proof.
    intros A Y. destruct (Box a y A Y) as [B1 B2]. specialize (Low a y A Y).
    pose proof (joint_nonneg values cells outputs pi q P Q a y A Y) as N.
    pose proof (joint_le_seen values cells outputs pi q P Q a y A Y) as S.
    set (w := z a y) in *. set (s := zy y) in *. set (l := low a y) in *. set (h := high a y) in *.
    assert (M : m a y * w <= s * Rmax (m a y * h) (m a y * l)).
    { destruct (Rle_dec 0 (m a y)).
      - apply Rle_trans with (s * (m a y * h)); [nra|]. apply Rmult_le_compat_l; [lra | apply Rmax_l].
      - apply Rle_trans with (s * (m a y * l)); [nra|]. apply Rmult_le_compat_l; [lra | apply Rmax_r]. }
    destruct (Rle_lt_or_eq_dec 0 s ltac:(lra)) as [Z|Z].
    - pose proof (secant_above l h (w / s)) as E.
      assert (l <= w / s <= h) as I.
      { split; apply Rmult_le_reg_r with s; try assumption; unfold Rdiv; rewrite Rmult_assoc, Rinv_l; lra. }
      specialize (E Low I). apply (Rmult_le_compat_l s) in E; [|lra]. unfold phi in E at 1.
      replace (s * (w / s * ln (w / s))) with (w * ln (w / s)) in E by (field; lra).
      replace (s * (slope l h * (w / s) + height l h)) with (w * slope l h + s * height l h) in E by (field; lra).
      lra.
    - assert (w = 0) as -> by lra. rewrite <- Z in *. lra.
  Qed.

  (** The majorant (M) with theta = 1 and eta = 0: I <= H(p) + <pi, h>. *)
  Theorem posteriors_majorant :
    information values cells outputs pi q <= entropy values cells pi + over values cells (fun a t => pi a t * linear a t).
  Proof.
    rewrite (information_posterior values cells outputs pi q P Q). apply Rplus_le_compat_l.
    unfold over, linear.
    rewrite (sum_ext values _ (fun a => sum outputs (fun y => z a y * coefficient a y)))
      by (intros; symmetry; apply joint_linear).
    rewrite (sum_swap values outputs). apply sum_le. intros y Y. unfold coefficient.
    set (common := sum values (fun b => height (low b y) (high b y) + Rmax (m b y * high b y) (m b y * low b y))).
    rewrite (sum_ext values (fun a => z a y * (slope (low a y) (high a y) - m a y + common)) (fun a => z a y * (slope (low a y) (high a y) - m a y) + z a y * common))
      by (intros; ring).
    rewrite sum_plus, sum_scale_r. fold (zy y). unfold common. rewrite <- sum_scale, <- sum_plus.
    apply sum_le. intros a A. now apply under_secant.
  Qed.

  (** "Every prior in the box with D(pi || rho) <= K has
      I <= (1+sigma) log sum_a exp( sigma/(1+sigma) log sum_c rho_c e^(h_c/sigma) ) + sigma K". *)
  Theorem posteriors_bound sigma K :
    0 < sigma -> divergence values cells pi rho <= K ->
    information values cells outputs pi q
      <= sigma * K + (1 + sigma) * ln (sum values (fun a =>
           exp (sigma * ln (sum (cells a) (fun t => rho a t * exp (linear a t / sigma))) / (1 + sigma)))).
  Proof.
    intros S B.
    eapply Rle_trans.
    - apply (closing_linear values cells pi rho P Ref _ K 1 sigma (fun _ => 0) linear); try lra; try (intros; lra).
      rewrite (sum_ext values (fun a => 0 * within cells pi rho a) (fun _ => 0)) by (intros; ring). rewrite sum_zero, Rplus_0_r, Rmult_1_l.
      apply posteriors_majorant.
    - right. do 3 f_equal. apply sum_ext. intros. rewrite Rminus_0_r. f_equal. unfold Rdiv. ring.
  Qed.
End Box.
