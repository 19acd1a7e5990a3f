(** * The graphs of the papers

    Adya defines levels by cycles in a serialization graph, the paper on BC-graphs by cycles through begins and commits.
    This file has the graphs; GraphsAgree.v proves that a level holds if and only if there are an order of the versions
    of each key, and versions that the reads saw, whose graph has no cycle. *)

Require Import List PArith NArith Bool FMapPositive.
From Isovet Require Import History Orders Levels Paths.
Import ListNotations.

(** ** What a transaction looks at of what others left: what it reads before it has set the key itself *)
Fixpoint looks (k : key) (os : list op) : bool :=
  match os with
  | [] => false
  | Read j _ :: r => Pos.eqb j k || looks k r
  | Match p _ :: r => PM.mem k p || looks k r
  | Write j _ :: r => negb (Pos.eqb j k) && looks k r
  | Append _ _ :: r => looks k r
  end.

Lemma explained_looks : forall os s s', (forall k, looks k os = true -> s k = s' k) ->
  explained os s -> explained os s'.
Proof.
  induction os as [|o os IH]; simpl; intros s s' E; auto. intros [S X]. split.
  - destruct o as [j x|p ks|j x|j e]; simpl in *; auto.
    + rewrite <- E; auto. now rewrite Pos.eqb_refl.
    + intro k. specialize (S k). unfold matches in *. destruct (PM.find k p) eqn:F; auto.
      rewrite <- E; auto. now rewrite PM.mem_find, F.
  - apply IH with (s := effect1 o s); auto. intros k K. destruct o as [j x|p ks|j x|j e]; simpl in *.
    + apply E. rewrite K. apply orb_true_r.
    + apply E. rewrite K. apply orb_true_r.
    + unfold put. destruct (Pos.eqb_spec k j); auto. apply E. rewrite K. destruct (Pos.eqb_spec j k); [congruence|auto].
    + unfold put. destruct (Pos.eqb_spec k j); auto. subst j. now rewrite E.
Qed.

