(** * Facts about orders and states that the other files use *)

Require Import List PArith NArith Bool Lia Arith FMapPositive.
From Isovet Require Import History.
Import ListNotations.

(** ** Cells *)
Lemma cell_eqb_eq : forall x y, cell_eqb x y = true <-> x = y.
Proof.
  induction x as [|a x IH]; destruct y as [|b y]; simpl; split; intro E; try discriminate; auto.
  - apply andb_true_iff in E as [E1 E2]. apply Pos.eqb_eq in E1. apply IH in E2. congruence.
  - inversion E; subst. rewrite Pos.eqb_refl. simpl. now apply IH.
Qed.

Lemma cell_eqb_refl : forall x, cell_eqb x x = true.
Proof. intro x. now apply cell_eqb_eq. Qed.

(** ** Positions: where the first element stands of which [f] is true *)
Fixpoint pos {A} (f : A -> bool) (l : list A) : nat :=
  match l with
  | [] => 0
  | x :: r => if f x then 0 else S (pos f r)
  end.

Lemma pos_app_in : forall A (f : A -> bool) l1 l2 x, In x l1 -> f x = true -> pos f (l1 ++ l2) < length l1.
Proof.
  intros A f l1 l2 x. induction l1 as [|a l1 IH]; simpl; intros I F; [easy|].
  destruct (f a) eqn:Fa; [lia|]. destruct I as [->|I]; [congruence|]. specialize (IH I F). lia.
Qed.

Lemma pos_app_out : forall A (f : A -> bool) l1 l2, (forall x, In x l1 -> f x = false) ->
  pos f (l1 ++ l2) = length l1 + pos f l2.
Proof.
  intros A f l1 l2. induction l1 as [|a l1 IH]; simpl; intro F; auto. rewrite F by auto. rewrite IH; auto.
Qed.

Lemma pos_split : forall A (f : A -> bool) l x, In x l -> f x = true ->
  exists y l2, l = firstn (pos f l) l ++ y :: l2 /\ f y = true.
Proof.
  intros A f l x. induction l as [|a l IH]; simpl; intros I F; [easy|]. destruct (f a) eqn:Fa. { exists a, l. auto. }
  destruct I as [->|I]; [congruence|]. destruct (IH I F) as (y & l2 & E & Fy).
  exists y, l2. split; auto. simpl. now rewrite <- E.
Qed.

(** [f] names [x] in [l] *)
Definition names {A} (f : A -> bool) (l : list A) (x : A) := f x = true /\ forall y, In y l -> f y = true -> y = x.

Lemma NoDup_app_not : forall A (l1 l2 : list A) x, NoDup (l1 ++ l2) -> In x l1 -> In x l2 -> False.
Proof.
  intros A l1 l2 x. induction l1 as [|a l1 IH]; simpl; intros N I1 I2; [easy|].
  inversion N as [|? ? N1 N2]; subst. destruct I1 as [->|I1]; auto. apply N1. apply in_or_app. auto.
Qed.

Lemma NoDup_app_l : forall A (l1 l2 : list A), NoDup (l1 ++ l2) -> NoDup l1.
Proof.
  intros A l1 l2. induction l1 as [|a l1 IH]; simpl; intro N; constructor; inversion N; subst; auto.
  intro I. apply H1. apply in_or_app. auto.
Qed.

Lemma before_pos : forall A (f g : A -> bool) l x y, NoDup l -> names f l x -> names g l y ->
  before l x y -> pos f l < pos g l.
Proof.
  intros A f g l x y N [Fx _] [Gy G] (l1 & l2 & -> & I1 & I2). pose proof (pos_app_in A f l1 l2 x I1 Fx).
  rewrite (pos_app_out A g l1 l2). lia.
  intros z I. destruct (g z) eqn:Gz; auto. assert (z = y) by (apply G; auto; apply in_or_app; auto).
  subst z. exfalso. eapply NoDup_app_not; eauto.
Qed.

Lemma before_in : forall A (l : list A) x y, before l x y -> In x l /\ In y l.
Proof. intros A l x y (l1 & l2 & -> & I1 & I2). split; apply in_or_app; auto. Qed.

