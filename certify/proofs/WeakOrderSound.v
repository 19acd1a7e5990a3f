(** * Why an order at a weak level that the kernel accepts is right *)

Require Import List PArith NArith Bool Lia Arith FMapPositive.
From Isovet Require Import History Orders Model Table Answer Symbolic Refutation RefutationSound Replay ReplaySound.
From Isovet Require Import Paths Weak WeakSound WeakOrder.
Import ListNotations.

Lemma at_advance : forall c s n s', at_session (advance c s n) s' =
  if Pos.eqb s' s then N.max n (at_session c s) else at_session c s'.
Proof. intros. unfold at_session at 1, advance. rewrite find_add. now destruct (Pos.eqb s' s). Qed.

Lemma older_refl : forall c, older c c.
Proof. intros c s. lia. Qed.

Lemma older_trans : forall a b c, older a b -> older b c -> older a c.
Proof. intros a b c A B s. specialize (A s). specialize (B s). lia. Qed.

Lemma older_advance : forall c s n, older c (advance c s n).
Proof. intros c s n s'. rewrite at_advance. destruct (Pos.eqb_spec s' s); [subst|]; lia. Qed.

Lemma join_fold : forall l c, older c (fold_left (fun c x => advance c (fst x) (snd x)) l c) /\
  forall s n, In (s, n) l -> (n <= at_session (fold_left (fun c x => advance c (fst x) (snd x)) l c) s)%N.
Proof.
  induction l as [|[s' n'] l IH]; simpl; intro c. { split; [apply older_refl|easy]. }
  destruct (IH (advance c s' n')) as [A B]. split.
  - eapply older_trans; [apply older_advance|exact A].
  - intros s n [E|I]; auto. inversion E; subst. specialize (A s). rewrite at_advance, Pos.eqb_refl in A. lia.
Qed.

Lemma join_left : forall c d, older c (join c d).
Proof. intros c d. apply join_fold. Qed.

Lemma join_right : forall c d, older d (join c d).
Proof.
  intros c d s. unfold at_session at 1. destruct (PM.find s d) as [n|] eqn:F; [|lia].
  apply join_fold. now apply PM.elements_correct.
Qed.

Lemma nth_from_le : forall A (l : list A) n i x, nth_from n l i = Some x -> (n <= i)%positive.
Proof.
  induction l as [|y l IH]; simpl; intros n i x E; [discriminate|]. destruct (Pos.eqb_spec n i); [lia|].
  apply IH in E. lia.
Qed.

Lemma unseen_ok : forall see w us, unseen see w us = true ->
  match w with
  | None => forall u, In u us -> see u = false
  | Some i => exists a u b, us = a ++ u :: b /\ id u = i /\ forall v, In v a -> see v = false
  end.
Proof.
  intros see w us. induction us as [|u us IH]; simpl; intro E.
  - destruct w; [discriminate|easy].
  - apply orb_true_iff in E as [E|E].
    + apply opt_eqb_eq in E. subst w. exists [], u, us. simpl. intuition.
    + apply andb_true_iff in E as [E1 E2]. apply negb_true_iff in E1. apply IH in E2. destruct w as [i|].
      * destruct E2 as (a & v & b & -> & Ev & F). exists (u :: a), v, b. simpl. repeat split; auto.
        intros y [<-|I]; auto.
      * intros v [<-|I]; auto.
Qed.

Lemma before_filter : forall A (f : A -> bool) l x y, before (filter f l) x y -> before l x y.
Proof.
  intros A f l x y. induction l as [|z l IH]; simpl; intro B. { now apply before_in in B. }
  apply before_cons. destruct (f z); auto. apply before_cons in B as [[-> I]|B]; auto. apply filter_In in I. tauto.
Qed.

