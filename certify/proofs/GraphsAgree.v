(** * The definitions of the levels and the graphs of the papers agree *)

Require Import List PArith NArith Bool FMapPositive.
From Isovet Require Import History Orders Levels Paths Graphs.
Import ListNotations.

(** ** What the writers of a key leave *)
Fixpoint installed (k : key) (es : list event) : list txn :=
  match es with
  | [] => []
  | Begin _ :: r => installed k r
  | Commit t :: r => if writes k (ops t) then t :: installed k r else installed k r
  end.

Lemma installed_app : forall k a b, installed k (a ++ b) = installed k a ++ installed k b.
Proof.
  intros k a b. induction a as [|[t|t] a IH]; simpl; auto. destruct (writes k (ops t)); simpl; now rewrite IH.
Qed.

Lemma in_installed : forall k es t, In t (installed k es) <-> In (Commit t) es /\ writes k (ops t) = true.
Proof.
  intros k es t. induction es as [|[u|u] es IH]; simpl; [tauto| |].
  - rewrite IH. split; [tauto|]. intros [[E|I] W]; [discriminate|auto].
  - destruct (writes k (ops u)) eqn:W; simpl; rewrite IH.
    + split; [intros [->|]; tauto|]. intros [[E|I] X]; [inversion E|]; auto.
    + split; [tauto|]. intros [[E|I] X]; auto. inversion E; subst. congruence.
Qed.

Lemma before_installed : forall k es a b, before (installed k es) a b -> before es (Commit a) (Commit b).
Proof.
  intros k es a b. induction es as [|[u|u] es IH]; simpl; intro B.
  - apply before_in in B. easy.
  - apply before_cons. auto.
  - apply before_cons. destruct (writes k (ops u)); auto. apply before_cons in B as [[-> I]|B]; auto.
    apply in_installed in I. left. tauto.
Qed.

Lemma NoDup_installed : forall k es, NoDup es -> NoDup (installed k es).
Proof.
  intros k es. induction es as [|[u|u] es IH]; simpl; intro N; inversion N; subst; auto. { constructor. }
  destruct (writes k (ops u)); auto. constructor; auto. rewrite in_installed. tauto.
Qed.

Lemma after_installed : forall k es s s', s k = s' k -> after s es k = after s' (map Commit (installed k es)) k.
Proof.
  intros k es. induction es as [|[u|u] es IH]; simpl; intros s s' E; auto.
  destruct (writes k (ops u)) eqn:W; simpl; apply IH. { now apply effect_local. } rewrite effect_other by auto. auto.
Qed.

Lemma upto_app : forall w l r, ~ In w l -> upto w (l ++ w :: r) = l ++ [w].
Proof.
  intros w l r. induction l as [|t l IH]; simpl; intro N.
  - destruct (txn_dec w w); [auto|congruence].
  - destruct (txn_dec t w); [subst; tauto|]. rewrite IH; tauto.
Qed.

Lemma installed_before : forall k es a b, before es (Commit a) (Commit b) -> writes k (ops a) = true ->
  writes k (ops b) = true -> before (installed k es) a b.
Proof.
  intros k es a b (l1 & l2 & -> & I1 & I2) Wa Wb. exists (installed k l1), (installed k l2).
  rewrite installed_app, !in_installed. auto.
Qed.

Lemma last_installed : forall k es w, last_writer k es None = Some w ->
  exists a b, es = a ++ Commit w :: b /\ installed k es = installed k a ++ [w].
Proof.
  intros k es w X. destruct (last_writer_some _ _ _ X) as (a & b & -> & Ww & N & _). exists a, b. split; auto.
  rewrite installed_app. simpl. rewrite Ww. repeat f_equal. destruct (installed k b) as [|u r] eqn:Eb; auto. exfalso.
  assert (I : In u (installed k b)). { rewrite Eb. now left. } apply in_installed in I as [I Wu].
  rewrite N in Wu; [discriminate|auto].
Qed.