Lemma before_cons : forall A (l : list A) x y z, before (z :: l) x y <-> (z = x /\ In y l) \/ before l x y.
Proof.
  intros A l x y z. split.
  - intros (l1 & l2 & E & I1 & I2). destruct l1 as [|z' l1]; [easy|]. inversion E; subst z' l.
    destruct I1 as [->|I1]; [left|right].
    + split; auto. apply in_or_app. now right.
    + exists l1, l2. auto.
  - intros [[-> I]|(l1 & l2 & -> & I1 & I2)].
    + exists [x], l. simpl. auto.
    + exists (z :: l1), l2. simpl. auto.
Qed.

Lemma before_nth : forall A (l : list A) x y, before l x y ->
  exists n m, n < m /\ nth_error l n = Some x /\ nth_error l m = Some y.
Proof.
  intros A l x y (l1 & l2 & -> & I1 & I2). apply In_nth_error in I1 as [n E1]. apply In_nth_error in I2 as [m E2].
  assert (n < length l1). { apply nth_error_Some. congruence. }
  exists n, (length l1 + m). split; [lia|]. split; [now rewrite nth_error_app1|].
  rewrite nth_error_app2 by lia. now replace (length l1 + m - length l1) with m by lia.
Qed.

Lemma nth_once : forall A (l : list A) n m x, NoDup l -> nth_error l n = Some x -> nth_error l m = Some x -> n = m.
Proof.
  intros A l n m x N E1 E2. assert (n < length l). { apply nth_error_Some. congruence. }
  apply (proj1 (NoDup_nth_error l) N n m); auto. congruence.
Qed.

(** In a list in which nothing stands twice there are no two ways around. *)
Lemma before_no_cycle : forall A (l : list A) x y z, NoDup l -> before l x y -> before l y z -> before l z x -> False.
Proof.
  intros A l x y z N B1 B2 B3.
  apply before_nth in B1 as (a & b & L1 & Ea & Eb). apply before_nth in B2 as (c & d & L2 & Ec & Ed).
  apply before_nth in B3 as (e & f & L3 & Ee & Ef).
  pose proof (nth_once _ _ _ _ _ N Eb Ec). pose proof (nth_once _ _ _ _ _ N Ed Ee).
  pose proof (nth_once _ _ _ _ _ N Ea Ef). lia.
Qed.

Lemma before_irrefl : forall A (l : list A) x, NoDup l -> ~ before l x x.
Proof. intros A l x N B. eauto using before_no_cycle. Qed.

Lemma before_trans : forall A (l : list A) x y z, NoDup l -> before l x y -> before l y z -> before l x z.
Proof.
  intros A l x y z N (l1 & l2 & -> & I1 & I2) (m1 & m2 & E & J1 & J2).
  exists l1, l2. repeat split; auto. destruct (app_eq_app _ _ _ _ E) as (r & [[E1 E2]|[E1 E2]]).
  - exfalso. apply (NoDup_app_not _ _ _ y N); auto. rewrite E1. apply in_or_app. now left.
  - rewrite E2. apply in_or_app. now right.
Qed.

(** ** Effects *)
Lemma effect1_other : forall o k s, writes1 k o = false -> effect1 o s k = s k.
Proof.
  intros [j x|p ks|j x|j e] k s W; simpl in *; auto; unfold put; rewrite Pos.eqb_sym in W; now rewrite W.
Qed.

Lemma effect_other : forall os k s, writes k os = false -> effect os s k = s k.
Proof.
  unfold writes. induction os as [|o os IH]; simpl; intros k s W; auto.
  apply orb_false_iff in W as [W1 W2]. rewrite IH by auto. now apply effect1_other.
Qed.

(** What a transaction makes of a key depends on what the key held and on nothing else. *)
Lemma effect_local : forall os k s s', s k = s' k -> effect os s k = effect os s' k.
Proof.
  induction os as [|o os IH]; simpl; intros k s s' E; auto.
  apply IH. destruct o as [j x|p ks|j x|j e]; simpl; auto; unfold put.
  - destruct (Pos.eqb_spec k j); auto.
  - destruct (Pos.eqb_spec k j); auto. subst. congruence.
Qed.

Lemma explained_ext : forall os s s', (forall k, s k = s' k) -> explained os s -> explained os s'.
Proof.
  induction os as [|o os IH]; simpl; intros s s' E; auto. intros [S X]. split.
  - destruct o; simpl in *; auto; try congruence. intro j. rewrite <- E. auto.
  - apply IH with (s := effect1 o s); auto. intro j. destruct o; simpl; auto; unfold put; rewrite ?E; auto.
