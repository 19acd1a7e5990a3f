(** * What is true of every order that a level allows

    A refutation is an argument about all orders at once.
      A model is what such an argument may use of one of them: who
    takes part, where each transaction begins and commits, and whose version of each key its snapshot holds.  Every
    order that a level allows has a model (theorem [model_exists]); so if the clauses of a refutation, each true of
    every model, can't be true together, the level does not hold. *)

Require Import List PArith NArith Bool Lia Arith FMapPositive.
From Isovet Require Import History Orders Levels Symbolic Table.
Import ListNotations.

Lemma sym_effect_is : forall k os y z s, is y z (s k) -> is (sym_effect k os y) z (effect os s k).
Proof.
  intros k os. induction os as [|o os IH]; simpl; intros y z s I; auto.
  destruct o as [j x|p ks|j x|j e]; apply IH; simpl; auto; unfold put; rewrite (Pos.eqb_sym k j);
    destruct (Pos.eqb_spec j k); auto.
  - reflexivity.
  - subst. destruct y; simpl in *; congruence.
Qed.

Lemma sym_effect_other : forall k os y, writes k os = false -> sym_effect k os y = y.
Proof.
  unfold writes. intros k os. induction os as [|o os IH]; simpl; intros y W; auto. apply orb_false_iff in W as [W1 W2].
  destruct o as [j x|p ks|j x|j e]; simpl in W1; rewrite ?W1; auto.
Qed.

Lemma sym_effect_keep : forall k os s, is (sym_effect k os (Keep [])) (s k) (effect os s k).
Proof. intros. apply sym_effect_is. reflexivity. Qed.

(** Lists: keys to which every transaction only appends *)
Definition only_appended (H : history) (k : key) := forall t, In t (txns H) -> exists p,
  sym_effect k (ops t) (Keep []) = Keep p.

(** ** Models *)
Record model (L : level) (H : history) := {
  counts : positive -> bool;                     (* it takes part *)
  b : positive -> nat;                           (* where it begins *)
  c : positive -> nat;                           (* where it commits *)
  src : positive -> key -> option positive;      (* whose version of the key its snapshot holds;
    None: the initial one *)
  held : positive -> state;                      (* its snapshot *)

  m_committed : forall t, In t (txns H) -> committed t = true -> counts (id t) = true;
  m_in : forall i, counts i = true -> exists t, In t (txns H) /\ id t = i;
  m_order : forall i, counts i = true -> b i <= c i;
  m_serial : forall i, serial L = true -> counts i = true -> b i = c i;
  m_must : forall t u, In t (txns H) -> In u (txns H) -> counts (id t) = true -> counts (id u) = true ->
    must_precede L H t u -> c (id t) < b (id u);
  m_writers : forall t u k, In t (txns H) -> In u (txns H) -> counts (id t) = true -> counts (id u) = true ->
    id t <> id u -> writes k (ops t) = true -> writes k (ops u) = true -> c (id t) < b (id u) \/ c (id u) < b (id t);
  m_explained : forall t, In t (txns H) -> counts (id t) = true -> explained (ops t) (held (id t));
  m_src_none : forall i k, counts i = true -> src i k = None -> held i k = initial H k /\
    forall u, In u (txns H) -> counts (id u) = true -> id u <> i -> writes k (ops u) = true -> b i < c (id u);
  m_src_some : forall i k w, counts i = true -> src i k = Some w ->
    w <> i /\ counts w = true /\ c w < b i /\
    (exists t, In t (txns H) /\ id t = w /\ writes k (ops t) = true /\ held i k = effect (ops t) (held w) k) /\
    forall u, In u (txns H) -> counts (id u) = true -> id u <> i -> id u <> w -> writes k (ops u) = true ->
      c w < c (id u) -> b i < c (id u);
  m_list_in : forall i k e, counts i = true -> only_appended H k ->
    In e (held i k) -> In e (initial H k) \/
    exists t p, In t (txns H) /\ counts (id t) = true /\ id t <> i /\ c (id t) < b i /\
      sym_effect k (ops t) (Keep []) = Keep p /\ In e p;
  m_list_all : forall i k e t p, counts i = true -> only_appended H k ->
    In t (txns H) -> counts (id t) = true -> id t <> i -> sym_effect k (ops t) (Keep []) = Keep p -> In e p ->
    ~ In e (held i k) -> b i < c (id t);
  m_list_order : forall i k e1 e2 t1 t2, counts i = true -> only_appended H k ->
    In t1 (txns H) -> In t2 (txns H) -> id t1 <> id t2 -> before (held i k) e2 e1 ->
    ~ In e1 (initial H k) -> ~ In e2 (initial H k) ->
    (forall u p, In u (txns H) -> sym_effect k (ops u) (Keep []) = Keep p -> In e1 p -> id u = id t1) ->
    (forall u p, In u (txns H) -> sym_effect k (ops u) (Keep []) = Keep p -> In e2 p -> id u = id t2) ->
    counts (id t1) = true /\ counts (id t2) = true /\ c (id t1) < b (id t2)
}.

Arguments counts {L H}. Arguments b {L H}. Arguments c {L H}. Arguments src {L H}. Arguments held {L H}.

(** ** Lists *)
Section Lists.
  Variable k : key.
  Definition only_appends (P : list event) := forall t, In (Commit t) P -> exists p,
    sym_effect k (ops t) (Keep []) = Keep p.

  Lemma after_commit : forall s P t p, sym_effect k (ops t) (Keep []) = Keep p ->
    after s (P ++ [Commit t]) k = p ++ after s P k.
  Proof.
    intros s P t p E. rewrite after_app. simpl.
    pose proof (sym_effect_keep k (ops t) (after s P)) as X. rewrite E in X. exact X.
  Qed.

  Lemma list_in : forall P s e, only_appends P -> In e (after s P k) -> In e (s k) \/
    exists t p, In (Commit t) P /\ sym_effect k (ops t) (Keep []) = Keep p /\ In e p.
  Proof.
    intros P s e. induction P as [|ev P IH] using rev_ind; intros O I; [now left|].
    assert (O' : only_appends P). { intros t It. apply O. apply in_or_app. now left. }
    assert (K : In e (after s P k) -> In e (s k) \/
      exists t p, In (Commit t) (P ++ [ev]) /\ sym_effect k (ops t) (Keep []) = Keep p /\ In e p).
    { intro J. destruct (IH O' J) as [|(t & p & A & B & C)]; auto. right. exists t, p. rewrite in_app_iff. auto. }
    destruct ev as [t|t].
    - apply K. now rewrite after_app in I.
    - destruct (O t) as [p E]. { apply in_elt. }
      rewrite (after_commit _ _ _ _ E) in I. apply in_app_or in I. destruct I as [I|I]; auto.
      right. exists t, p. rewrite in_app_iff. simpl. auto.
  Qed.

  Lemma list_keeps : forall P s e, only_appends P -> In e (s k) -> In e (after s P k).
  Proof.
    induction P as [|ev P IH]; intros s e O I; simpl; auto.
    assert (O' : only_appends P). { intros t It. apply O. now right. }
    destruct ev as [t|t]; auto. apply IH; auto. destruct (O t) as [p E]; [now left|].
    pose proof (sym_effect_keep k (ops t) s) as X. rewrite E in X. simpl in X. rewrite X. apply in_or_app. auto.
  Qed.

  Lemma list_all : forall P s e t p, only_appends P -> In (Commit t) P ->
    sym_effect k (ops t) (Keep []) = Keep p -> In e p -> In e (after s P k).
  Proof.
    induction P as [|ev P IH]; intros s e t p O I E J; [easy|]. simpl.
    assert (O' : only_appends P). { intros u Iu. apply O. now right. } destruct I as [->|I].
    - apply list_keeps; auto. pose proof (sym_effect_keep k (ops t) s) as X. rewrite E in X. simpl in X. rewrite X.
      apply in_or_app. auto.
    - destruct ev; eapply IH; eauto.
  Qed.

  Lemma before_cases : forall A (p y : list A) a b, before (p ++ y) a b ->
    (In a p /\ In b p) \/ (In a p /\ In b y) \/ before y a b.
  Proof.
    intros A p y a b0. induction p as [|x p IH]; simpl; auto. intro B. apply before_cons in B as [[-> I]|B].
    - apply in_app_or in I. intuition.
    - apply IH in B. intuition.
  Qed.

  Lemma list_order : forall P s e1 e2 t1 t2, only_appends P -> id t1 <> id t2 ->
    before (after s P k) e2 e1 -> ~ In e1 (s k) -> ~ In e2 (s k) ->
    (forall u p, In (Commit u) P -> sym_effect k (ops u) (Keep []) = Keep p -> In e1 p -> u = t1) ->
    (forall u p, In (Commit u) P -> sym_effect k (ops u) (Keep []) = Keep p -> In e2 p -> u = t2) ->
    before P (Commit t1) (Commit t2).
  Proof.
    intros P s e1 e2 t1 t2. induction P as [|ev P IH] using rev_ind; intros O N B N1 N2 S1 S2.
    { simpl in B. apply before_in in B. tauto. }
    assert (O' : only_appends P). { intros t It. apply O. apply in_or_app. now left. }
    assert (K : before (after s P k) e2 e1 -> before (P ++ [ev]) (Commit t1) (Commit t2)).
    { intro J. destruct IH as (l1 & l2 & -> & I1 & I2); auto.
      - intros u p Iu. apply S1. apply in_or_app. now left.
      - intros u p Iu. apply S2. apply in_or_app. now left.
      - exists l1, (l2 ++ [ev]). rewrite <- app_assoc, in_app_iff. auto. }
    destruct ev as [t|t].
    - apply K. now rewrite after_app in B.
    - assert (It : In (Commit t) (P ++ [Commit t])). { apply in_elt. }
      destruct (O t It) as [p E]. rewrite (after_commit _ _ _ _ E) in B.
      destruct (before_cases _ _ _ _ _ B) as [[J2 J1]|[[J2 J1]|J]]; auto.
      + exfalso. apply N. now rewrite <- (S1 t p It E J1), <- (S2 t p It E J2).
      + destruct (list_in _ _ _ O' J1) as [J|(u & q & Iu & Eu & Ju)]; [contradiction|].
        assert (u = t1). { eapply S1; eauto. apply in_or_app. now left. } subst u.
        assert (t = t2) by eauto. subst t. exists P, [Commit t2]. simpl. auto.
  Qed.
End Lists.

(** ** The model of an order of begins and commits *)
Section Exists.
  Variables (L : level) (H : history) (ts : list txn) (E : list event).
  Hypothesis WF : well_formed H.
  Hypothesis T : take_part H ts.
  Hypothesis ND : NoDup E.
  Hypothesis IB : forall t, In (Begin t) E <-> In t ts.
  Hypothesis IC : forall t, In (Commit t) E <-> In t ts.
  Hypothesis BC : forall t, In t ts -> before E (Begin t) (Commit t).
  Hypothesis R : runs_si (initial H) E.
  Hypothesis W : forall t u k, In t ts -> In u ts -> t <> u -> writes k (ops t) = true -> writes k (ops u) = true ->
       before E (Commit t) (Begin u) \/ before E (Commit u) (Begin t).
  Hypothesis M : forall t u, In t ts -> In u ts -> must_precede L H t u -> before E (Commit t) (Begin u).
  Hypothesis SER : serial L = true -> exists o, E = flat o.

  Definition is_begin (i : positive) (e : event) := match e with Begin t => Pos.eqb (id t) i | Commit _ => false end.
  Definition is_commit (i : positive) (e : event) := match e with Commit t => Pos.eqb (id t) i | Begin _ => false end.

  Lemma ts_in : forall t, In t ts -> In t (txns H).
  Proof. destruct T as (_ & A & _). exact A. Qed.

  Ltac named_by I0 := let u := fresh in let F := fresh in
    split; simpl; [apply Pos.eqb_refl|]; intros [u|u] Iu F; simpl in F; try discriminate; apply Pos.eqb_eq in F;
      f_equal;
    apply (same_id H); auto; apply ts_in; auto; now apply I0.

  Lemma names_begin : forall t, In t ts -> names (is_begin (id t)) E (Begin t).
  Proof. intros t I. named_by IB. Qed.

  Lemma names_commit : forall t, In t ts -> names (is_commit (id t)) E (Commit t).
  Proof. intros t I. named_by IC. Qed.

  Definition takes (i : positive) : bool := existsb (is_begin i) E.

  Lemma takes_in : forall i, takes i = true -> exists t, In t ts /\ id t = i.
  Proof.
    intros i X. apply existsb_exists in X as (e & I & F). destruct e as [t|t]; simpl in F; [|discriminate].
    apply Pos.eqb_eq in F. exists t. split; auto. now apply IB.
  Qed.

  Lemma takes_txn : forall t, In t (txns H) -> takes (id t) = true <-> In t ts.
  Proof.
    intros t I. split.
    - intro X. apply takes_in in X as (u & Iu & E0). now rewrite <- (same_id H u t) by auto using ts_in.
    - intro J. apply existsb_exists. exists (Begin t). split; [now apply IB|simpl; apply Pos.eqb_refl].
  Qed.

  (** Positions: of a serial order begin and commit are one. *)
  Definition place (n : nat) : nat := if serial L then n / 2 else n.
  Definition bpos (i : positive) := pos (is_begin i) E.
  Definition cpos (i : positive) := pos (is_commit i) E.

  Lemma pos_flat : forall o t, NoDup o -> In t o -> (forall u, In u o -> id u = id t -> u = t) ->
    exists n, pos (is_begin (id t)) (flat o) = 2 * n /\ pos (is_commit (id t)) (flat o) = 2 * n + 1.
  Proof.
    induction o as [|u o IH]; simpl; intros t N I U; [easy|]. inversion N; subst.
    destruct (Pos.eqb_spec (id u) (id t)) as [e|n].
    - exists 0. auto.
    - destruct I as [->|I]; [congruence|]. destruct (IH t H3 I) as (m & A & B); auto.
      exists (S m). unfold flat in *. rewrite A, B. lia.
  Qed.

  Lemma serial_pos : forall t, serial L = true -> In t ts -> exists n, bpos (id t) = 2 * n /\ cpos (id t) = 2 * n + 1.
  Proof.
    intros t S I. destruct (SER S) as [o E0]. unfold bpos, cpos.
    pose proof (proj2 (IB t) I) as J. pose proof ND as N. rewrite E0 in J, N |- *. apply in_flat_begin in J.
    apply pos_flat; auto.
    - clear -N. induction o as [|x o IH]; [constructor|]. simpl in N. inversion N as [|? ? A B]; subst.
      inversion B as [|? ? C D]; subst. constructor; auto. intro I. apply A. right. now apply in_flat_begin.
    - intros u Iu X. apply (same_id H); auto; apply ts_in; auto. apply IB. rewrite E0. now apply in_flat_begin.
  Qed.

  Lemma place_lt : forall t u (f g : positive -> nat), In t ts -> In u ts -> t <> u ->
    (f = bpos \/ f = cpos) -> (g = bpos \/ g = cpos) -> f (id t) < g (id u) -> place (f (id t)) < place (g (id u)).
  Proof.
    intros t u f g It Iu N F G X. unfold place.
    destruct (bool_dec (serial L) true) as [S|S]; [rewrite S|apply not_true_is_false in S; now rewrite S].
    destruct (serial_pos t S It) as (n & B1 & C1). destruct (serial_pos u S Iu) as (m & B2 & C2).
    assert (NE : n <> m).
    { intro e. subst m. apply N. assert (X1 : bpos (id t) = bpos (id u)) by congruence.
      unfold bpos in X1. destruct (names_begin t It) as [_ Nt]. destruct (names_begin u Iu) as [_ Nu].
      pose proof (proj2 (IB t) It) as Jt. pose proof (proj2 (IB u) Iu) as Ju.
      destruct (pos_split _ (is_begin (id t)) E (Begin t) Jt (proj1 (names_begin t It))) as (y & l2 & E1 & F1).
      destruct (pos_split _ (is_begin (id u)) E (Begin u) Ju (proj1 (names_begin u Iu))) as (z & l3 & E2 & F2).
      rewrite X1 in E1. rewrite E1 in E2 at 1. apply app_inv_head in E2. inversion E2; subst z.
      destruct y as [y|y]; simpl in F1, F2; [|discriminate]. apply Pos.eqb_eq in F1, F2.
      apply (same_id H); auto using ts_in. congruence. }
    assert (D : forall x, (2 * x) / 2 = x). { intro x. rewrite Nat.mul_comm. now apply Nat.div_mul. }
    assert (D' : forall x, (2 * x + 1) / 2 = x).
    { intro x. rewrite Nat.mul_comm, Nat.add_comm, Nat.div_add by lia. simpl. lia. }
    destruct F as [-> | ->], G as [-> | ->]; rewrite ?B1, ?C1, ?B2, ?C2 in *; rewrite ?D, ?D'; lia.
  Qed.

  Lemma before_cb : forall t u, In t ts -> In u ts -> t <> u -> before E (Commit t) (Begin u) ->
    place (cpos (id t)) < place (bpos (id u)).
  Proof.
    intros t u It Iu N X. apply place_lt; auto. unfold bpos, cpos.
      eapply before_pos; eauto using names_begin, names_commit.
  Qed.

  (** The snapshot *)
  Definition prefix (i : positive) : list event := firstn (bpos i) E.

  Lemma prefix_begin : forall t, In t ts -> exists Q, E = prefix (id t) ++ Begin t :: Q.
  Proof.
    intros t I. destruct (pos_split _ (is_begin (id t)) E (Begin t)) as (y & l2 & E1 & F).
    - now apply IB.
    - simpl. apply Pos.eqb_refl.
    - assert (y = Begin t). { apply (names_begin t I); auto. rewrite E1. apply in_elt. } subst y. exists l2. exact E1.
  Qed.

  Definition snapshot (i : positive) : state := after (initial H) (prefix i).
  Definition source (i : positive) (k : key) : option positive := option_map id (last_writer k (prefix i) None).

  Lemma in_prefix : forall t u, In t ts -> In u ts -> t <> u -> In (Commit u) (prefix (id t)) ->
    place (cpos (id u)) < place (bpos (id t)).
  Proof.
    intros t u It Iu N I. apply before_cb; auto. destruct (prefix_begin t It) as [Q E1]. rewrite E1.
    exists (prefix (id t)), (Begin t :: Q). simpl. auto.
  Qed.

  Lemma not_in_prefix : forall t u, In t ts -> In u ts -> t <> u -> ~ In (Commit u) (prefix (id t)) ->
    place (bpos (id t)) < place (cpos (id u)).
  Proof.
    intros t u It Iu N I. apply place_lt; auto. unfold bpos, cpos.
    apply before_pos with (x := Begin t) (y := Commit u); auto using names_begin, names_commit.
    destruct (prefix_begin t It) as [Q E1]. pose proof (proj2 (IC u) Iu) as J. rewrite E1 in J |- *.
    apply in_app_or in J. destruct J as [J|[J|J]]; [contradiction|discriminate|].
    exists (prefix (id t) ++ [Begin t]), Q. rewrite <- app_assoc. simpl. repeat split; auto. apply in_elt.
  Qed.

  Lemma prefix_own : forall t, In t ts -> ~ In (Commit t) (prefix (id t)).
  Proof.
    intros t I J. pose proof (before_pos _ _ _ E _ _ ND (names_begin t I) (names_commit t I) (BC t I)) as X.
    destruct (prefix_begin t I) as [Q E1]. assert (Y : pos (is_commit (id t)) E < length (prefix (id t))).
    { rewrite E1 at 1. eapply pos_app_in; eauto. simpl. apply Pos.eqb_refl. }
    unfold prefix, bpos in Y. rewrite firstn_length in Y. lia.
  Qed.

  Lemma prefix_in : forall t e, In t ts -> In e (prefix (id t)) -> In e E.
  Proof. intros t e I J. destruct (prefix_begin t I) as [Q E1]. rewrite E1. apply in_or_app. auto. Qed.

  Lemma only : forall i k, only_appended H k ->
    (exists t, In t ts /\ id t = i) -> only_appends k (prefix i).
  Proof. intros i k A (t & I & <-) u J. apply A. apply ts_in, IC. eapply prefix_in; eauto. Qed.

  (** Nobody writes a key between the begin and the commit of one who writes it. *)
  Lemma until_commit : forall v k p r, In v ts -> writes k (ops v) = true -> E = p ++ Commit v :: r ->
    after (initial H) p k = snapshot (id v) k.
  Proof.
    intros v k p r I Wv E1. destruct (prefix_begin v I) as [Q E2]. unfold snapshot. rewrite E1 in E2 at 1.
    assert (Jp : In (Begin v) p).
    { destruct (BC v I) as (l1 & l2 & E3 & I1 & I2). rewrite E3 in E1. pose proof ND as N. rewrite E3 in N.
      destruct (app_eq_app _ _ _ _ E1) as (x & [[-> X]|[-> X]]); [|apply in_or_app; now left].
      destruct x as [|e x]; [now rewrite app_nil_r in I1|]. injection X as <- _.
      exfalso. apply (NoDup_app_not _ _ _ (Commit v) N); auto. apply in_elt. }
    pose proof ND as N. rewrite E1, E2 in N. destruct (app_eq_app _ _ _ _ E2) as (x & [[Ep X]|[Ep X]]).
    - destruct x as [|e x]; [discriminate|]. injection X as <- X. rewrite Ep, after_app. simpl.
      assert (A : forall u, In (Commit u) x -> writes k (ops u) = false).
      { intros u Ju. destruct (writes k (ops u)) eqn:Wu; auto. exfalso.
        assert (E4 : E = (prefix (id v) ++ Begin v :: x) ++ Commit v :: r) by congruence.
        assert (B1 : before E (Begin v) (Commit u)).
        { exists (prefix (id v) ++ [Begin v]), (x ++ Commit v :: r). rewrite E4, <- !app_assoc. simpl.
          rewrite !in_app_iff. simpl. auto. }
        assert (B2 : before E (Commit u) (Commit v)).
        { exists (prefix (id v) ++ Begin v :: x), (Commit v :: r). rewrite !in_app_iff. simpl. auto. }
        assert (Iu : In u ts). { apply IC. apply before_in in B2. tauto. }
        assert (Ne : u <> v). { intros ->. exact (before_no_cycle _ E _ _ _ ND B2 B2 B2). }
        destruct (W u v k Iu I Ne Wu Wv) as [B|B].
        - pose proof (before_trans _ _ _ _ _ ND B1 B) as Z. exact (before_no_cycle _ E _ _ _ ND Z Z Z).
        - exact (before_no_cycle _ E _ _ _ ND B (BC u Iu) B2). }
      revert A. generalize (after (initial H) (prefix (id v))). clear.
      induction x as [|[u|u] x IH]; simpl; intros s A; auto. rewrite IH, effect_other; auto.
    - exfalso. apply (NoDup_app_not _ _ _ (Begin v) N); [|now left]. rewrite Ep. apply in_or_app. now left.
  Qed.

  Lemma txn_dec : forall t u, In t ts -> In u ts -> id t <> id u -> t <> u.
  Proof. congruence. Qed.

  Ltac take X := apply takes_in in X as (?t & ?It & <-).

  Definition the_model : model L H.
  Proof.
    refine {| counts := takes; b := fun i => place (bpos i); c := fun i => place (cpos i); src := source;
              held := snapshot |}.
    - intros t I C. apply takes_txn; auto. destruct T as (_ & _ & A). auto.
    - intros i X. take X. exists t. auto using ts_in.
    - intros i X. take X. pose proof (before_pos _ _ _ E _ _ ND (names_begin t It) (names_commit t It) (BC t It)).
      unfold place, bpos, cpos. destruct (serial L); [apply Nat.div_le_mono|]; lia.
    - intros i S X. take X. destruct (serial_pos t S It) as (n & -> & ->). unfold place. rewrite S.
      rewrite Nat.mul_comm, Nat.div_mul, Nat.add_comm, Nat.div_add by lia. simpl. lia.
    - intros t u It Iu Xt Xu P. apply takes_txn in Xt, Xu; auto. apply before_cb; auto. apply P.
    - intros t u k It Iu Xt Xu N Wt Wu. apply takes_txn in Xt, Xu; auto. assert (t <> u) by congruence.
      destruct (W t u k); auto using before_cb.
    - intros t It X. apply takes_txn in X; auto. destruct (prefix_begin t X) as [Q E1].
      rewrite E1 in R. apply runs_si_app in R as [_ R2]. simpl in R2. apply R2.
    - intros i k X S. take X. unfold source in S.
      destruct (last_writer k (prefix (id t)) None) eqn:LW; [discriminate|].
      destruct (last_writer_none _ _ LW) as [A B]. split; [apply B|].
      intros u Iu Xu N Wu. apply takes_txn in Xu; auto. apply not_in_prefix; auto. { congruence. }
      intro J. rewrite (A u J) in Wu. discriminate.
    - intros i k w X S. take X. unfold source in S.
      destruct (last_writer k (prefix (id t)) None) as [v|] eqn:LW; [|discriminate].
      inversion S; subst w. destruct (last_writer_some _ _ _ LW) as (p & q & E1 & Wv & Q & V).
      assert (Jv : In (Commit v) (prefix (id t))). { rewrite E1. apply in_elt. }
      assert (Iv : In v ts). { apply IC. apply (prefix_in t); auto. }
      assert (N : v <> t). { intros ->. eapply prefix_own; eauto. }
      assert (Nid : id v <> id t). { intro e. apply N. apply (same_id H); auto using ts_in. }
      split; [auto|]. split. { apply takes_txn; auto using ts_in. } split. { apply in_prefix; auto. } split.
      { exists v. repeat split; auto using ts_in. unfold snapshot at 1. rewrite V. apply effect_local.
        destruct (prefix_begin t It) as [Z E2]. rewrite E1, <- app_assoc in E2. eapply until_commit; eauto. }
      intros u Iu Xu Nt Nv Wu C. apply takes_txn in Xu; auto. apply not_in_prefix; auto. { congruence. }
      intro J. rewrite E1 in J. apply in_app_or in J. destruct J as [J|[J|J]].
      + assert (B : place (cpos (id u)) < place (cpos (id v))); [|lia].
        assert (u <> v) by congruence. apply place_lt; auto. unfold cpos.
        apply before_pos with (x := Commit u) (y := Commit v); auto using names_commit.
        destruct (prefix_begin t It) as [Z E2]. rewrite E1 in E2. rewrite E2.
        exists p, ((Commit v :: q) ++ Begin t :: Z). rewrite <- app_assoc. simpl. auto.
      + inversion J. congruence.
      + rewrite (Q u J) in Wu. discriminate.
    - intros i k e X A J. take X. destruct (list_in k (prefix (id t)) (initial H) e) as [|(u & p & Ju & Eu & Pu)];
      auto. { apply only; eauto. } right. assert (Iu : In u ts). { apply IC. apply (prefix_in t); auto. }
      assert (N : u <> t). { intros ->. eapply prefix_own; eauto. } exists u, p. repeat split; auto using ts_in.
      + apply takes_txn; auto using ts_in.
      + intro e0. apply N. apply (same_id H); auto using ts_in.
      + apply in_prefix; auto.
    - intros i k e u p X A Iu Xu N Eu Pu NI. take X. apply takes_txn in Xu; auto. apply not_in_prefix; auto.
      { congruence. } intro J. apply NI. eapply list_all; eauto. apply only; eauto.
    - intros i k e1 e2 t1 t2 X A I1 I2 N Be N1 N2 S1 S2. take X.
      assert (O : only_appends k (prefix (id t))) by (apply only; eauto).
      assert (K : before (prefix (id t)) (Commit t1) (Commit t2)).
      { apply (list_order k (prefix (id t)) (initial H) e1 e2); auto.
        - intros u p Ju Eu Pu. apply (same_id H); auto. { apply ts_in, IC.
          apply (prefix_in t); auto. } eapply S1; eauto.
          apply ts_in, IC. apply (prefix_in t); auto.
        - intros u p Ju Eu Pu. apply (same_id H); auto. { apply ts_in, IC.
          apply (prefix_in t); auto. } eapply S2; eauto.
          apply ts_in, IC. apply (prefix_in t); auto. }
      destruct (before_in _ _ _ _ K) as [J1 J2]. assert (T1 : In t1 ts). { apply IC. apply (prefix_in t); auto. }
      assert (T2 : In t2 ts). { apply IC. apply (prefix_in t); auto. }
      split. { apply takes_txn; auto. } split. { apply takes_txn; auto. } assert (N12 : t1 <> t2) by congruence.
      (* both write k, so one commits before the other begins *)
      assert (W1 : forall u e0, In u ts -> (forall v p,
        In v (txns H) -> sym_effect k (ops v) (Keep []) = Keep p -> In e0 p -> id v = id u) ->
        In e0 (snapshot (id t) k) -> ~ In e0 (initial H k) -> writes k (ops u) = true).
      { intros u e0 Iu S Je Ne. destruct (list_in k _ _ _ O Je) as [|(v & p & Jv & Ev & Pv)]; [contradiction|].
        assert (Iv : In v (txns H)). { apply ts_in, IC. apply (prefix_in t); auto. }
        assert (v = u). { apply (same_id H); auto using ts_in. eapply S; eauto. } subst v.
        destruct (writes k (ops u)) eqn:Wu; auto. exfalso.
        pose proof (sym_effect_keep k (ops u) (fun _ => [])) as Y. rewrite Ev in Y. simpl in Y.
        rewrite effect_other in Y by auto. destruct p; [easy|discriminate]. }
      destruct (before_in _ _ _ _ Be) as [B2 B1]. destruct (W t1 t2 k) as [X|X]; eauto using before_cb. exfalso.
      assert (Q1 : cpos (id t1) < cpos (id t2)).
      { apply before_pos with (x := Commit t1) (y := Commit t2); auto using names_commit.
        destruct (prefix_begin t It) as [Z E2]. rewrite E2. destruct K as (l1 & l2 & -> & K1 & K2).
        exists l1, (l2 ++ Begin t :: Z). rewrite <- app_assoc, in_app_iff. auto. }
      assert (Q2 : cpos (id t2) < bpos (id t1)). { eapply before_pos; eauto using names_begin, names_commit. }
      assert (Q3 : bpos (id t1) < cpos (id t1)). { eapply before_pos; eauto using names_begin, names_commit. } lia.
  Defined.
End Exists.

Theorem model_exists : forall L H, well_formed H -> holds L H -> inhabited (model L H).
Proof.
  intros L H WF Ho. unfold holds in Ho. destruct (serial L) eqn:S.
  - destruct Ho as (o & O). destruct (flat_order L H o O) as (T & N & B & C & P & R & W & M).
    constructor. apply (the_model L H o (flat o)); eauto.
  - destruct Ho as (ts & o & T & N & B & C & P & R & W & M).
    constructor. apply (the_model L H ts o); auto. congruence.
Qed.