(** ** From an order to a graph without cycles *)
Section FromOrder.
  Variables (L : level) (H : history) (ts : list txn) (E : list event).
  Hypothesis ND : NoDup E.
  Hypothesis IB : forall t, In (Begin t) E <-> In t ts.
  Hypothesis IC : forall t, In (Commit t) E <-> In t ts.
  Hypothesis BC : forall t, In t ts -> before E (Begin t) (Commit t).
  Hypothesis R : runs_si (initial H) E.
  Hypothesis W : forall t u k, In t ts -> In u ts -> t <> u -> writes k (ops t) = true -> writes k (ops u) = true ->
       before E (Commit t) (Begin u) \/ before E (Commit u) (Begin t).

  Fixpoint until (e : event) (l : list event) : list event :=
    match l with
    | [] => []
    | x :: r => if event_dec x e then [] else x :: until e r
    end.

  Definition order_vo (k : key) := installed k E.
  Definition order_src (t : txn) (k : key) := last_writer k (until (Begin t) E) None.

  Lemma until_split : forall e, In e E -> exists Q, E = until e E ++ e :: Q.
  Proof.
    intro e. clear. induction E as [|x l IH]; simpl; [easy|]. destruct (event_dec x e) as [->|N].
    - exists l. auto.
    - intros [->|I]; [congruence|]. destruct (IH I) as [Q E1]. exists Q. simpl. now rewrite <- E1.
  Qed.

  Lemma until_in : forall e x, In x (until e E) -> In x E.
  Proof.
    intros e x. clear. induction E as [|y l IH]; simpl; auto. destruct (event_dec y e); simpl; [easy|]. intuition.
  Qed.

  Lemma until_before : forall e x, In e E -> (before E x e <-> In x (until e E)).
  Proof.
    intros e x I. destruct (until_split e I) as [Q E1]. pose proof ND as N. rewrite E1 in N.
    rewrite <- (before_prefix _ _ Q e x N). now rewrite <- E1.
  Qed.

  Lemma order_vo_ok : version_order ts order_vo.
  Proof. intro k. split; [now apply NoDup_installed|]. intro t. unfold order_vo. now rewrite in_installed, IC. Qed.

  Lemma order_src_in : forall t k w, order_src t k = Some w ->
    In (Commit w) (until (Begin t) E) /\ writes k (ops w) = true.
  Proof.
    intros t k w X. destruct (last_writer_some _ _ _ X) as (a & b & E1 & Ww & _). split; auto.
    rewrite E1. apply in_elt.
  Qed.

  Lemma order_src_ok : sources order_vo order_src.
  Proof. intros t k w X. apply order_src_in in X as [I Ww]. apply in_installed. eauto using until_in. Qed.

  Lemma order_version : forall t k, In t ts ->
    version H order_vo order_src t k = after (initial H) (until (Begin t) E) k.
  Proof.
    intros t k It. unfold version, order_src. destruct (until_split (Begin t)) as [Q E1]; [now apply IB|].
    destruct (last_writer k (until (Begin t) E) None) as [w|] eqn:X.
    - destruct (last_installed _ _ _ X) as (a & b & E2 & E3).
      assert (E4 : order_vo k = installed k a ++ w :: installed k Q).
      { unfold order_vo. rewrite E1 at 1. rewrite installed_app. simpl. now rewrite E3, <- app_assoc. }
      rewrite E4, upto_app. { unfold left_by. rewrite <- E3. symmetry. now apply after_installed. }
      pose proof (NoDup_installed k E ND) as N. change (installed k E) with (order_vo k) in N. rewrite E4 in N.
      intro J. apply (NoDup_app_not _ _ _ w N J). now left.
    - symmetry. now apply last_writer_none in X as [_ X].
  Qed.

  Lemma order_reads : reads_versions H ts order_vo order_src.
  Proof.
    intros t It. destruct (until_split (Begin t)) as [Q E1]; [now apply IB|].
    pose proof R as R'. rewrite E1 in R'. apply runs_si_app in R' as [_ [X _]].
    eapply explained_ext; [|exact X]. intro k. symmetry. now apply order_version.
  Qed.

  Lemma order_ww : forall a b, ww order_vo a b -> before E (Commit a) (Begin b).
  Proof.
    intros a b (k & B). pose proof (before_in _ _ _ _ B) as [Ia Ib].
    apply order_vo_ok in Ia as [Ia Wa]. apply order_vo_ok in Ib as [Ib Wb].
    assert (N : a <> b). { intros ->. revert B. apply before_irrefl. now apply NoDup_installed. }
    destruct (W a b k) as [X|X]; auto. exfalso. apply before_installed in B.
    apply (before_no_cycle _ E (Commit b) (Begin a) (Commit a)); auto.
  Qed.

  Lemma order_wr : forall a b, In b ts -> wr order_src a b -> before E (Commit a) (Begin b).
  Proof. intros a b Ib (k & _ & X). apply order_src_in in X as [I _]. apply until_before; auto. now apply IB. Qed.

  Lemma order_rw : forall a b, In a ts -> In b ts -> rw order_vo order_src a b -> before E (Begin a) (Commit b).
  Proof.
    intros a b Ia Ib (N & k & _ & X).
    destruct (before_total _ E (Begin a) (Commit b)) as [B|B]; auto; [now apply IB|now apply IC|discriminate|].
    exfalso. apply until_before in B; [|now apply IB]. unfold order_src in X.
    destruct (last_writer k (until (Begin a) E) None) as [w|] eqn:Y.
    - pose proof (before_in _ _ _ _ X) as [_ I]. apply order_vo_ok in I as [_ Wb].
      destruct (last_installed _ _ _ Y) as (p & q & E2 & E3).
      assert (I : In b (installed k (until (Begin a) E))) by (apply in_installed; auto).
      pose proof (NoDup_installed k E ND) as Nk. destruct (until_split (Begin a)) as [Q E1]; [now apply IB|].
      assert (E4 : installed k E = (installed k p ++ [w]) ++ installed k Q).
      { rewrite E1 at 1. rewrite installed_app. simpl. now rewrite E3. }
      rewrite E3 in I. apply in_app_or in I. destruct I as [I|[->|[]]].
      + apply (before_irrefl _ (order_vo k) b); auto. apply (before_trans _ _ b w b); auto.
        exists (installed k p), ([w] ++ installed k Q). unfold order_vo. rewrite E4, <- app_assoc. simpl. auto.
      + now apply before_irrefl in X.
    - apply order_vo_ok in X as [_ Wb]. apply last_writer_none in Y as [Y _]. rewrite Y in Wb; [discriminate|auto].
  Qed.