Qed.

(** ** The state after some events *)
Fixpoint after (s : state) (es : list event) : state :=
  match es with
  | [] => s
  | Begin _ :: r => after s r
  | Commit t :: r => after (effect (ops t) s) r
  end.

Lemma after_app : forall a b s, after s (a ++ b) = after (after s a) b.
Proof. induction a as [|[t|t] a IH]; simpl; auto. Qed.

Lemma runs_si_app : forall a b s, runs_si s (a ++ b) <-> runs_si s a /\ runs_si (after s a) b.
Proof. induction a as [|[t|t] a IH]; simpl; intros b s; try rewrite IH; tauto. Qed.

(** Who wrote a key last *)
Fixpoint last_writer (k : key) (es : list event) (w : option txn) : option txn :=
  match es with
  | [] => w
  | Begin _ :: r => last_writer k r w
  | Commit t :: r => last_writer k r (if writes k (ops t) then Some t else w)
  end.

Lemma last_writer_app : forall k a b w, last_writer k (a ++ b) w = last_writer k b (last_writer k a w).
Proof. induction a as [|[t|t] a IH]; simpl; auto. Qed.

Lemma last_writer_none : forall k es, last_writer k es None = None ->
  (forall t, In (Commit t) es -> writes k (ops t) = false) /\ forall s, after s es k = s k.
Proof.
  intros k es. induction es as [|e es IH] using rev_ind; simpl; [easy|].
  rewrite last_writer_app. destruct e as [t|t]; simpl; intro L.
  - destruct (IH L) as [A B]. split.
    + intros u I. apply in_app_or in I. destruct I as [I|[I|[]]]; [auto|discriminate].
    + intro s. rewrite after_app. simpl. auto.
  - destruct (writes k (ops t)) eqn:W; [discriminate|]. destruct (IH L) as [A B]. split.
    + intros u I. apply in_app_or in I. destruct I as [I|[I|[]]]; [auto|]. now inversion I; subst.
    + intro s. rewrite after_app. simpl. rewrite effect_other; auto.
Qed.

Lemma last_writer_some : forall k es t, last_writer k es None = Some t ->
  exists a b, es = a ++ Commit t :: b /\ writes k (ops t) = true /\
    (forall u, In (Commit u) b -> writes k (ops u) = false) /\
    forall s, after s es k = effect (ops t) (after s a) k.
Proof.
  intros k es t. induction es as [|e es IH] using rev_ind; simpl; [easy|]. rewrite last_writer_app.
  assert (K : last_writer k es None = Some t -> (forall s, after s (es ++ [e]) k = after s es k) ->
    (forall u, e = Commit u -> writes k (ops u) = false) ->
    exists a b, es ++ [e] = a ++ Commit t :: b /\ writes k (ops t) = true /\
    (forall u, In (Commit u) b -> writes k (ops u) = false) /\
    forall s, after s (es ++ [e]) k = effect (ops t) (after s a) k).
  { intros L X N. destruct (IH L) as (a & b & -> & W & B & S). exists a, (b ++ [e]).
    rewrite <- app_assoc. simpl. repeat split; auto.
    - intros u I. apply in_app_or in I. destruct I as [I|[I|[]]]; auto.
    - intro s. rewrite <- S, <- X, <- app_assoc. reflexivity. }
  destruct e as [u|u]; simpl; intro L.
  - apply K; auto. { intro s. now rewrite after_app. } intros ? E; discriminate.
  - destruct (writes k (ops u)) eqn:W.
    + inversion L; subst u. exists es, []. repeat split; auto; [easy|]. intro s. now rewrite after_app.
    + apply K; auto. { intro s. rewrite after_app. simpl. now rewrite effect_other. } now intros ? [= <-].
Qed.
