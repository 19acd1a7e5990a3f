(** * Tables over a history: transactions by number, writers by key *)

Require Import List PArith NArith Bool Lia FMapPositive.
From Isovet Require Import History Orders.
Import ListNotations.

(** To take [Some x] apart, where [None] can't be *)
Ltac some E x F :=
  match type of E with match ?m with _ => _ end = _ => destruct m as [x|] eqn:F; [|discriminate E]; simpl in E end.

Lemma find_add : forall A (m : PM.t A) i j v, PM.find i (PM.add j v m) = if Pos.eqb i j then Some v else PM.find i m.
Proof.
  intros. destruct (Pos.eqb_spec i j).
  - subst. apply PM.gss.
  - now apply PM.gso.
Qed.

Lemma NoDup_snoc : forall A (l : list A) x, NoDup l -> ~ In x l -> NoDup (l ++ [x]).
Proof.
  induction l as [|y l IH]; simpl; intros x N I.
  - constructor; [easy|constructor].
  - inversion N; subst. constructor; auto. intro J. apply in_app_or in J. simpl in J. intuition.
Qed.

(** Transactions by number, each with its place in the history; [None] if a number stands twice. *)
Fixpoint number (n : N) (ts : list txn) (m : PM.t (N * txn)) : option (PM.t (N * txn)) :=
  match ts with
  | [] => Some m
  | t :: r => if PM.mem (id t) m then None else number (N.succ n) r (PM.add (id t) (n, t) m)
  end.

Definition by_id (H : history) : option (PM.t (N * txn)) := number 0 (txns H) (PM.empty _).

Definition at_place (l : list txn) (i : positive) (x : N * txn) :=
  exists l1 l2, l = l1 ++ snd x :: l2 /\ N.of_nat (length l1) = fst x /\ id (snd x) = i.

Lemma number_ok : forall ts done n m m',
  (forall i x, PM.find i m = Some x -> at_place done i x) ->
  (forall t, In t done -> PM.mem (id t) m = true) ->
  N.of_nat (length done) = n -> NoDup (map id done) ->
  number n ts m = Some m' ->
  NoDup (map id (done ++ ts)) /\
  (forall i x, PM.find i m' = Some x -> at_place (done ++ ts) i x) /\
  (forall t, In t (done ++ ts) -> PM.mem (id t) m' = true).
Proof.
  induction ts as [|t ts IH]; simpl; intros done n m m' F D Ln Nd E.
  - inversion E; subst m'. rewrite app_nil_r. auto.
  - destruct (PM.mem (id t) m) eqn:Mt; [discriminate|].
    assert (Q : done ++ t :: ts = (done ++ [t]) ++ ts) by now rewrite <- app_assoc.
    rewrite Q. eapply IH; [| | | |exact E].
    + intros i x. rewrite find_add. destruct (Pos.eqb_spec i (id t)).
      * intros [= <-]. exists done, []. auto.
      * intro X. destruct (F i x X) as (l1 & l2 & -> & A & B). exists l1, (l2 ++ [t]). rewrite <- app_assoc. auto.
    + intros u I. rewrite PM.mem_find, find_add. destruct (Pos.eqb_spec (id u) (id t)); auto.
      apply in_app_or in I. destruct I as [I|[->|[]]]; [|congruence]. specialize (D u I).
        now rewrite PM.mem_find in D.
    + rewrite app_length. simpl. lia.
    + rewrite map_app. simpl. apply NoDup_snoc; auto. intro I. apply in_map_iff in I as (u & X & I).
      specialize (D u I). congruence.
Qed.

Lemma by_id_ok : forall H m, by_id H = Some m -> well_formed H /\
  (forall i x, PM.find i m = Some x -> at_place (txns H) i x) /\
  (forall t, In t (txns H) -> PM.mem (id t) m = true).
Proof.
  intros H m E. unfold by_id in E. unfold well_formed. apply (number_ok (txns H) [] 0%N (PM.empty _) m); auto.
  - intros i x X. rewrite PM.gempty in X. discriminate.
  - constructor.
Qed.

Lemma at_place_in : forall H i x, at_place (txns H) i x -> In (snd x) (txns H) /\ id (snd x) = i.
Proof. intros H i x (l1 & l2 & -> & _ & E). split; auto. apply in_elt. Qed.

Lemma find_txn : forall H ids i x, by_id H = Some ids -> PM.find i ids = Some x ->
  In (snd x) (txns H) /\ id (snd x) = i.
Proof. intros H ids i x E F. destruct (by_id_ok H ids E) as (_ & A & _). exact (at_place_in _ _ _ (A _ _ F)). Qed.

Lemma same_id : forall H t u, well_formed H -> In t (txns H) -> In u (txns H) -> id t = id u -> t = u.
Proof.
  unfold well_formed. intros H t u. induction (txns H) as [|x l IH]; simpl; intros N It Iu E; [easy|].
  inversion N; subst.
  destruct It as [->|It], Iu as [->|Iu]; auto; exfalso; apply H2; [rewrite E|rewrite <- E]; now apply in_map.
Qed.

Lemma same_txn : forall H ids t u, by_id H = Some ids -> In t (txns H) -> In u (txns H) -> id t = id u -> t = u.
Proof. intros H ids t u E. apply same_id. now apply (by_id_ok H ids). Qed.

Lemma by_id_all : forall H m t, by_id H = Some m -> In t (txns H) -> exists n, PM.find (id t) m = Some (n, t).
Proof.
  intros H m t E I. destruct (by_id_ok H m E) as (WF & F & A). specialize (A t I).
  rewrite PM.mem_find in A. destruct (PM.find (id t) m) as [[n u]|] eqn:X; [|discriminate].
  destruct (find_txn _ _ _ _ E X) as [Iu Eu]. exists n. now rewrite (same_id H t u) by auto.
Qed.

(** Of two transactions the one with the lower place is before the other. *)
Lemma place_before : forall l i j x y, at_place l i x -> at_place l j y -> (fst x < fst y)%N -> before l (snd x) (snd
  y).
Proof.
  intros l i j x y (l1 & l2 & E1 & A1 & _) (m1 & m2 & E2 & A2 & _) Lt.
  assert (G : length l1 < length m1) by lia. clear A1 A2 Lt. subst l.
  revert m1 E2 G. induction l1 as [|a l1 IH]; simpl; intros m1 E2 G.
  - destruct m1 as [|a m1]; simpl in *; [lia|]. injection E2 as E3 E4. subst a l2.
    exists [snd x], (m1 ++ snd y :: m2). simpl. repeat split; auto. apply in_elt.
  - destruct m1 as [|a' m1]; simpl in *; [lia|]. injection E2 as E3 E4. subst a'.
    destruct (IH m1 E4) as (p & q & X & Ip & Iq); [lia|]. rewrite X. exists (a :: p), q. simpl. auto.
Qed.

(** Writers by key. *)
Fixpoint add_writer (t : txn) (os : list op) (done : PM.t unit) (m : PM.t (list txn)) : PM.t (list txn) :=
  match os with
  | [] => m
  | Write k _ :: r | Append k _ :: r =>
      if PM.mem k done then add_writer t r done m
      else add_writer t r (PM.add k tt done)
             (PM.add k (t :: match PM.find k m with Some l => l | None => [] end) m)
  | _ :: r => add_writer t r done m
  end.

Definition writers_of (m : PM.t (list txn)) (k : key) : list txn :=
  match PM.find k m with Some l => l | None => [] end.

Definition writers (H : history) : PM.t (list txn) :=
  fold_left (fun m t => add_writer t (ops t) (PM.empty _) m) (txns H) (PM.empty _).

Lemma writers_of_add : forall m j l k, writers_of (PM.add j l m) k = if Pos.eqb k j then l else writers_of m k.
Proof. intros. unfold writers_of. rewrite find_add. now destruct (Pos.eqb k j). Qed.

Lemma mem_add : forall A (m : PM.t A) j x k, PM.mem k (PM.add j x m) = Pos.eqb k j || PM.mem k m.
Proof. intros. rewrite !PM.mem_find, find_add. now destruct (Pos.eqb k j). Qed.

Lemma add_writer_is : forall t os done m k, writers_of (add_writer t os done m) k =
  if writes k os && negb (PM.mem k done) then t :: writers_of m k else writers_of m k.
Proof.
  intros t os. induction os as [|o os IH]; intros done m k; auto.
  change (writes k (o :: os)) with (writes1 k o || writes k os).
  assert (K : forall j, writes1 k o = Pos.eqb j k -> writers_of (if PM.mem j done then add_writer t os done m else
     add_writer t os (PM.add j tt done) (PM.add j (t :: writers_of m j) m)) k =
    if (writes1 k o || writes k os) && negb (PM.mem k done) then t :: writers_of m k else writers_of m k).
  { intros j ->. destruct (PM.mem j done) eqn:D; rewrite IH.
    - destruct (Pos.eqb_spec j k); auto. subst. now rewrite D, !andb_false_r.
    - rewrite mem_add, writers_of_add, (Pos.eqb_sym k j). destruct (Pos.eqb_spec j k); auto. subst. rewrite D. simpl.
      now rewrite andb_false_r. }
  destruct o as [j x|p ks|j x|j e]; try (exact (K j eq_refl)); simpl; apply IH.
Qed.

Lemma add_writer_keeps : forall t os done m k u,
  In u (writers_of m k) -> In u (writers_of (add_writer t os done m) k).
Proof. intros. rewrite add_writer_is. destruct (_ && _); simpl; auto. Qed.

Lemma writers_all : forall H t k, In t (txns H) -> writes k (ops t) = true -> In t (writers_of (writers H) k).
Proof.
  intros H t k I W. unfold writers. generalize (PM.empty (list txn)). revert I.
  induction (txns H) as [|u l IH]; simpl; intros I m; [easy|]. destruct I as [->|I]; auto.
  assert (J : In t (writers_of (add_writer t (ops t) (PM.empty _) m) k)).
  { rewrite add_writer_is, W, PM.mem_find, PM.gempty. now left. }
  revert J. generalize (add_writer t (ops t) (PM.empty _) m). clear.
  induction l as [|u l IH]; simpl; auto. intros m J. apply IH. now apply add_writer_keeps.
Qed.