Section Right.
  Variables (V : weak_level) (H : history) (ids : PM.t (N * txn)) (saw : PM.t (list (option positive))).
  Hypothesis IDS : by_id H = Some ids.

  Definition src (t : txn) (i : positive) : option txn :=
    match nth_from 1 (saw_of saw (id t)) i with Some (Some j) => txn_of ids j | _ => None end.

  Definition hears (p : pass) (u t : txn) := exists n, PM.find (id u) (places p) = Some n /\
    (n < at_session (clock_of (clocks p) (id t)) (session u))%N /\
    older (clock_of (clocks p) (id u)) (clock_of (clocks p) (id t)).

  (** What is visible, at the time of the pass *)
  Definition sees (p : pass) (t : txn) (i : positive) (u : txn) : Prop :=
    match V with
    | ReadCommitted => exists j, (j < i)%positive /\ read_from src t j u
    | ReadAtomic => (exists j, read_from src t j u) \/ in_session H u t
    | Causal => hears p u t
    end.

  Definition right_turn (p : pass) (d : list txn) (t : txn) :=
    own_reads (ops t) (PM.empty _) = true /\
    forall i k x, read_at t i = Some (k, x) ->
      match src t i with None => initial H k = x | Some w => In w d /\ final k w = Some x end /\
      forall u, In u d -> writes k (ops u) = true -> sees p t i u -> src t i <> Some u ->
        exists w, src t i = Some w /\ before d u w.

  Record inv (done : list txn) (p : pass) : Prop := {
    i_txn : forall t, In t done -> In t (txns H);
    i_place : placed (fun t => Some (id t)) (places p) done;
    i_once : NoDup done;
    i_newest : forall k, writers_of (newest p) k = rev (filter (fun t => writes k (ops t)) done);
    i_turn : forall d t r, done = d ++ t :: r -> right_turn p d t;
    i_read : V = Causal -> forall t i u, In t done -> read_from src t i u -> hears p u t;
    i_session : V = Causal -> forall t u, before done u t -> session u = session t -> hears p u t;
    i_heard : V = Causal -> forall u, In u done -> exists n, PM.find (id u) (places p) = Some n /\
      (n < at_session (clock_of (heard p) (session u)) (session u))%N /\
      older (clock_of (clocks p) (id u)) (clock_of (heard p) (session u))
  }.

  Lemma must_in_session : forall u t x y, PM.find (id u) ids = Some (x, u) -> PM.find (id t) ids = Some (y, t) ->
    in_session H u t -> must session_serializable (x, u) (y, t) = true.
  Proof.
    intros u t x y Fu Ft (N & C & [(_ & Se & B)|(E & _)]); [|discriminate]. unfold must. simpl.
    destruct (by_id_ok H ids IDS) as (WF & P & _). pose proof (NoDup_map_inv _ _ WF) as Nd.
    assert (Q : forall i n v, PM.find i ids = Some (n, v) -> nth_error (txns H) (N.to_nat n) = Some v).
    { intros i n v F. destruct (P _ _ F) as (l1 & l2 & -> & Ln & _). simpl in *. subst n.
      rewrite Nnat.Nat2N.id, nth_error_app2, Nat.sub_diag by auto. reflexivity. }
    apply before_nth in B as (a & b & Lt & Ea & Eb).
    pose proof (nth_once _ _ _ _ _ Nd Ea (Q _ _ _ Fu)). pose proof (nth_once _ _ _ _ _ Nd Eb (Q _ _ _ Ft)).
    assert (Nid : id u <> id t). { intro e. apply N, (same_txn H ids); auto; eapply nth_error_In; eauto. }
    apply Pos.eqb_neq in Nid. rewrite C, Nid, Se, Pos.eqb_refl. simpl. rewrite orb_false_r. apply N.ltb_lt. lia.
  Qed.

  Lemma hear_fold : forall p ws c, older c (fold_left (hear ids p) ws c) /\
    forall i n m u, In (Some i) ws -> PM.find i ids = Some (m, u) -> PM.find i (places p) = Some n ->
      (n < at_session (fold_left (hear ids p) ws c) (session u))%N /\
      older (clock_of (clocks p) i) (fold_left (hear ids p) ws c).
  Proof.
    intros p ws. induction ws as [|s ws IH]; simpl; intro c. { split; [apply older_refl|easy]. }
    destruct (IH (hear ids p c s)) as [A B]. split.
    - eapply older_trans; [|exact A]. destruct s as [i|]; simpl; [|apply older_refl].
      destruct (PM.find i ids) as [[m u]|]; [|apply older_refl]. destruct (PM.find i (places p)); [|apply older_refl].
      eapply older_trans; [apply join_left|apply older_advance].
    - intros i n m u [->|I] Fu Fn; [|eauto]. simpl in A. rewrite Fu, Fn in A. split.
      + specialize (A (session u)). rewrite at_advance, Pos.eqb_refl in A. simpl. rewrite Fu, Fn. lia.
      + simpl. rewrite Fu, Fn. eapply older_trans; [|exact A].
        eapply older_trans; [apply join_right|apply older_advance].
  Qed.

  Lemma reads_each : forall p see rs ws e n i k x, explains_reads H ids p see e rs ws = true ->
    nth_from n rs i = Some (k, x) -> exists w e', nth_from n ws i = Some w /\
      explains_read H ids p (see e') k x w = true /\
      (forall y, In y e -> In y e') /\
      (forall j y, (j < i)%positive -> nth_from n ws j = Some y -> In y e').
  Proof.
    intros p see rs. induction rs as [|[k' x'] rs IH]; intros ws e n i k x E F; [discriminate|].
    destruct ws as [|w ws]; [discriminate|]. simpl in E, F. apply andb_true_iff in E as [E1 E2]. simpl.
    destruct (Pos.eqb_spec n i) as [->|N].
    - inversion F; subst k' x'. exists w, e. repeat split; auto. intros j y Lt G.
      destruct (Pos.eqb_spec i j); [lia|]. apply nth_from_le in G. lia.
    - destruct (IH _ _ _ _ _ _ E2 F) as (w' & e' & G & E3 & I & J). exists w', e'. repeat split; auto.
      + intros y Y. apply I. now right.
      + intros j y Lt G'. destruct (Pos.eqb_spec n j); [|eauto]. inversion G'; subst. apply I. now left.
  Qed.

  Lemma nth_from_in : forall A (l : list A) n i x, nth_from n l i = Some x -> In x l.
  Proof.
    induction l as [|y l IH]; simpl; intros n i x E; [discriminate|]. destruct (Pos.eqb n i); [left; congruence|eauto].
  Qed.

  Lemma read_from_saw : forall t i u, read_from src t i u ->
    nth_from 1 (saw_of saw (id t)) i = Some (Some (id u)) /\ In u (txns H).
  Proof.
    intros t i u [_ S]. unfold src in S. destruct (nth_from 1 (saw_of saw (id t)) i) as [[j|]|]; try discriminate.
    destruct (txn_of_ok H ids IDS _ _ S) as [I <-]. auto.
  Qed.

  Section Step.
    Variables (done : list txn) (p p' : pass) (m : N) (t : txn) (c : clock).
    Hypothesis I : inv done p.
    Hypothesis Ft : PM.find (id t) ids = Some (m, t).
    Hypothesis C : c = match V with
      Causal => fold_left (hear ids p) (saw_of saw (id t)) (clock_of (heard p) (session t)) | _ => PM.empty _ end.
    Hypothesis New : PM.mem (id t) (places p) = false.
    Hypothesis Own : own_reads (ops t) (PM.empty _) = true.
    Hypothesis Ex : explains_reads H ids p (may_see V ids p c (m, t) (saw_of saw (id t))) []
      (external (ops t) (PM.empty _)) (saw_of saw (id t)) = true.
    Hypothesis P1 : places p' = PM.add (id t) (N.of_nat (length done)) (places p).
    Hypothesis P2 : newest p' = add_writer t (ops t) (PM.empty _) (newest p).
    Hypothesis P3 : V = Causal -> clocks p' = PM.add (id t) c (clocks p).
    Hypothesis P4 : V = Causal -> heard p' =
      PM.add (session t) (advance c (session t) (N.succ (N.of_nat (length done)))) (heard p).

    Lemma t_txn : In t (txns H).
    Proof. destruct (by_id_ok H ids IDS) as (_ & P & _). exact (proj1 (at_place_in _ _ _ (P _ _ Ft))). Qed.

    Lemma done_place : forall u, In u done -> exists n, PM.find (id u) (places p) = Some n.
    Proof. intros u J. apply stands_in in J as [n J]. exists n. apply (i_place _ _ I). eauto. Qed.

    Lemma done_other : forall u, In u done -> id u <> id t.
    Proof.
      intros u J e. destruct (done_place u J) as [n F]. rewrite e in F. rewrite PM.mem_find, F in New. discriminate.
    Qed.

    Lemma place_kept : forall u, In u done -> PM.find (id u) (places p') = PM.find (id u) (places p).
    Proof. intros u J. rewrite P1, find_add. apply done_other, Pos.eqb_neq in J. now rewrite J. Qed.

    Lemma clock_kept : V = Causal -> forall u, In u done ->
      clock_of (clocks p') (id u) = clock_of (clocks p) (id u).
    Proof.
      intros EV u J. unfold clock_of. rewrite P3, find_add by auto. apply done_other, Pos.eqb_neq in J. now rewrite J.
    Qed.

    Lemma clock_new : V = Causal -> clock_of (clocks p') (id t) = c.
    Proof. intro EV. unfold clock_of. now rewrite P3, find_add, Pos.eqb_refl by auto. Qed.

    Lemma hears_kept : V = Causal -> forall u v, In u done -> In v done -> (hears p' u v <-> hears p u v).
    Proof. intros EV u v Ju Jv. unfold hears. now rewrite place_kept, !clock_kept by auto. Qed.

    Lemma sees_may : forall i u e k x, read_at t i = Some (k, x) -> In u done -> sees p' t i u ->
      (forall j y, (j < i)%positive -> nth_from 1 (saw_of saw (id t)) j = Some y -> In y e) ->
      may_see V ids p c (m, t) (saw_of saw (id t)) e u = true.
    Proof.
      intros i u e k x R Ju S Le. unfold sees in S. unfold may_see.
      assert (EV : V = ReadCommitted \/ V = ReadAtomic \/ V = Causal) by (destruct V; auto).
      destruct EV as [EV|[EV|EV]]; rewrite EV in S; rewrite EV.
      - destruct S as (j & Lt & Rf). apply read_from_saw in Rf as [G _]. apply existsb_exists. exists (Some (id u)).
        split; [eauto|now apply opt_eqb_eq].
      - apply orb_true_iff. destruct S as [(j & Rf)|S].
        + left. apply read_from_saw in Rf as [G _]. apply existsb_exists. exists (Some (id u)).
          split; [eapply nth_from_in; eauto|now apply opt_eqb_eq].
        + right. destruct (by_id_all H ids u IDS (i_txn _ _ I u Ju)) as [n F]. rewrite F. eapply must_in_session; eauto.
      - destruct S as (n & F & Lt & _). rewrite place_kept in F by auto. rewrite clock_new in Lt by auto. rewrite F.
        now apply N.ltb_lt.
    Qed.

    Lemma new_turn : right_turn p' done t.
    Proof.
      split; auto. intros i k x R. destruct (reads_each _ _ _ _ _ _ _ _ _ Ex R) as (w & e & G & E & _ & Le).
      unfold explains_read in E. apply andb_true_iff in E as [E U]. apply unseen_ok in U. rewrite (i_newest _ _ I) in U.
      assert (Nw : forall u, In u done -> writes k (ops u) = true ->
        In u (rev (filter (fun t => writes k (ops t)) done))).
      { intros u Ju W. apply -> in_rev. apply filter_In. auto. } unfold src. rewrite G. destruct w as [j|].
      - apply andb_true_iff in E as [E1 E2]. destruct (txn_of ids j) as [w|] eqn:Fw; [|discriminate].
        destruct (txn_of_ok H ids IDS _ _ Fw) as [Iw <-]. rewrite PM.mem_find in E1.
        destruct (PM.find (id w) (places p)) as [n|] eqn:Fp; [|discriminate]. assert (Jw : In w done).
        { apply (i_place _ _ I) in Fp as (w' & S & [= e']). rewrite <- (same_txn H ids w' w); auto.
          - apply stands_in. eauto.
          - apply (i_txn _ _ I). apply stands_in. eauto. }
        split.
        + split; auto. unfold leaves in E2. destruct (final k w) as [y|]; [|discriminate]. f_equal.
          apply cell_eqb_eq in E2. congruence.
        + intros u Ju W S N. exists w. split; auto. destruct U as (a & v & b & Eq & Ev & F). assert (v = w).
          { apply (same_txn H ids); auto. apply (i_txn _ _ I).
          assert (J : In v (a ++ v :: b)) by (apply in_or_app; right; now left).
            rewrite <- Eq in J. apply in_rev in J. now apply filter_In in J. } subst v.
          pose proof (Nw u Ju W) as Iu. rewrite Eq in Iu. apply in_app_or in Iu. destruct Iu as [Iu|[Iu|Iu]].
          * pose proof (sees_may i u e k x R Ju S Le) as Q. rewrite (F u Iu) in Q. discriminate.
          * congruence.
          * apply before_filter with (f := fun t => writes k (ops t)). apply (f_equal (@rev _)) in Eq.
            rewrite rev_involutive, rev_app_distr in Eq. simpl in Eq. rewrite Eq, <- app_assoc. simpl.
            exists (rev b), (w :: rev a). repeat split; auto; [now apply -> in_rev|now left].
      - split; [now apply cell_eqb_eq|]. intros u Ju W S _. exfalso.
        pose proof (sees_may i u e k x R Ju S Le) as Q. rewrite (U u (Nw u Ju W)) in Q. discriminate.
    Qed.

    Lemma reads_from_done : forall i u, read_from src t i u -> In u done.
    Proof.
      intros i u [R S]. destruct (read_at t i) as [[k x]|] eqn:Ra; [|congruence].
      destruct new_turn as [_ T]. destruct (T i k x Ra) as [Y _]. rewrite S in Y. apply Y.
    Qed.

    Lemma step_inv : inv (done ++ [t]) p'.
    Proof.
      constructor.
      - intros u J. apply in_app_or in J. destruct J as [J|[<-|[]]]; [now apply (i_txn _ _ I)|apply t_txn].
      - rewrite P1. now apply placed_new with (1 := i_place _ _ I).
      - apply NoDup_snoc; [apply (i_once _ _ I)|]. intro J. now apply (done_other t J).
      - intro k. rewrite P2, add_writer_is, filter_app, rev_app_distr, (i_newest _ _ I), PM.mem_find, PM.gempty. simpl.
        now destruct (writes k (ops t)).
      - intros d u r E. destruct (exists_last (l := u :: r)) as (r' & z & Er); [discriminate|]. destruct r as [|y r].
        + apply app_inj_tail in E as [<- <-]. apply new_turn.
        + assert (Q : exists r2, u :: y :: r = u :: r2 ++ [t] /\ done = d ++ u :: r2).
          { destruct (exists_last (l := y :: r)) as (r2 & z2 & E2); [discriminate|]. rewrite E2 in E.
            change (u :: r2 ++ [z2]) with ((u :: r2) ++ [z2]) in E. rewrite app_assoc in E.
            apply app_inj_tail in E as [E E']. subst z2. exists r2. rewrite E2. auto. }
          destruct Q as (r2 & _ & Ed). pose proof (i_turn _ _ I _ _ _ Ed) as [O T]. split; auto.
          assert (Ju : In u done). { rewrite Ed. apply in_elt. }
          intros i k x R. destruct (T i k x R) as [T1 T2]. split; auto. intros v Jv W S. apply T2; auto.
          assert (Jv' : In v done). { rewrite Ed. apply in_or_app. now left. }
          assert (EV : V = ReadCommitted \/ V = ReadAtomic \/ V = Causal) by (destruct V; auto).
          unfold sees in S |- *. destruct EV as [EV|[EV|EV]]; rewrite EV in S; rewrite EV; auto. now apply hears_kept.
      - intros EV u i v J Rf. apply in_app_or in J. destruct J as [J|[<-|[]]].
        + apply hears_kept; auto; [|now apply (i_read _ _ I EV _ i)].
          destruct (i_read _ _ I EV _ _ _ J Rf) as (n & F & _). apply (i_place _ _ I) in F as (v' & S & [= e]).
          apply read_from_saw in Rf as [_ Iv]. assert (Jv' : In v' done) by (apply stands_in; eauto).
          rewrite <- (same_txn H ids v' v); auto. now apply (i_txn _ _ I).
        + pose proof (reads_from_done _ _ Rf) as Jv. destruct (done_place v Jv) as [n F].
          destruct (by_id_all H ids v IDS (i_txn _ _ I v Jv)) as [x Fx]. apply read_from_saw in Rf as [G _].
          exists n. rewrite place_kept, clock_new, clock_kept by auto. split; auto. rewrite C, EV.
          eapply hear_fold; eauto. eapply nth_from_in; eauto.
      - intros EV u v B Se. destruct (before_snoc_cases _ _ _ _ _ B) as [Q|[-> Jv]].
        + pose proof (before_in _ _ _ _ Q) as [Jv Ju]. apply hears_kept; auto. now apply (i_session _ _ I EV).
        + destruct (i_heard _ _ I EV v Jv) as (n & F & Lt & O). exists n.
          rewrite place_kept, clock_new, clock_kept by auto. rewrite Se in *.
          destruct (hear_fold p (saw_of saw (id t)) (clock_of (heard p) (session t))) as [A _].
          rewrite C, EV. repeat split; auto. { specialize (A (session t)). lia. } eapply older_trans; eauto.
      - intros EV u J. unfold clock_of at 1 3. rewrite P4, find_add by auto. apply in_app_or in J.
        destruct (hear_fold p (saw_of saw (id t)) (clock_of (heard p) (session t))) as [A _].
        rewrite EV in C. rewrite <- C in A. destruct J as [J|[<-|[]]].
        + destruct (i_heard _ _ I EV u J) as (n & F & Lt & O). exists n. rewrite place_kept, clock_kept by auto.
          split; auto. destruct (Pos.eqb_spec (session u) (session t)) as [e|Ne]; [|split; auto]. rewrite e in *.
          pose proof (older_trans _ _ _ A (older_advance c (session t) (N.succ (N.of_nat (length done))))) as B.
          split; [specialize (B (session t)); lia|]. eapply older_trans; eauto.
        + exists (N.of_nat (length done)). rewrite P1, find_add, !Pos.eqb_refl, clock_new by auto. split; auto. split.
          * rewrite at_advance, Pos.eqb_refl. lia.
          * apply older_advance.
    Qed.
  End Step.

  Lemma turns_ok : forall order done p p', inv done p ->
    turns V H ids saw (N.of_nat (length done)) p order = inl p' -> exists done', inv done' p'.
  Proof.
    induction order as [|i order IH]; simpl; intros done p p' I E. { inversion E; subst. eauto. }
    destruct (turn V H ids saw (N.of_nat (length done)) p i) as [q|] eqn:T; [|discriminate].
    unfold turn in T. destruct (PM.find i ids) as [[m t]|] eqn:F; [|discriminate].
    destruct (by_id_ok H ids IDS) as (_ & P & _). destruct (at_place_in _ _ _ (P _ _ F)) as [_ Et].
    simpl in Et. subst i. match type of T with context [may_see _ _ _ ?x _ _] => set (c := x) in T end.
    destruct (PM.mem (id t) (places p)) eqn:New; [discriminate|]. simpl in T.
    match type of T with (if ?g then _ else _) = _ => destruct g eqn:G end; [|discriminate].
    inversion T; subst q; clear T. apply andb_true_iff in G as [G1 G2].
    replace (N.succ (N.of_nat (length done))) with (N.of_nat (length (done ++ [t]))) in E
      by (rewrite app_length; simpl; lia).
    eapply (IH (done ++ [t])); [|exact E].
    eapply (step_inv done p _ m t c); eauto; simpl; intro EV; try rewrite EV; try reflexivity.
    rewrite app_length. simpl. now rewrite Nat.add_1_r, Nnat.Nat2N.inj_succ.
  Qed.

  Lemma rest_inv : inv [] at_rest.
  Proof.
    constructor; try easy.
    - apply placed_nil.
    - constructor.
    - intro k. unfold writers_of. simpl. now rewrite PM.gempty.
    - intros [|] ? ?; discriminate.
    - intros _ t u B. now apply before_in in B.
  Qed.

  Section End_.
    Variables (co : list txn) (p : pass).
    Hypothesis I : inv co p.
    Hypothesis C : complete session_serializable (places p) (places p) (txns H) (PM.empty _) = None.
    Hypothesis REG : registers H = true.

    Lemma found : forall t, In t co -> exists n, PM.find (id t) (places p) = Some n /\ stands co n t.
    Proof. intros t J. apply stands_in in J as [n S]. exists n. split; auto. apply (i_place _ _ I). eauto. Qed.

    Lemma turn_at : forall t, In t co -> exists d r, co = d ++ t :: r /\ right_turn p d t.
    Proof. intros t J. apply in_split in J as (d & r & E). exists d, r. split; auto. eapply i_turn; eauto. Qed.

    Lemma read_before : forall t i u, In t co -> read_from src t i u -> before co u t.
    Proof.
      intros t i u J [R S]. destruct (turn_at t J) as (d & r & E & _ & T).
      destruct (read_at t i) as [[k x]|] eqn:Ra; [|congruence]. destruct (T i k x Ra) as [Y _]. rewrite S in Y.
      exists d, (t :: r). simpl. intuition.
    Qed.

    Lemma session_before : forall a b, In a co -> In b co -> in_session H a b -> before co a b.
    Proof.
      intros a b Ja Jb (N & Ca & [(_ & Se & B)|(E & _)]); [|discriminate].
      destruct (found a Ja) as (n & Fa & Sa). destruct (found b Jb) as (m & Fb & Sb).
      eapply stands_before; eauto. eapply (complete_sessions session_serializable); eauto.
    Qed.

    Lemma linked_before : forall u t, linked H co src u t -> before co u t.
    Proof. intros u t (Ju & Jt & [(i & R)|S]); [eapply read_before; eauto|now apply session_before]. Qed.

    Lemma visible_before : forall t i u, In t co -> visible V H co src t i u -> before co u t.
    Proof.
      intros t i u J Vi. induction Vi as [t i u j EV Lt R|t i u EV Li|t i u EV Li|t i u v j EV Li Vi IH].
      - eapply read_before; eauto.
      - now apply linked_before.
      - now apply linked_before.
      - eapply before_trans; [apply (i_once _ _ I)|apply IH; apply Li|now apply linked_before].
    Qed.

    Lemma linked_hears : V = Causal -> forall u t, linked H co src u t -> hears p u t.
    Proof.
      intros EV u t Li. pose proof (linked_before _ _ Li) as B. destruct Li as (Ju & Jt & [(i & R)|S]).
      - eapply (i_read _ _ I); eauto.
      - apply (i_session _ _ I); auto. destruct S as (_ & _ & [(_ & Se & _)|(E & _)]); [auto|discriminate].
    Qed.

    Lemma visible_sees : forall t i u, In t co -> visible V H co src t i u -> sees p t i u.
    Proof.
      intros t i u J Vi. unfold sees. induction Vi as [t i u j EV Lt R|t i u EV Li|t i u EV Li|t i u v j EV Li Vi IH];
        rewrite EV.
      - eauto.
      - destruct Li as (_ & _ & [(i' & R)|S]); eauto.
      - now apply linked_hears.
      - rewrite EV in IH. destruct IH as (n & F & Lt & O); [apply Li|].
        destruct (linked_hears EV _ _ Li) as (n' & F' & Lt' & O').
        exists n. split; auto. split; [specialize (O' (session u)); lia|]. eapply older_trans; eauto.
    Qed.

    Lemma pass_explains : explains V H co src.
    Proof.
      assert (Nd := i_once _ _ I). split; [|split; [exact REG|split; [|split; [|split]]]].
      - split; auto. split; [apply (i_txn _ _ I)|]. intros t J Ct.
        destruct (complete_all session_serializable _ _ _ _ C t J) as [A _]. specialize (A Ct).
        destruct (PM.find (id t) (places p)) as [n|] eqn:F; [|congruence].
        apply (i_place _ _ I) in F as (u & S & [= E]).
        assert (Ju : In u co) by (apply stands_in; eauto). rewrite <- (same_txn H ids u t); auto.
        now apply (i_txn _ _ I).
      - intros t J. destruct (turn_at t J) as (d & r & _ & O & _). exact O.
      - intros t i k x J R. destruct (turn_at t J) as (d & r & E & _ & T). destruct (T i k x R) as [Y _].
        destruct (src t i) as [u|]; auto. destruct Y as [Y1 Y2]. split; auto. exists d, (t :: r). simpl. auto.
      - apply session_before.
      - intros t i k x u J R Ju W Vi N. pose proof (visible_before _ _ _ J Vi) as B.
        pose proof (visible_sees _ _ _ J Vi) as S. destruct (turn_at t J) as (d & r & E & _ & T).
        destruct (T i k x R) as [_ A]. destruct (A u) as (w & Ew & Bw); auto.
        + rewrite E in Nd, B. now apply before_prefix in B.
        + exists w. split; auto. destruct Bw as (l1 & l2 & Ed & I1 & I2). exists l1, (l2 ++ t :: r).
          rewrite E, Ed, <- app_assoc, in_app_iff. auto.
    Qed.
  End End_.
End Right.

Theorem check_weak_sound : forall V H order saw, check_weak V H order saw = Proved -> holds_weak V H.
Proof.
  intros V H order saw C. unfold check_weak in C. destruct (by_id H) as [ids|] eqn:E; [|discriminate].
  destruct (registers H) eqn:R; [|discriminate].
  destruct (turns V H ids saw 0 at_rest order) as [p|] eqn:T; [|discriminate].
  destruct (complete session_serializable (places p) (places p) (txns H) (PM.empty N)) eqn:K; [discriminate|].
  destruct (turns_ok V H ids saw E order [] at_rest p (rest_inv V H ids saw) T) as (co & I).
  exists co, (src ids saw). eapply pass_explains; eauto.
Qed.