Definition pred_dec : forall p q : pred, {p = q} + {p <> q}.
Proof.
  unfold pred. fix f 1. intros [|l o r] [|l' o' r']; try (right; discriminate); [now left|].
  destruct (f l l'), (f r r'); try (right; congruence). assert (D : {o = o'} + {o <> o'}) by repeat decide equality.
  destruct D; [left|right]; congruence.
Defined.

Definition op_dec : forall a b : op, {a = b} + {a <> b}.
Proof. pose proof (list_eq_dec Pos.eq_dec). decide equality; first [apply Pos.eq_dec | apply pred_dec | auto]. Defined.

Definition txn_dec : forall a b : txn, {a = b} + {a <> b}.
Proof.
  pose proof (list_eq_dec op_dec). assert (D : forall a b : option N, {a = b} + {a <> b}).
  { decide equality. apply N.eq_dec. }
  decide equality; first [apply Pos.eq_dec | apply N.eq_dec | apply bool_dec | apply D | auto].
Defined.

Definition event_dec : forall a b : event, {a = b} + {a <> b}.
Proof. decide equality; apply txn_dec. Defined.

(** ** The graphs 
    [ts] are the transactions that take part, [vo k] those that write the key [k] in the order of their versions, and
    [src t k] whose version of [k] the transaction [t] saw, [None] the initial one. *)
Section Graphs.
  Variables (L : level) (H : history) (ts : list txn) (vo : key -> list txn) (src : txn -> key -> option txn).

  Definition version_order := forall k, NoDup (vo k) /\ forall t, In t (vo k) <-> In t ts /\ writes k (ops t) = true.

  Definition sources := forall t k w, src t k = Some w -> In w (vo k).

  Definition left_by (k : key) (l : list txn) : cell := after (initial H) (map Commit l) k.

  Fixpoint upto (w : txn) (l : list txn) : list txn := match l with | [] => []
    | t :: r => if txn_dec t w then [t] else t :: upto w r end.

  (** What a key held in the version that [t] saw *)
  Definition version (t : txn) : state := fun k => match src t k with | Some w => left_by k (upto w (vo k))
    | None => initial H k end.

  Definition reads_versions := forall t, In t ts -> explained (ops t) (version t).

  (** Adya's dependencies: write, read (of items and of predicates), and anti-dependency *)
  Definition ww (a b : txn) := exists k, before (vo k) a b.
  Definition wr (a b : txn) := exists k, looks k (ops b) = true /\ src b k = Some a.
  Definition rw (a b : txn) := a <> b /\ exists k, looks k (ops a) = true /\ match src a k with
    | Some w => before (vo k) w b | None => In b (vo k) end.

  (** The serialization graph, with the orders that the level keeps *)
  Definition serialization (a b : txn) := In a ts /\ In b ts /\ (ww a b \/ wr a b \/ rw a b \/ must_precede L H a b).

  (** The graph of begins and commits *)
  Inductive begin_commit : event -> event -> Prop := | own t : In t ts -> begin_commit (Begin t) (Commit t)
  | seen_by a b : In a ts -> In b ts -> ww a b \/ wr a b \/ must_precede L H a b -> begin_commit (Commit a) (Begin b)
  | unseen_by a b : In a ts -> In b ts -> rw a b -> begin_commit (Begin a) (Commit b).

  (** The steps of those cycles of the serialization graph that snapshot isolation forbids: cycles in which no two
      anti-dependencies follow each other. *)
  Definition depends (a b : txn) := In a ts /\ In b ts /\ (ww a b \/ wr a b \/ must_precede L H a b).
  Definition anti_depends (a b : txn) := In a ts /\ In b ts /\ rw a b.
  Definition parted (a b : txn) := depends a b \/ exists m, depends a m /\ anti_depends m b.

  Lemma parted_path : forall a b, parted a b -> path begin_commit (Commit a) (Commit b).
  Proof.
    intros a b [(Ia & Ib & D)|(m & (Ia & Im & D) & (_ & Ib & A))].
    - apply steps with (Begin b). { now apply seen_by. } apply step. now apply own.
    - apply steps with (Begin m). { now apply seen_by. } apply step. now apply unseen_by.
  Qed.

  Lemma path_parted : forall x y, path begin_commit x y -> forall b, y = Commit b ->
    match x with
    | Commit a => path parted a b
    | Begin m => forall a, depends a m -> path parted a b
    end.
  Proof.
    intros x y p. induction p as [x y s|x y z s p IH]; intros b ->.
    - inversion s as [t It|t u It Iu D|t u It Iu A]; subst; intros z D.
      + apply step. now left.
      + apply step. right. exists t. exact (conj D (conj It (conj Iu A))).
    - specialize (IH b eq_refl). destruct s as [t It|t u It Iu D|t u It Iu A]; simpl in IH.
      + intros a D. apply steps with t; auto. now left.
      + apply IH. exact (conj It (conj Iu D)).
      + intros a D. apply steps with u; auto. right. exists t. exact (conj D (conj It (conj Iu A))).
  Qed.

  Lemma parted_acyclic : acyclic begin_commit <-> acyclic parted.
  Proof.
    split; intros A x p.
    - assert (Q : forall u v, path parted u v -> path begin_commit (Commit u) (Commit v)).
      { intros u v q. induction q; eauto using parted_path, path_trans. } exact (A _ (Q x x p)).
    - assert (C : exists a, path begin_commit (Commit a) (Commit a)).
      { destruct x as [m|a]; [|eauto]. inversion p as [? ? s|? y ? s q]; subst; inversion s; subst; eexists;
          eapply path_trans; eauto using step. }
      destruct C as (a & q). apply (A a). exact (path_parted _ _ q a eq_refl).
  Qed.
End Graphs.

Arguments version_order ts vo : clear implicits.

(** ** Which edges there are can be decided *)
Lemma before_dec : forall (l : list txn) a b, {before l a b} + {~ before l a b}.
Proof.
  induction l as [|z l IH]; intros a b. { right. intro B. apply before_in in B. easy. }
  destruct (IH a b) as [B|B]. { left. apply before_cons. auto. }
  destruct (txn_dec z a) as [->|N], (in_dec txn_dec b l) as [I|I]; try (left; apply before_cons; now auto);
    right; rewrite before_cons; intuition.
Qed.

Fixpoint keys_of (os : list op) : list key :=
  match os with
  | [] => []
  | Read k _ :: r | Write k _ :: r | Append k _ :: r => k :: keys_of r
  | Match p _ :: r => map fst (PM.elements p) ++ keys_of r
  end.

Lemma keys_written : forall k os, writes k os = true -> In k (keys_of os).
Proof.
  intros k os. induction os as [|o os IH]; [easy|]. unfold writes in *.
  destruct o as [j x|p ks|j x|j e]; simpl; auto; rewrite ?in_app_iff; auto; destruct (Pos.eqb_spec j k); simpl; auto.
Qed.

Lemma keys_looked : forall k os, looks k os = true -> In k (keys_of os).
Proof.
  intros k os. induction os as [|o os IH]; [easy|]. destruct o as [j x|p ks|j x|j e]; simpl; auto.
  - destruct (Pos.eqb_spec j k); simpl; auto.
  - rewrite in_app_iff, PM.mem_find. destruct (PM.find k p) eqn:F; simpl; auto. intros _. left.
    apply PM.elements_correct in F. apply (in_map fst) in F. exact F.
  - destruct (Pos.eqb_spec j k); simpl; auto.
Qed.

Lemma some_key : forall (P : key -> Prop) l, (forall k, {P k} + {~ P k}) -> (forall k, P k -> In k l) ->
  {exists k, P k} + {~ exists k, P k}.
Proof.
  intros P l D I. destruct (Exists_dec P l D) as [E|E]; [left|right].
  - apply Exists_exists in E as (k & _ & K). eauto.
  - intros (k & K). apply E, Exists_exists. eauto.
Qed.

Lemma must_precede_dec : forall L H a b, {must_precede L H a b} + {~ must_precede L H a b}.
Proof.
  intros L H a b. unfold must_precede.
  assert (T : {realtime L = true /\ (exists e, ended a = Some e /\ (e < began b)%N)} +
    {~ (realtime L = true /\ (exists e, ended a = Some e /\ (e < began b)%N))}).
  { destruct (bool_dec (realtime L) true); [|right; tauto]. destruct (ended a) as [n|].
    - destruct (N.ltb n (began b)) eqn:Lt; [apply N.ltb_lt in Lt; left; eauto|]. right.
      intros (_ & x & [= <-] & X). apply N.ltb_lt in X. congruence.
    - right. intros (_ & x & X & _). discriminate. }
  destruct (txn_dec a b), (bool_dec (committed a) true), (bool_dec (sessions L) true),
    (Pos.eq_dec (session a) (session b)), (before_dec (txns H) a b), T; (left; tauto) || (right; tauto).
Qed.

Section Decide.
  Variables (L : level) (H : history) (ts : list txn) (vo : key -> list txn) (src : txn -> key -> option txn).
  Hypothesis V : version_order ts vo.

  Lemma ww_dec : forall a b, {ww vo a b} + {~ ww vo a b}.
  Proof.
    intros a b. apply some_key with (l := keys_of (ops a)). { intro k. apply before_dec. }
    intros k B. apply before_in in B as [I _]. apply V in I as [_ W]. now apply keys_written.
  Qed.

  Lemma wr_dec : forall a b, {wr src a b} + {~ wr src a b}.
  Proof.
    intros a b. apply some_key with (l := keys_of (ops b)).
    - intro k. destruct (bool_dec (looks k (ops b)) true); [|right; tauto].
      destruct (src b k) as [w|]; [|right; intros [_ E]; discriminate].
      destruct (txn_dec w a) as [->|N]; [now left|right]. intros [_ [= E]]. auto.
    - intros k [K _]. now apply keys_looked.
  Qed.

  Lemma rw_dec : forall a b, {rw vo src a b} + {~ rw vo src a b}.
  Proof.
    intros a b. unfold rw. destruct (txn_dec a b); [right; tauto|].
    destruct (some_key (fun k => looks k (ops a) = true /\
      match src a k with Some w => before (vo k) w b | None => In b (vo k) end) (keys_of (ops a))) as [K|K].
    - intro k. destruct (bool_dec (looks k (ops a)) true); [|right; tauto].
      destruct (src a k) as [w|]; [destruct (before_dec (vo k) w b)|destruct (in_dec txn_dec b (vo k))];
        (left; tauto) || (right; tauto).
    - intros k [K _]. now apply keys_looked.
    - left. auto.
    - right. tauto.
  Qed.

  Lemma serialization_dec : forall a b, {serialization L H ts vo src a b} + {~ serialization L H ts vo src a b}.
  Proof.
    intros a b. unfold serialization.
    destruct (in_dec txn_dec a ts), (in_dec txn_dec b ts), (ww_dec a b), (wr_dec a b), (rw_dec a b),
      (must_precede_dec L H a b); (left; tauto) || (right; tauto).
  Qed.

  Lemma begin_commit_dec : forall x y, {begin_commit L H ts vo src x y} + {~ begin_commit L H ts vo src x y}.
  Proof.
    intros [a|a] [b|b].
    - right. inversion 1.
    - destruct (in_dec txn_dec a ts) as [Ia|Ia]; [|right; inversion 1; subst; tauto].
      destruct (txn_dec a b) as [->|N]. { left. now constructor. }
      destruct (in_dec txn_dec b ts) as [Ib|Ib]; [|right; inversion 1; subst; tauto].
      destruct (rw_dec a b); [left; now constructor|right; inversion 1; subst; tauto].
    - destruct (in_dec txn_dec a ts) as [Ia|Ia]; [|right; inversion 1; subst; tauto].
      destruct (in_dec txn_dec b ts) as [Ib|Ib]; [|right; inversion 1; subst; tauto].
      destruct (ww_dec a b), (wr_dec a b), (must_precede_dec L H a b);
        (left; constructor; tauto) || (right; inversion 1; subst; tauto).
    - right. inversion 1.
  Qed.
End Decide.
