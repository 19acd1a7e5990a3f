(** * Paths, and how a finite relation without cycles is put in order *)

Require Import List.
From Isovet Require Import History Orders.
Import ListNotations.

Inductive path {A} (R : A -> A -> Prop) : A -> A -> Prop :=
| step x y : R x y -> path R x y
| steps x y z : R x y -> path R y z -> path R x z.

Definition acyclic {A} (R : A -> A -> Prop) := forall x, ~ path R x x.

Lemma path_trans : forall A (R : A -> A -> Prop) x y z, path R x y -> path R y z -> path R x z.
Proof. intros A R x y z P. induction P; eauto using steps. Qed.

Lemma path_in : forall A (R Q : A -> A -> Prop), (forall x y, R x y -> path Q x y) ->
  forall x y, path R x y -> path Q x y.
Proof. intros A R Q S x y P. induction P; eauto using path_trans. Qed.

Lemma before_insert : forall A (l1 l2 : list A) x a b, before (l1 ++ l2) a b -> before (l1 ++ x :: l2) a b.
Proof.
  intros A l1. induction l1 as [|z l1 IH]; simpl; intros l2 x a b B; apply before_cons; auto.
  apply before_cons in B as [[-> I]|B]; auto. left. split; auto. rewrite in_app_iff in *. simpl. intuition.
Qed.

Lemma sorted : forall A (l : list A) (R : A -> A -> Prop), (forall x y, {R x y} + {~ R x y}) -> NoDup l -> acyclic R ->
  exists o, NoDup o /\ (forall x, In x o <-> In x l) /\ forall x y, In x l -> In y l -> R x y -> before o x y.
Proof.
  intros A l. induction l as [|x l IH]; intros R dec N Ac. { exists []. repeat split; auto; easy. }
  inversion N as [|? ? Nx Nl]; subst. set (R' := fun y z => R y z \/ (R y x /\ R x z)).
  assert (P : forall y z, R' y z -> path R y z). { intros y z [r|[r1 r2]]; eauto using step, steps. }
  destruct (IH R') as (o & No & In_o & B); auto.
  { intros y z. unfold R'. destruct (dec y z), (dec y x), (dec x z); auto; right; tauto. }
  { intros y p. apply (Ac y). eapply path_in; eauto. }
  (* x stands before the first that has to follow it *)
  assert (S : exists o1 o2, o = o1 ++ o2 /\ (forall y, In y o1 -> ~ R x y) /\
    (o2 = [] \/ exists y r, o2 = y :: r /\ R x y)).
  { clear -dec. induction o as [|y o (o1 & o2 & -> & F & G)]. { exists [], []. simpl. auto. } destruct (dec x y).
    - exists [], (y :: o1 ++ o2). simpl. split; auto. split; [easy|]. right. eauto.
    - exists (y :: o1), o2. simpl. split; auto. split; auto. intros z [<-|I]; auto. }
  destruct S as (o1 & o2 & -> & F & G). exists (o1 ++ x :: o2). split; [|split].
  - apply NoDup_Add with (a := x) (l := o1 ++ o2); auto using Add_app. split; auto. now rewrite In_o.
  - intro y. rewrite in_app_iff. simpl. rewrite <- In_o, in_app_iff. tauto.
  - intros y z Iy Iz r. assert (nr : forall w, ~ R w w). { intros w q. apply (Ac w). now apply step. }
    destruct Iy as [<-|Iy], Iz as [<-|Iz].
    + destruct (nr x r).
    + exists (o1 ++ [x]), o2. rewrite <- app_assoc. repeat split; auto. { apply in_elt. }
      apply In_o, in_app_or in Iz. destruct Iz as [Iz|Iz]; auto. destruct (F z Iz r).
    + exists o1, (x :: o2). simpl. repeat split; auto.
      pose proof Iy as Io. apply In_o, in_app_or in Io. destruct Io as [Io|Io]; auto. exfalso.
      destruct G as [->|(w & t & -> & q)]; [easy|]. assert (Iw : In w l). { apply In_o, in_or_app. right. now left. }
      assert (Bw : before (o1 ++ w :: t) y w). { apply B; auto. right. auto. }
      destruct Io as [<-|Io]. { exact (before_irrefl _ _ _ No Bw). }
      apply (before_irrefl _ _ y No). apply (before_trans _ _ y w y); auto.
      exists (o1 ++ [w]), t. rewrite <- app_assoc. repeat split; auto. apply in_elt.
    + apply before_insert. apply B; auto. now left.
Qed.

(** Two lists of the same things in the same order are one. *)
Lemma same_order : forall A (l m : list A), NoDup l -> NoDup m -> (forall x, In x l <-> In x m) ->
  (forall x y, before l x y -> before m x y) -> l = m.
Proof.
  intros A l. induction l as [|x l IH]; intros m Nl Nm I B.
  - destruct m as [|y m]; auto. exfalso. apply (I y). now left.
  - inversion Nl as [|? ? Nx Nl']; subst. destruct m as [|y m]. { exfalso. apply (I x). now left. }
    inversion Nm as [|? ? Ny Nm']; subst. assert (y = x).
    { destruct (proj2 (I y) (or_introl eq_refl)) as [|Iy]; auto.
      destruct (proj1 (I x) (or_introl eq_refl)) as [|Ix]; auto. exfalso.
      apply (before_irrefl _ (y :: m) x); auto. apply (before_trans _ _ x y x); auto.
      - apply B, before_cons. auto.
      - apply before_cons. auto. }
    subst y. f_equal. apply IH; auto.
    + intro z. specialize (I z). simpl in I. split; intro Iz.
      * destruct (proj1 I (or_intror Iz)) as [<-|]; auto. contradiction.
      * destruct (proj2 I (or_intror Iz)) as [<-|]; auto. contradiction.
    + intros a b Bab. assert (Q : before (x :: m) a b). { apply B, before_cons. auto. }
      apply before_cons in Q as [[<- _]|]; auto. apply before_in in Bab. tauto.
Qed.

Lemma before_prefix : forall A (P Q : list A) e x, NoDup (P ++ e :: Q) -> (before (P ++ e :: Q) x e <-> In x P).
Proof.
  intros A P Q e x N. split.
  - intros (l1 & l2 & E & I1 & I2). symmetry in E. apply app_eq_app in E as (r & [[E1 E2]|[E1 E2]]).
    + destruct r as [|y r].
      * rewrite app_nil_r in E1. now subst.
      * simpl in E2. inversion E2; subst y Q. exfalso. apply (NoDup_app_not _ (P ++ e :: r) l2 e); auto.
        { rewrite <- app_assoc. exact N. } apply in_elt.
    + rewrite E1. apply in_or_app. now left.
  - intro I. exists P, (e :: Q). simpl. auto.
Qed.
