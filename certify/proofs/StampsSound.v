(** * Why the kernel is right about timestamps *)

Require Import List PArith NArith Bool Lia Arith FMapPositive.
From Isovet Require Import History Orders Levels Table Answer Replay ReplaySound Refutation RefutationSound Paths
  Graphs GraphsAgree Stamps.
Import ListNotations.

(** What holds by the stamps holds. *)
Theorem timestamped_holds : forall S L H, timestamped S L H -> holds L H.
Proof.
  intros S L H. unfold timestamped, holds. destruct (serial L); [intros (o & O & _)|intros (ts & E & O & _)].
  - now exists o.
  - now exists ts, E.
Qed.

(** ** Valid *)
Lemma descends_ok : forall S L H ids E n last, by_id H = Some ids -> (forall e, In e E -> In (whose e) (txns H)) ->
  descends S L ids n last (map named E) = None ->
  ascending S L E /\ forall e, In e E -> (last <= moment S L e)%N.
Proof.
  intros S L H ids E n last IDS. revert n last. induction E as [|e E IH]; simpl; intros n last T D.
  { split; [|easy]. intros x y B. now apply before_in in B. }
  assert (N : named e = (fst (named e), id (whose e))) by now destruct e. rewrite N in D. clear N.
  destruct (by_id_all H ids (whose e) IDS) as [m F]; [auto|]. unfold txn_of in D. rewrite F in D. simpl in D.
  replace (event_of (fst (named e)) (whose e)) with e in D by now destruct e.
  destruct (N.ltb_spec (moment S L e) last) as [|Le]; [discriminate|].
  destruct (IH _ _ (fun x i => T x (or_intror i)) D) as [A B].
  split.
  - intros x y X. apply before_cons in X as [[-> I]|X]; auto.
  - intros x [<-|I]; auto. specialize (B x I). lia.
Qed.

Theorem check_stamps_sound : forall S L H order, check_stamps S L H order = Proved -> timestamped S L H.
Proof.
  intros S L H order C. unfold check_stamps in C. destruct (by_id H) as [ids|] eqn:IDS; [|discriminate].
  destruct (stamped S H); [|discriminate]. destruct (descends _ _ _ _ _ _) eqn:D; [discriminate|].
  unfold timestamped. destruct (serial L) eqn:Se.
  - apply check_serial_order in C as (_ & o & O & M). exists o. split; auto.
    rewrite map_map in M. simpl in M. eapply descends_ok; eauto.
    + intros e I. apply in_map_iff in I as (t & <- & I). now apply O.
    + rewrite map_map. simpl. rewrite <- (map_map id (fun i => (true, i))), M, map_map. exact D.
  - apply check_snapshot_order in C as (_ & ts & E & O & M). exists ts, E. split; auto. subst order.
    eapply descends_ok; eauto. intros e I. destruct O as ((_ & T & _) & _ & IB & IC & _). apply T.
    destruct e as [t|t]; simpl; [now apply IB|now apply IC].
Qed.

(** ** Violated: whatever the level, there are begins and commits in the order of the stamps *)
Lemma events : forall S L H, timestamped S L H -> exists ts E, snapshot_order L H ts E /\ ascending S L E.
Proof.
  intros S L H X. unfold timestamped in X. destruct (serial L) eqn:Se; auto.
  destruct X as (o & O & A). exists o, (flat o). split; [now apply flat_order|]. intros x y B.
  assert (Q : forall e, moment S L e = moment S L (Commit (whose e))) by (intros [t|t]; simpl; now rewrite ?Se).
  rewrite (Q x), (Q y). destruct (txn_dec (whose x) (whose y)) as [->|N]; [reflexivity|].
  apply A. destruct (flat_before o x y N B) as (l1 & l2 & -> & I1 & I2). exists (map Commit l1), (map Commit l2).
  rewrite map_app. auto using in_map.
Qed.

(** Who saw what there was is found to have seen it. *)
Lemma matched_complete : forall m p ks, (forall k, (matches certain_of p k (cell_of m k) = true -> In k ks) /\
  (In k ks -> matches possible_of p k (cell_of m k) = true)) -> matched m p ks = true.
Proof.
  intros m p ks X. apply andb_true_iff. split; apply forallb_forall; [apply X|]. intros [k ys] I. simpl.
  destruct (existsb (certain_of (cell_of m k)) ys) eqn:C; auto. simpl. apply key_set_in, X. unfold matches.
  now rewrite (PM.elements_complete _ _ _ I).
Qed.

Lemma run_ops_complete : forall os m s, (forall k, s k = cell_of m k) -> explained os s -> run_ops m os = true.
Proof.
  induction os as [|o os IH]; simpl; intros m s S X; auto. destruct X as [X1 X2].
  destruct o as [k x|p ks|k x|k e]; simpl in *.
  - rewrite <- S, X1, cell_eqb_refl. eauto.
  - rewrite matched_complete; eauto. intro k. rewrite <- S. auto.
  - destruct os as [|o os]; auto. apply (IH _ (put k x s)); auto. intro j. rewrite cell_of_add. unfold put.
    now destruct (Pos.eqb j k).
  - destruct os as [|o os]; auto. apply (IH _ (put k (e :: s k) s)); auto. intro j. rewrite cell_of_add. unfold put.
    rewrite S. now destruct (Pos.eqb j k).