End FromOrder.

(** ** From a graph without cycles to an order *)
Lemma runs_each : forall E s, (forall P t Q, E = P ++ Begin t :: Q -> explained (ops t) (after s P)) -> runs_si s E.
Proof.
  induction E as [|[t|t] E IH]; simpl; intros s X; auto.
  - split. { apply (X [] t E). auto. } apply IH. intros P u Q ->. apply (X (Begin t :: P) u Q). auto.
  - apply IH. intros P u Q ->. apply (X (Commit t :: P) u Q). auto.
Qed.

Section FromGraph.
  Variables (H : history) (ts : list txn) (vo : key -> list txn) (src : txn -> key -> option txn) (E : list event).
  Hypothesis V : version_order ts vo.
  Hypothesis S : sources vo src.
  Hypothesis X : reads_versions H ts vo src.
  Hypothesis ND : NoDup E.
  Hypothesis IB : forall t, In (Begin t) E <-> In t ts.
  Hypothesis IC : forall t, In (Commit t) E <-> In t ts.
  Hypothesis BC : forall t, In t ts -> before E (Begin t) (Commit t).
  Hypothesis WW : forall a b, ww vo a b -> before E (Commit a) (Commit b).
  Hypothesis WR : forall a b, In b ts -> wr src a b -> before E (Commit a) (Begin b).
  Hypothesis RW : forall a b, In a ts -> In b ts -> rw vo src a b -> before E (Begin a) (Commit b).

  Lemma graph_runs : runs_si (initial H) E.
  Proof.
    apply runs_each. intros P t Q E1. assert (It : In t ts). { apply IB. rewrite E1. apply in_elt. }
    apply explained_looks with (s := version H vo src t); auto. intros k K.
    assert (Vk : vo k = installed k P ++ installed k Q).
    { transitivity (installed k E).
      - apply same_order.
        + apply V.
        + now apply NoDup_installed.
        + intro x. rewrite in_installed, IC. apply V.
        + intros x y B. pose proof (before_in _ _ _ _ B) as [Ix Iy]. apply V in Ix, Iy.
          apply installed_before; [|tauto|tauto]. apply WW. now exists k.
      - rewrite E1, installed_app. reflexivity. }
    assert (N : forall u, In (Commit u) P -> ~ before E (Begin t) (Commit u)).
    { intros u I B. apply (before_irrefl _ E (Commit u)); auto. apply (before_trans _ _ _ (Begin t)); auto.
      rewrite E1. exists P, (Begin t :: Q). simpl. auto. }
    assert (N' : forall u, In (Commit u) P -> ~ rw vo src t u).
    { intros u I B. apply (N u I). apply RW; auto. apply IC. rewrite E1. apply in_or_app. now left. }
    rewrite (after_installed k P (initial H) (initial H)) by auto. unfold version. destruct (src t k) as [w|] eqn:Sk.
    - assert (Iw : In (Commit w) P).
      { apply (before_prefix _ P Q (Begin t)). { now rewrite <- E1. } rewrite <- E1. apply WR; auto. exists k. auto. }
      assert (Jw : In w (installed k P)). { apply in_installed. split; auto. apply V. eapply S. eauto. }
      apply in_split in Jw as (l & r & El). destruct r as [|x r].
      + rewrite Vk, El, <- app_assoc. simpl. rewrite upto_app; auto.
        intro J. destruct (V k) as [Nv _]. rewrite Vk, El, <- app_assoc in Nv.
        apply (NoDup_app_not _ _ _ w Nv J). now left.
      + exfalso. assert (Bx : before (vo k) w x).
        { rewrite Vk, El. exists (l ++ [w]), (x :: r ++ installed k Q). rewrite <- !app_assoc. simpl.
          repeat split; auto. apply in_elt. }
        assert (Ix : In (Commit x) P).
        { apply (in_installed k). rewrite El. apply in_or_app. right. right. now left. }
        destruct (txn_dec t x) as [->|D]; [apply (N x); auto|].
        apply (N' x Ix). split; auto. exists k. rewrite Sk. auto.
    - destruct (installed k P) as [|x r] eqn:Ek; [reflexivity|]. exfalso.
      assert (Ix : In (Commit x) P). { apply (in_installed k). rewrite Ek. now left. }
      destruct (txn_dec t x) as [->|D]; [apply (N x); auto|]. apply (N' x Ix). split; auto. exists k. rewrite Sk.
      split; auto. rewrite Vk. now left.
  Qed.
End FromGraph.

(** ** The theorems *)
Definition whose (e : event) : txn := match e with Begin t | Commit t => t end.

Lemma in_flat : forall o e, In e (flat o) <-> In (whose e) o.
Proof. intros o [t|t]; [apply in_flat_begin|apply in_flat_commit]. Qed.

Lemma flat_before : forall o x y, whose x <> whose y -> before (flat o) x y -> before o (whose x) (whose y).
Proof.
  induction o as [|t o IH]; simpl; intros x y N B. { apply before_in in B. easy. }
  assert (K : forall e, e = x -> whose e = t -> In y (Commit t :: flat o) -> before (t :: o) (whose x) (whose y)).
  { intros e -> <- [<-|I]; [now destruct N|]. apply before_cons. left. split; auto. now apply in_flat. }
  apply before_cons in B as [[E I]|B]; [eapply K; eauto|]. apply before_cons in B as [[E I]|B].
  - eapply K; eauto. now right.
  - apply before_cons. auto.
Qed.

Lemma before_flat_any : forall o x y, before o (whose x) (whose y) -> before (flat o) x y.
Proof. intros o x y (l1 & l2 & -> & I1 & I2). exists (flat l1), (flat l2). rewrite flat_app, !in_flat. auto. Qed.

Lemma flat_runs : forall o s, runs_si s (flat o) -> runs s o.
Proof. induction o; simpl; intuition. Qed.

(** Adya: a history is serializable, with the orders that the level keeps, if and only if versions can be chosen so that
    its serialization graph has no cycle. *)
Theorem serializable_graph : forall L H, is_serializable L H <-> exists ts vo src,
  take_part H ts /\ version_order ts vo /\ sources vo src /\ reads_versions H ts vo src /\
  acyclic (serialization L H ts vo src).
Proof.
  intros L H. split.
  - intros (o & T & R & M). pose proof T as (N & _).
    destruct (flat_order L H o (conj T (conj R M))) as (_ & ND & IB & IC & BC & RF & W & _).
    exists o, (order_vo (flat o)), (order_src (flat o)). refine (conj T (conj _ (conj _ (conj _ _)))).
    + now apply order_vo_ok.
    + now apply order_src_ok.
    + now apply order_reads.
    + assert (P : forall x y, path (serialization L H o (order_vo (flat o)) (order_src (flat o))) x y -> before o x y).
      { intros x y P. assert (F : forall a b, serialization L H o (order_vo (flat o)) (order_src (flat o)) a b ->
          before o a b).
        { intros a b (Ia & Ib & D). assert (Q : ww (order_vo (flat o)) a b \/ wr (order_src (flat o)) a b ->
            before (flat o) (Commit a) (Begin b)).
          { intros [D'|D']; [eapply order_ww|eapply order_wr]; eauto. }
          assert (Q' : before (flat o) (Commit a) (Begin b) -> before o a b).
          { intro B. apply (flat_before o (Commit a) (Begin b)); auto. simpl. intros ->.
            apply (before_irrefl _ (flat o) (Begin b)); auto. eauto using before_trans. }
          destruct D as [D|[D|[D|D]]]; auto. apply (flat_before o (Begin a) (Commit b)); [apply D|].
          eapply order_rw; eauto. }
        induction P; eauto using before_trans. }
      intros x p. apply P in p. now apply before_irrefl in p.
  - intros (ts & vo & src & T & V & S & X & A). pose proof T as (N & T1 & T2).
    destruct (sorted _ ts _ (serialization_dec L H ts vo src V) N A) as (o & No & I & B).
    assert (B' : forall a b, serialization L H ts vo src a b -> before o a b).
    { intros a b s. apply B; auto; apply s. }
    assert (V' : forall k t, In t (vo k) -> In t ts) by (intros k t J; now apply V in J). exists o. split; [|split].
    + split; [auto|]. split; intros; [apply T1|]; apply I; auto.
    + apply flat_runs. apply graph_runs with (ts := ts) (vo := vo) (src := src); auto.
      * now apply NoDup_flat.
      * intro t. now rewrite in_flat_begin.
      * intro t. now rewrite in_flat_commit.
      * intros t It. apply before_own. now apply I.
      * intros a b D. apply before_flat_any, B'. pose proof D as (k & D'). apply before_in in D'.
        split; [|split; [|now left]]; eapply V'; apply D'.
      * intros a b Ib D. apply before_flat_any, B'. pose proof D as (k & _ & D'). apply S in D'.
        split; [|split; [|now auto]]; eauto.
      * intros a b Ia Ib D. apply before_flat_any, B'. split; [|split]; auto.
    + intros a b Ia Ib P. apply B'. split; [now apply I|]. split; [now apply I|auto].
Qed.

(** BC-graphs: a history is snapshot isolated, with the orders that the level keeps, if and only if versions can be
    chosen so that its graph of begins and commits has no cycle. *)
Theorem snapshot_graph : forall L H, is_snapshot_isolated L H <-> exists ts vo src,
  take_part H ts /\ version_order ts vo /\ sources vo src /\ reads_versions H ts vo src /\
  acyclic (begin_commit L H ts vo src).
Proof.
  intros L H. split.
  - intros (ts & E & T & ND & IB & IC & BC & R & W & M).
    exists ts, (order_vo E), (order_src E). refine (conj T (conj _ (conj _ (conj _ _)))).
    + now apply order_vo_ok.
    + now apply order_src_ok.
    + now apply order_reads.
    + assert (P : forall x y, path (begin_commit L H ts (order_vo E) (order_src E)) x y -> before E x y).
      { intros x y P. assert (F : forall a b, begin_commit L H ts (order_vo E) (order_src E) a b -> before E a b).
        { intros a b [t It|t u It Iu [D|[D|D]]|t u It Iu D]; auto.
          - eapply order_ww; eauto.
          - eapply order_wr; eauto.
          - eapply order_rw; eauto. }
        induction P; eauto using before_trans. }
      intros x p. apply P in p. now apply before_irrefl in p.
  - intros (ts & vo & src & T & V & S & X & A). pose proof T as (N & T1 & T2).
    destruct (sorted _ (flat ts) _ (begin_commit_dec L H ts vo src V) (NoDup_flat ts N) A) as (E & NE & I & B).
    assert (B' : forall x y, begin_commit L H ts vo src x y -> before E x y).
    { intros x y s. apply B; auto; apply in_flat; destruct s; auto. }
    assert (V' : forall k t, In t (vo k) -> In t ts) by (intros k t J; now apply V in J).
    assert (IB : forall t, In (Begin t) E <-> In t ts). { intro t. now rewrite I, in_flat_begin. }
    assert (IC : forall t, In (Commit t) E <-> In t ts). { intro t. now rewrite I, in_flat_commit. }
    assert (BC : forall t, In t ts -> before E (Begin t) (Commit t)). { intros t It. now apply B', own. }
    assert (WW : forall a b, ww vo a b -> before E (Commit a) (Begin b)).
    { intros a b D. pose proof D as (k & D'). apply before_in in D'. apply B', seen_by; auto; eapply V'; apply D'. }
    exists ts, E. refine (conj T (conj NE (conj IB (conj IC (conj BC (conj _ (conj _ _))))))).
    + apply graph_runs with (ts := ts) (vo := vo) (src := src); auto.
      * intros a b D. eapply before_trans; eauto. apply BC. destruct D as (k & D). apply before_in in D.
        eapply V'. apply D.
      * intros a b Ib D. apply B', seen_by; auto. destruct D as (k & _ & D). eauto.
      * intros a b Ia Ib D. now apply B', unseen_by.
    + intros a b k Ia Ib D Wa Wb.
      destruct (before_total _ (vo k) a b) as [Q|Q]; auto; try (apply V; auto); [left|right]; apply WW; now exists k.
    + intros a b Ia Ib P. apply B', seen_by; auto.
Qed.

(** The same in words of the serialization graph. *)
Theorem snapshot_cycles : forall L H, is_snapshot_isolated L H <-> exists ts vo src,
  take_part H ts /\ version_order ts vo /\ sources vo src /\ reads_versions H ts vo src /\
  acyclic (parted L H ts vo src).
Proof.
  intros L H. rewrite snapshot_graph. split; intros (ts & vo & src & T & V & S & X & A); exists ts, vo, src;
    repeat (split; [assumption|]); now apply parted_acyclic.
Qed.

(** At both, what a level claims. *)
Theorem holds_graph : forall L H, holds L H <-> exists ts vo src,
  take_part H ts /\ version_order ts vo /\ sources vo src /\ reads_versions H ts vo src /\
  if serial L then acyclic (serialization L H ts vo src) else acyclic (begin_commit L H ts vo src).
Proof. intros L H. unfold holds. destruct (serial L); [apply serializable_graph|apply snapshot_graph]. Qed.
