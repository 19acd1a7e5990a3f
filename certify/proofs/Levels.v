(** * Which level implies which

    The arrows of docs/levels.md between the six levels. *)

Require Import List PArith NArith Bool Lia Arith.
From Isovet Require Import History Orders.
Import ListNotations.

(** A serial order as an order of begins and commits. *)
Definition flat (order : list txn) : list event := flat_map (fun t => [Begin t; Commit t]) order.

Lemma flat_app : forall a b, flat (a ++ b) = flat a ++ flat b.
Proof. intros. apply flat_map_app. Qed.

Lemma in_flat_begin : forall o t, In (Begin t) (flat o) <-> In t o.
Proof.
  intros o t. unfold flat. rewrite in_flat_map. simpl. split.
  - intros (x & I & [E|[E|[]]]); [now inversion E; subst|discriminate].
  - intro I. exists t. auto.
Qed.

Lemma in_flat_commit : forall o t, In (Commit t) (flat o) <-> In t o.
Proof.
  intros o t. unfold flat. rewrite in_flat_map. simpl. split.
  - intros (x & I & [E|[E|[]]]); [discriminate|now inversion E; subst].
  - intro I. exists t. auto.
Qed.

Lemma NoDup_flat : forall o, NoDup o -> NoDup (flat o).
Proof.
  induction o as [|t o IH]; simpl; intro N; [constructor|]. inversion N; subst. constructor.
  - intros [E|I]; [discriminate|]. apply H1. now apply in_flat_begin.
  - constructor; auto. intro I. apply H1. now apply in_flat_commit.
Qed.

Lemma before_flat : forall o a b, before o a b -> before (flat o) (Commit a) (Begin b).
Proof.
  intros o a b (l1 & l2 & -> & I1 & I2). exists (flat l1), (flat l2).
  rewrite flat_app, in_flat_commit, in_flat_begin. auto.
Qed.

Lemma before_own : forall o t, In t o -> before (flat o) (Begin t) (Commit t).
Proof.
  intros o t I. apply in_split in I as (l1 & l2 & ->).
  exists (flat l1 ++ [Begin t]), (Commit t :: flat l2). rewrite flat_app, <- app_assoc. simpl.
  repeat split; auto. apply in_elt.
Qed.

Lemma before_total : forall A (o : list A) a b, In a o -> In b o -> a <> b -> before o a b \/ before o b a.
Proof.
  intros A o a b Ia Ib N. apply in_split in Ia as (l1 & l2 & ->).
  apply in_app_or in Ib. destruct Ib as [I|[I|I]]; [|congruence|].
  - right. exists l1, (a :: l2). simpl. auto.
  - left. exists (l1 ++ [a]), l2. rewrite <- app_assoc. simpl. repeat split; auto. apply in_elt.
Qed.

Lemma runs_flat : forall o s, runs s o -> runs_si s (flat o).
Proof. induction o; simpl; intuition. Qed.

Lemma flat_order : forall L H o, serial_order L H o -> snapshot_order L H o (flat o).
Proof.
  intros L H o (T & R & M). pose proof T as (N & _).
  split; [exact T|]. split; [now apply NoDup_flat|]. split; [apply in_flat_begin|]. split; [apply in_flat_commit|].
  split; [intros; now apply before_own|]. split; [now apply runs_flat|]. split; [|intros; auto using before_flat].
  intros a b k Ia Ib Ne _ _. destruct (before_total _ o a b); auto using before_flat.
Qed.

(** Serializability gives snapshot isolation, with the same orders kept. *)
Theorem serial_implies_snapshot : forall L H, is_serializable L H -> is_snapshot_isolated L H.
Proof. intros L H (o & O). exists o, (flat o). now apply flat_order. Qed.

(** A level that keeps fewer orders is weaker. *)
Definition keeps_less (L L' : level) : Prop :=
  serial L = serial L' /\ (sessions L' = true -> sessions L = true) /\ (realtime L' = true -> realtime L = true).

Theorem fewer_orders : forall L L' H, keeps_less L L' -> holds L H -> holds L' H.
Proof.
  intros L L' H (S & SE & RT). assert (M : forall a b, must_precede L' H a b -> must_precede L H a b).
  { unfold must_precede. intuition. } unfold holds. rewrite S. destruct (serial L').
  - intros (o & T & R & P). exists o. unfold serial_order. auto 6.
  - intros (ts & o & T & N & B & C & O & R & W & P). exists ts, o. unfold snapshot_order. auto 12.
Qed.

Ltac weaker := intros H; apply fewer_orders; unfold keeps_less; simpl; intuition.

Theorem strict_session : forall H, holds strict_serializable H -> holds session_serializable H.
Proof. weaker. Qed.
Theorem session_plain : forall H, holds session_serializable H -> holds serializable H.
Proof. weaker. Qed.
Theorem strict_session_si : forall H, holds strict_snapshot_isolation H -> holds session_snapshot_isolation H.
Proof. weaker. Qed.
Theorem session_plain_si : forall H, holds session_snapshot_isolation H -> holds snapshot_isolation H.
Proof. weaker. Qed.
Theorem serializable_si : forall H, holds serializable H -> holds snapshot_isolation H.
Proof. intro H. apply serial_implies_snapshot. Qed.
Theorem session_serializable_si : forall H, holds session_serializable H -> holds session_snapshot_isolation H.
Proof. intro H. apply serial_implies_snapshot. Qed.
Theorem strict_serializable_si : forall H, holds strict_serializable H -> holds strict_snapshot_isolation H.
Proof. intro H. apply serial_implies_snapshot. Qed.