Qed.

Section Wrong.
  Variables (S : stamps) (L : level) (H : history) (ids : PM.t (N * txn)) (ts : list txn) (E : list event).
  Hypothesis IDS : by_id H = Some ids.
  Hypothesis O : snapshot_order L H ts E.
  Hypothesis A : ascending S L E.
  Hypothesis ALL : forall t, In t (txns H) -> In t ts.
  Notation at_ := (moment S L).

  (** The commits that left what is in the table *)
  Lemma left_before_ok : forall t start order last m m', In t (txns H) ->
    left_before S ids (id t) start last m order = Some m' -> exists P,
    (forall e, In e P -> In (whose e) (txns H) /\ (last <= at_ e < start)%N) /\
    (forall x y, before P x y -> (at_ x < at_ y)%N) /\ NoDup P /\
    (forall u, In u (txns H) -> In (id u) order -> (commits_at S u < start)%N -> In (Commit u) P) /\
    (forall u, In u (txns H) -> In (id u) order -> commits_at S u = start -> u = t) /\
    (forall s, (forall k, s k = cell_of m k) -> forall k, after s P k = cell_of m' k).
  Proof.
    intros t start order last m m' It. revert last m. induction order as [|i r IH]; simpl; intros last m X.
    { inversion X; subst. exists []. repeat split; try easy; try constructor. intros x y B. now apply before_in in B. }
    destruct (txn_of ids i) as [u|] eqn:F; [|discriminate]. apply (txn_of_ok H ids IDS) in F as [Iu <-].
    destruct (N.ltb_spec (commits_at S u) last) as [|Le]; [discriminate|]. simpl in X.
    destruct (N.eqb (commits_at S u) _ && _) eqn:Eq; [discriminate|].
    destruct (IH _ _ X) as (P & P1 & P2 & P3 & P4 & P5 & P6). clear IH X.
    assert (Same : forall v, In v (txns H) -> id u = id v -> u = v) by (intros; now apply (same_txn H ids)).
    assert (EQ : forall v, In v (txns H) -> id u = id v \/ In (id v) r -> commits_at S v = start -> v = t).
    { intros v Iv [e|J] Q; auto. rewrite <- (Same v Iv e) in *. rewrite Q, N.eqb_refl in Eq. simpl in Eq.
      destruct (Pos.eqb_spec (id u) (id t)); [now apply (same_txn H ids)|discriminate]. }
    assert (P1' : forall e, In e P -> In (whose e) (txns H) /\ (last <= at_ e < start)%N).
    { intros e J. destruct (P1 e J). split; auto. lia. } destruct (N.ltb_spec (commits_at S u) start) as [Lt|Ge].
    - exists (Commit u :: P). split; [|split; [|split; [|split; [|split; [exact EQ|]]]]].
      + intros e [<-|J]; simpl; auto.
      + intros x y B. apply before_cons in B as [[<- J]|B]; auto. apply P1 in J. simpl. lia.
      + constructor; auto. intro J. apply P1 in J. simpl in J. lia.
      + intros v Iv [e|J] Q; [|now right; auto]. left. now rewrite (Same v Iv e).
      + intros s Q. apply P6. now apply apply_ops_ok.
    - exists P. repeat (split; auto). intros v Iv [e|J] Q; [|auto]. rewrite <- (Same v Iv e) in Q. lia.
  Qed.

  Lemma any_of : forall k t, writes k (ops t) = true -> writes_any t = true.
  Proof.
    unfold writes, writes_any. intros k t W. apply existsb_exists in W as (o & I & W). apply existsb_exists. exists o.
    destruct o; auto.
  Qed.

  Lemma unexplained : forall t order m, In t (txns H) -> left_before S ids (id t) (at_ (Begin t)) 0 (init H) order =
    Some m ->
    all_writers H order = true -> run_ops m (ops t) = true.
  Proof.
    destruct O as (T & ND & IB & IC & BC & R & _). intros t order m It X Al.
    destruct (left_before_ok _ _ _ _ _ _ It X) as (P & P1 & P2 & P3 & P4 & P5 & P6). clear X.
    pose proof (proj2 (IB t) (ALL t It)) as J. apply in_split in J as (l1 & l2 & E1).
    pose proof R as R'. rewrite E1 in R'. apply runs_si_app in R' as (_ & Ex & _).
    apply (run_ops_complete _ _ (after (initial H) l1)); auto. intro k. rewrite <- (P6 (initial H)) by reflexivity.
    rewrite (after_installed k P _ (initial H)), (after_installed k l1 _ (initial H)) by auto. do 2 f_equal.
    assert (N1 : NoDup l1) by (rewrite E1 in ND; now apply NoDup_app_l in ND).
    assert (Le : forall x, In x l1 -> (at_ x <= at_ (Begin t))%N).
    { intros x I. apply A. rewrite E1. exists l1, (Begin t :: l2). simpl. auto. }
    assert (SE : forall u, In u (installed k P) <-> In u (installed k l1)).
    { intro u. rewrite !in_installed. split; intros [I Wu]; split; auto.
      - destruct (P1 _ I) as [Iu [_ Lt]]. simpl in Iu. pose proof (proj2 (IC u) (ALL u Iu)) as K. rewrite E1 in K.
        apply in_app_or in K as [K|[K|K]]; [auto|discriminate|]. exfalso. assert (B : before E (Begin t) (Commit u)).
        { rewrite E1. exists (l1 ++ [Begin t]), l2. rewrite <- app_assoc. auto using in_elt. } apply A in B. lia.
      - assert (Iu : In u (txns H)). { apply T, IC. rewrite E1. apply in_or_app. auto. }
        assert (Io : In (id u) order).
        { unfold all_writers in Al. rewrite forallb_forall in Al. specialize (Al u Iu).
          rewrite (any_of _ _ Wu) in Al. now apply key_set_in. }
        apply P4; auto. specialize (Le _ I). apply N.lt_eq_cases in Le as [|Le]; auto. exfalso.
        rewrite (P5 u Iu Io Le) in I. apply (before_irrefl _ E (Commit t) ND).
        apply (before_trans _ _ _ (Begin t)); auto. rewrite E1. exists l1, (Begin t :: l2). simpl. auto. }
    symmetry. apply same_order; auto using NoDup_installed.
    intros x y B. pose proof (before_in _ _ _ _ B) as [Ix Iy]. apply before_installed, P2 in B. apply SE in Ix, Iy.
    destruct (before_total _ (installed k l1) x y) as [Q|Q]; auto. { intros ->. lia. }
    apply before_installed in Q as (q1 & q2 & E2 & Q1 & Q2). exfalso.
    enough (Q : before E (Commit y) (Commit x)) by (apply A in Q; lia).
    exists q1, (q2 ++ Begin t :: l2). rewrite E1, E2, <- app_assoc, in_app_iff. auto.
  Qed.

  Lemma is_wrong_ok : forall order w, is_wrong S L H ids order w = true -> False.
  Proof.
    destruct O as (_ & ND & IB & IC & BC & _ & W & M).
    assert (NL : forall x y, before E x y -> N.ltb (at_ y) (at_ x) = false) by (intros; now apply N.ltb_ge, A).
    intros order [i|i j|i j k|i]; unfold is_wrong; intro X.
    - destruct (txn_of ids i) as [t|] eqn:F; [|discriminate]. apply (txn_of_ok H ids IDS) in F as [I _].
      rewrite NL in X; [discriminate|auto].
    - destruct (PM.find i ids) as [x|] eqn:Fi; [|discriminate].
      destruct (PM.find j ids) as [y|] eqn:Fj; [|discriminate].
      apply andb_true_iff in X as [Mu X]. destruct (must_ok L H ids IDS _ _ _ _ Fi Fj Mu) as (Ix & Iy & P).
      rewrite NL in X; [discriminate|auto].
    - destruct (txn_of ids i) as [t|] eqn:Fi; [|discriminate]. destruct (txn_of ids j) as [u|] eqn:Fj; [|discriminate].
      apply (txn_of_ok H ids IDS) in Fi as [It <-]. apply (txn_of_ok H ids IDS) in Fj as [Iu <-].
      rewrite !andb_true_iff in X. destruct X as ((((N & Wt) & Wu) & X1) & X2).
      destruct (W t u k) as [B|B]; auto; [|rewrite NL in X1; auto; discriminate|rewrite NL in X2; auto; discriminate].
      intros ->. now rewrite Pos.eqb_refl in N.
    - destruct (txn_of ids i) as [t|] eqn:F; [|discriminate]. apply (txn_of_ok H ids IDS) in F as [I <-].
      destruct (left_before _ _ _ _ _ _ _) as [m|] eqn:Q; [|discriminate]. apply andb_true_iff in X as [X1 X2].
      now rewrite (unexplained t order m I Q X1) in X2.
  Qed.
End Wrong.

Theorem check_stamps_violation_sound : forall S L H order w,
  check_stamps_violation S L H order w = Proved -> ~ timestamped S L H.
Proof.
  intros S L H order w C X. unfold check_stamps_violation in C. destruct (by_id H) as [ids|] eqn:IDS; [|discriminate].
  destruct (stamped S H) eqn:St; [|discriminate]. destruct (is_wrong S L H ids order w) eqn:Wr; [|discriminate].
  destruct (events S L H X) as (ts & E & O & A). eapply is_wrong_ok; eauto. intros t I.
  destruct O as ((_ & _ & T) & _). apply T; auto.
  unfold stamped in St. rewrite forallb_forall in St. specialize (St t I). now apply andb_true_iff in St as [St _].
Qed.
