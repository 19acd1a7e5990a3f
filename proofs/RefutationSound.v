(** * Why a refutation that the kernel accepts is right *)

Require Import List PArith NArith Bool Lia Arith FMapPositive.
From Isovet Require Import History Orders Levels Model Table Answer Symbolic Refutation.
Import ListNotations.

Section Sound.
  Variables (L : level) (H : history) (ids : PM.t (N * txn)) (M : model L H).
  Hypothesis IDS : by_id H = Some ids.
  Notation ws := (writers H).

  Definition eval (a : atom) : bool :=
    match a with
    | Counts t => counts M t
    | Before t u => counts M t && counts M u && Nat.ltb (c M t) (b M u)
    | Reads t k w => counts M t && opt_eqb (src M t k) w
    end.

  Definition sat (cl : clause) : Prop := exists s a, In (s, a) cl /\ eval a = s.

  Definition agrees (v : values) := forall a s, get v a = Some s -> eval a = s.

  Lemma agrees_set : forall v s a, agrees v -> eval a = s -> agrees (set v (s, a)).
  Proof. intros v s a A E a' s' G. apply get_set in G as [G|G]; auto. inversion G; now subst. Qed.

  Lemma agrees_nothing : agrees nothing.
  Proof. intros [t|t u|t k w] s G; simpl in G; unfold sub in G; rewrite ?PM.gempty in G; simpl in G;
    rewrite ?PM.gempty in G; discriminate. Qed.

  Lemma left_of_ok : forall v cl (found : option lit), agrees v ->
    (sat cl \/ exists s a, found = Some (s, a) /\ eval a = s) ->
    match left_of v cl found with Conflict => False | Unit (s, a) => eval a = s | Other => True end.
  Proof.
    intros v cl. induction cl as [|[s a] r IH]; simpl; intros found A S.
    - destruct S as [(s & a & [] & _)|(s & a & -> & E)]. exact E.
    - destruct (get v a) as [s'|] eqn:G.
      + specialize (A a s' G) as E. destruct (Bool.eqb s s') eqn:Q; auto. apply IH; auto.
        destruct S as [(s2 & a2 & [I|I] & E2)|S]; auto.
        * inversion I; subst. rewrite eqb_reflx in Q. discriminate.
        * left. now exists s2, a2.
      + destruct found as [[s' a']|].
        * destruct (Bool.eqb s s' && atom_eqb a a') eqn:Q; auto. apply IH; auto.
          apply andb_true_iff in Q as [Q1 Q2]. apply eqb_prop in Q1. apply atom_eqb_eq in Q2. subst.
          destruct S as [(s2 & a2 & [I|I] & E2)|S]; auto.
          -- inversion I; subst. right. now exists (eval a2), a2.
          -- left. now exists s2, a2.
        * apply IH; auto. destruct S as [(s2 & a2 & [I|I] & E2)|(s2 & a2 & I & _)]; [| |discriminate].
          -- inversion I; subst. right. now exists (eval a2), a2.
          -- left. now exists s2, a2.
  Qed.

  Definition all_true (db : PM.t clause) := forall n cl, PM.find n db = Some cl -> sat cl.

  Lemma propagate_ok : forall db hints v, all_true db -> agrees v -> propagate db v hints = true -> False.
  Proof.
    intros db hints. induction hints as [|h r IH]; simpl; intros v D A P; [discriminate|].
    destruct (PM.find h db) as [cl|] eqn:F; [|discriminate].
    pose proof (left_of_ok v cl None A (or_introl (D h cl F))) as X.
    destruct (left_of v cl None) as [|[s a]|]; [exact X| |discriminate].
    eapply IH; [|apply agrees_set|]; eauto.
  Qed.

  Lemma sat_dec : forall cl, sat cl \/ forall s a, In (s, a) cl -> eval a = negb s.
  Proof.
    induction cl as [|[s a] r [IH|IH]]; [now right| |].
    - left. destruct IH as (s' & a' & I & E). exists s', a'. simpl. auto.
    - destruct (Bool.bool_dec (eval a) s) as [e|n].
      + left. exists s, a. simpl. auto.
      + right. intros s' a' [I|I]; auto. inversion I; subst. destruct (eval a'), s'; simpl; congruence.
  Qed.

  Lemma follows_ok : forall db cl hints, all_true db -> follows db cl hints = true -> sat cl.
  Proof.
    intros db cl hints D F. destruct (sat_dec cl) as [|N]; auto. exfalso.
    eapply propagate_ok; [exact D| |exact F]. unfold falsify.
    assert (K : forall r v, (forall s a, In (s, a) r -> eval a = negb s) -> agrees v ->
      agrees (fold_left (fun v l => set v (negb (fst l), snd l)) r v)).
    { induction r as [|[s a] r IH]; simpl; auto. intros v Nr A. apply IH; auto. apply agrees_set; auto. }
    apply K; auto using agrees_nothing.
  Qed.

  (** *** What was seen *)
  Lemma strip_ok : forall p x z, strip p x = Some z <-> x = p ++ z.
  Proof.
    induction p as [|a p IH]; intros x z; simpl.
    - split; congruence.
    - destruct x as [|e x]; [split; discriminate|]. destruct (Pos.eqb_spec a e).
      + subst. rewrite IH. split; congruence.
      + split; [discriminate|]. congruence.
  Qed.

  Lemma mem_in : forall k ks, mem k ks = true <-> In k ks.
  Proof.
    intros k ks. unfold mem. rewrite existsb_exists. split.
    - intros (x & I & E). apply Pos.eqb_eq in E. now subst.
    - intro I. exists k. split; auto. apply Pos.eqb_refl.
  Qed.

  Lemma contradicts_ok : forall k os s y z, explained os s -> is y z (s k) -> contradicts k os y = false.
  Proof.
    intros k os. induction os as [|o os IH]; simpl; intros s y z X I; auto. destruct X as [S X].
    destruct o as [j x|p ks|j x|j e]; simpl in *.
    - destruct (Pos.eqb_spec j k) as [->|]; [|eauto]. destruct y as [c0|p]; simpl in I.
      + subst. rewrite cell_eqb_refl. now apply (IH _ _ z X).
      + assert (Q : strip p x = Some z). { apply strip_ok. congruence. }
        rewrite Q. now apply (IH _ _ z X).
    - destruct y as [c0|p0]; [|eauto]. simpl in I. subst c0.
      assert (Q : Bool.eqb (matches p k (s k)) (mem k ks) = true).
      { apply eqb_true_iff. apply eq_true_iff_eq. rewrite mem_in. apply S. }
      rewrite Q. now apply (IH _ _ z X).
    - apply (IH _ _ z X). unfold put. rewrite (Pos.eqb_sym k j). destruct (Pos.eqb j k); simpl; auto.
    - apply (IH _ _ z X). unfold put. rewrite (Pos.eqb_sym k j). destruct (Pos.eqb_spec j k) as [->|]; auto.
      destruct y; simpl in *; congruence.
  Qed.

  Lemma observed_ok : forall k os s p z x, explained os s -> s k = p ++ z -> observed k os p = Some x -> x = z.
  Proof.
    intros k os. induction os as [|o os IH]; simpl; intros s p z x X I O; [discriminate|]. destruct X as [S X].
    destruct o as [j y|q ks|j y|j e]; simpl in *.
    - destruct (Pos.eqb_spec j k) as [->|]; [|eauto]. apply strip_ok in O. rewrite <- S, I in O.
      now apply app_inv_head in O.
    - eauto.
    - destruct (Pos.eqb_spec j k) as [->|]; [discriminate|]. eapply IH; eauto. unfold put.
      destruct (Pos.eqb_spec k j); congruence.
    - eapply IH; eauto. unfold put. rewrite (Pos.eqb_sym k j). destruct (Pos.eqb_spec j k) as [->|]; auto.
      simpl. congruence.
  Qed.

  Lemma txn_of_ok : forall i t, txn_of ids i = Some t -> In t (txns H) /\ id t = i.
  Proof.
    intros i t E. unfold txn_of in E. destruct (PM.find i ids) as [x|] eqn:F; [|discriminate]. inversion E; subst t.
    destruct (by_id_ok H ids IDS) as (_ & A & _). exact (at_place_in _ _ _ (A _ _ F)).
  Qed.

  Lemma same : forall t u, In t (txns H) -> In u (txns H) -> id t = id u -> t = u.
  Proof. apply same_id. apply (by_id_ok H ids IDS). Qed.

  Lemma observed_held : forall t k x, In t (txns H) -> counts M (id t) = true -> observed k (ops t) [] = Some x ->
    held M (id t) k = x.
  Proof. intros t k x I C O. symmetry. eapply observed_ok; eauto. { now apply (m_explained L H M). } reflexivity. Qed.

  Lemma participates_ok : forall t, In t (txns H) -> (forall a, In a (participates t) -> eval a = true) ->
    counts M (id t) = true.
  Proof.
    intros t I A. unfold participates in A. destruct (committed t) eqn:C.
    - now apply (m_committed L H M).
    - apply (A (Counts (id t))). now left.
  Qed.

  Lemma list_key_ok : forall k, list_key ws k = true ->
    forall t, In t (txns H) -> exists p, sym_effect k (ops t) (Keep []) = Keep p.
  Proof.
    intros k F t I. destruct (writes k (ops t)) eqn:Wk.
    - unfold list_key in F. rewrite forallb_forall in F. specialize (F t (writers_all H t k I Wk)).
      unfold appended in F. destruct (sym_effect k (ops t) (Keep [])); [discriminate|eauto].
    - exists []. clear -Wk. unfold writes in Wk. generalize (Keep []). induction (ops t) as [|o os IH]; simpl; auto.
      simpl in Wk. apply orb_false_iff in Wk as [W1 W2]. intro y.
      destruct o as [j x|p ks|j x|j e]; simpl in W1; rewrite ?W1; auto.
  Qed.

  Lemma appended_none : forall k t, writes k (ops t) = false -> appended k t = Some [].
  Proof.
    intros k t Wk. unfold appended. enough (sym_effect k (ops t) (Keep []) = Keep []) as -> by auto.
    unfold writes in Wk. generalize (Keep []). induction (ops t) as [|o os IH]; simpl; auto.
    simpl in Wk. apply orb_false_iff in Wk as [W1 W2]. intro y.
    destruct o as [j x|p ks|j x|j e]; simpl in W1; rewrite ?W1; auto.
  Qed.

  Lemma sole_ok : forall k e i, sole H ws k e i = true -> ~ In e (initial H k) /\
    forall t p, In t (txns H) -> sym_effect k (ops t) (Keep []) = Keep p -> In e p -> id t = i.
  Proof.
    intros k e i S. apply andb_true_iff in S as [S1 S2]. split.
    - intro I. apply mem_in in I. rewrite I in S1. discriminate.
    - intros t p I E J. destruct (writes k (ops t)) eqn:Wk.
      + rewrite forallb_forall in S2. specialize (S2 t (writers_all H t k I Wk)). unfold appended in S2.
        rewrite E in S2.
        apply mem_in in J. rewrite J in S2. simpl in S2. rewrite orb_false_r in S2. now apply Pos.eqb_eq.
      + apply appended_none in Wk. unfold appended in Wk. rewrite E in Wk. inversion Wk; subst. destruct J.
  Qed.

  Lemma newer_ok : forall x a b0, newer x a b0 = true -> before x a b0.
  Proof.
    induction x as [|e r IH]; simpl; intros a b0 N; [discriminate|]. apply orb_true_iff in N as [N|N].
    - apply andb_true_iff in N as [N1 N2]. apply Pos.eqb_eq in N1. subst e. apply mem_in in N2.
      exists [a], r. simpl. auto.
    - destruct (IH a b0 N) as (l1 & l2 & -> & I1 & I2). exists (e :: l1), l2. simpl. auto.
  Qed.

  (** *** Edges *)
  Definition where_ (p : point) : nat := if fst p then c M (snd p) else b M (snd p).

  Definition good (e : edge) := (forall a, In a (needs e) -> eval a = true) ->
    counts M (snd (from e)) = true /\ counts M (snd (into e)) = true /\ where_ (from e) < where_ (into e).

  Lemma b_le_c : forall i, counts M i = true -> b M i <= c M i.
  Proof. apply (m_order L H M). Qed.

  (** If t begins before u commits and both write a key, then t commits before u begins. *)
  Lemma writers_apart : forall t u k, In t (txns H) -> In u (txns H) -> counts M (id t) = true -> counts M (id u) =
    true ->
    id t <> id u -> writes k (ops u) = true -> b M (id t) < c M (id u) ->
    where_ (writes k (ops t), id t) < where_ (negb (writes k (ops t)), id u).
  Proof.
    intros t u k It Iu Ct Cu N Wu Lt. unfold where_. simpl. destruct (writes k (ops t)) eqn:Wt; simpl; auto.
    destruct (m_writers L H M t u k) as [X|X]; auto. pose proof (b_le_c _ Ct). pose proof (b_le_c _ Cu). lia.
  Qed.

  Lemma app_needs : forall (x y : list atom), (forall a, In a (x ++ y) -> eval a = true) ->
    (forall a, In a x -> eval a = true) /\ (forall a, In a y -> eval a = true).
  Proof. intros x y A. split; intros a I; apply A; apply in_or_app; auto. Qed.

  Lemma edge_ok : forall j e, edge_of L H ids ws j = Some e -> good e.
  Proof.
    intros j e E. unfold good. destruct j as [i j|i j|i k w|i k w j|i k e0 w|i k e0 j|i k e1 w1 e2 w2]; simpl in E.
    - (* JMust *)
      destruct (PM.find i ids) as [x|] eqn:Fi; [|discriminate].
        destruct (PM.find j ids) as [y|] eqn:Fj; [|discriminate].
      destruct (must L x y) eqn:Mu; [|discriminate]. inversion E; subst e; clear E. simpl. intro A.
      apply app_needs in A as [Ax Ay]. destruct (by_id_ok H ids IDS) as (_ & P & _).
      pose proof (P _ _ Fi) as Px. pose proof (P _ _ Fj) as Py.
      destruct (at_place_in _ _ _ Px) as [Ix <-]. destruct (at_place_in _ _ _ Py) as [Iy <-].
      pose proof (participates_ok _ Ix Ax) as Cx. pose proof (participates_ok _ Iy Ay) as Cy.
      repeat split; auto. unfold where_. simpl. apply (m_must L H M); auto.
      unfold must in Mu. apply andb_true_iff in Mu as [Mu1 Mu2]. apply andb_true_iff in Mu1 as [Mu0 Mu1].
      repeat split; auto.
      + intro e. rewrite e, Pos.eqb_refl in Mu1. discriminate.
      + apply orb_true_iff in Mu2 as [Mu2|Mu2].
        * left. apply andb_true_iff in Mu2 as [Mu2 Mu3]. apply andb_true_iff in Mu2 as [Mu2 Mu4].
          apply Pos.eqb_eq in Mu4. apply N.ltb_lt in Mu3. repeat split; auto. eapply place_before; eauto.
        * right. apply andb_true_iff in Mu2 as [Mu2 Mu3]. split; auto.
          destruct (ended (snd x)) as [e|]; [|discriminate]. exists e. split; auto. now apply N.ltb_lt.
    - (* JBefore *)
      inversion E; subst e; clear E. simpl. intro A. specialize (A _ (or_introl eq_refl)). simpl in A.
      apply andb_true_iff in A as [A1 A3]. apply andb_true_iff in A1 as [A1 A2]. apply Nat.ltb_lt in A3. auto.
    - (* JRead *)
      inversion E; subst e; clear E. simpl. intro A. specialize (A _ (or_introl eq_refl)). simpl in A.
      apply andb_true_iff in A as [A1 A2]. apply opt_eqb_eq in A2.
      destruct (m_src_some L H M i k w A1 A2) as (_ & Cw & Lt & _). auto.
    - (* JAnti *)
      destruct (txn_of ids i) as [t|] eqn:Fi; [|discriminate].
        destruct (txn_of ids j) as [u|] eqn:Fj; [|discriminate].
      destruct (writes k (ops u) && negb (Pos.eqb i j) && negb (opt_eqb w (Some j))) eqn:G; [|discriminate].
      inversion E; subst e; clear E. simpl. intro A.
      apply andb_true_iff in G as [G G3]. apply andb_true_iff in G as [G1 G2].
      destruct (txn_of_ok _ _ Fi) as [It <-]. destruct (txn_of_ok _ _ Fj) as [Iu <-].
      assert (N : id t <> id u). { intro e. rewrite e, Pos.eqb_refl in G2. discriminate. }
      pose proof (A _ (or_introl eq_refl)) as R. simpl in R. apply andb_true_iff in R as [Ct R].
        apply opt_eqb_eq in R.
      assert (A' : forall a, In a (participates u ++ match w with Some w => [Before w (id u)] | None => [] end) ->
        eval a = true).
      { intros a I. apply A. now right. }
      apply app_needs in A' as [Au Aw]. pose proof (participates_ok _ Iu Au) as Cu.
      repeat split; auto. apply writers_apart; auto.
      destruct w as [w|].
      + destruct (m_src_some L H M _ _ _ Ct R) as (_ & Cw & _ & _ & Last). apply Last; auto.
        * intro e. rewrite e in G3. simpl in G3. rewrite Pos.eqb_refl in G3. discriminate.
        * specialize (Aw _ (or_introl eq_refl)). simpl in Aw. apply andb_true_iff in Aw as [_ Lt].
          apply Nat.ltb_lt in Lt. pose proof (b_le_c _ Cu). lia.
      + destruct (m_src_none L H M _ _ Ct R) as [_ Last]. apply Last; auto.
    - (* JElem *)
      destruct (txn_of ids i) as [t|] eqn:Fi; [|discriminate].
        destruct (txn_of ids w) as [u|] eqn:Fw; [|discriminate].
      destruct (observed k (ops t) []) as [x|] eqn:O; [|discriminate].
      destruct (mem e0 x && list_key ws k && sole H ws k e0 w) eqn:G; [|discriminate].
      inversion E; subst e; clear E. simpl. intro A.
      apply andb_true_iff in G as [G G3]. apply andb_true_iff in G as [G1 G2].
      destruct (txn_of_ok _ _ Fi) as [It <-]. pose proof (participates_ok _ It A) as Ct.
      apply mem_in in G1. rewrite <- (observed_held _ _ _ It Ct O) in G1. destruct (sole_ok _ _ _ G3) as [S1 S2].
      destruct (m_list_in L H M _ _ _ Ct (list_key_ok _ G2) G1) as [|(v & p & Iv & Cv & _ & Lt & Ev & Jv)];
        [contradiction|].
      rewrite (S2 v p Iv Ev Jv) in *. auto.
    - (* JMiss *)
      destruct (txn_of ids i) as [t|] eqn:Fi; [|discriminate].
        destruct (txn_of ids j) as [u|] eqn:Fj; [|discriminate].
      destruct (observed k (ops t) []) as [x|] eqn:O; [|discriminate].
      destruct (appended k u) as [p|] eqn:P; [|discriminate].
      destruct (negb (mem e0 x) && mem e0 p && list_key ws k && negb (Pos.eqb i j)) eqn:G; [|discriminate].
      inversion E; subst e; clear E. simpl. intro A. apply app_needs in A as [At Au].
      apply andb_true_iff in G as [G G4]. apply andb_true_iff in G as [G G3]. apply andb_true_iff in G as [G1 G2].
      destruct (txn_of_ok _ _ Fi) as [It <-]. destruct (txn_of_ok _ _ Fj) as [Iu <-].
      pose proof (participates_ok _ It At) as Ct. pose proof (participates_ok _ Iu Au) as Cu.
      assert (N : id t <> id u). { intro e. rewrite e, Pos.eqb_refl in G4. discriminate. }
      unfold appended in P. destruct (sym_effect k (ops u) (Keep [])) as [|p'] eqn:Eu; [discriminate|].
      inversion P; subst p'. apply mem_in in G2.
      assert (Wu : writes k (ops u) = true).
      { destruct (writes k (ops u)) eqn:Wu; auto. apply appended_none in Wu. unfold appended in Wu. rewrite Eu in Wu.
        inversion Wu; subst. destruct G2. }
      repeat split; auto. apply writers_apart; auto.
      apply (m_list_all L H M _ k e0 u p); auto.
      + now apply list_key_ok.
      + rewrite (observed_held _ _ _ It Ct O). intro I. apply mem_in in I. rewrite I in G1. discriminate.
    - (* JOrder *)
      destruct (txn_of ids i) as [t|] eqn:Fi; [|discriminate].
        destruct (txn_of ids w1) as [t1|] eqn:F1; [|discriminate].
      destruct (txn_of ids w2) as [t2|] eqn:F2; [|discriminate].
      destruct (observed k (ops t) []) as [x|] eqn:O; [|discriminate].
      destruct (newer x e2 e1 && list_key ws k && sole H ws k e1 w1 && sole H ws k e2 w2 && negb (Pos.eqb w1 w2))
        eqn:G;
        [|discriminate].
      inversion E; subst e; clear E. simpl. intro A.
      apply andb_true_iff in G as [G G5]. apply andb_true_iff in G as [G G4]. apply andb_true_iff in G as [G G3].
      apply andb_true_iff in G as [G1 G2].
      destruct (txn_of_ok _ _ Fi) as [It <-]. destruct (txn_of_ok _ _ F1) as [I1 <-].
        destruct (txn_of_ok _ _ F2) as [I2 <-].
      pose proof (participates_ok _ It A) as Ct. apply newer_ok in G1. rewrite <- (observed_held _ _ _ It Ct O) in G1.
      destruct (sole_ok _ _ _ G3) as [S1 S2]. destruct (sole_ok _ _ _ G4) as [S3 S4].
      assert (N : id t1 <> id t2). { intro e. rewrite e, Pos.eqb_refl in G5. discriminate. }
      unfold where_. simpl. eapply (m_list_order L H M (id t) k e1 e2 t1 t2); eauto. now apply list_key_ok.
  Qed.

  Lemma joins_ok : forall p q, joins L p q = true -> counts M (snd p) = true -> where_ p <= where_ q.
  Proof.
    intros [x i] [y j] J C. unfold joins in J. simpl in *. apply andb_true_iff in J as [J1 J2].
      apply Pos.eqb_eq in J1. subst j.
    pose proof (b_le_c i C) as B. unfold where_. simpl. destruct (serial L) eqn:S.
    - pose proof (m_serial L H M i S C). destruct x, y; lia.
    - simpl in J2. destruct x, y; simpl in *; try discriminate; lia.
  Qed.

  Lemma path_ok : forall first es last ns ns', path L H ids ws first es last ns = Some ns' ->
    (forall a, In a ns' -> eval a = true) -> counts M (snd last) = true ->
    (forall a, In a ns -> eval a = true) /\ where_ last <= where_ first.
  Proof.
    intros first es. induction es as [|j r IH]; simpl; intros last ns ns' P A C.
    - destruct (joins L last first) eqn:J; [|discriminate]. inversion P; subst. split; auto. now apply joins_ok.
    - destruct (edge_of L H ids ws j) as [e|] eqn:E; [|discriminate].
      destruct (joins L last (from e)) eqn:J; [|discriminate]. simpl in P.
      pose proof (edge_ok _ _ E) as G.
      assert (K : (forall a, In a ns' -> eval a = true) -> forall a, In a (needs e ++ ns) -> eval a = true).
      { clear -P. revert P. generalize (needs e ++ ns) as xs. generalize (into e) as q. clear.
        induction r as [|j r IH]; simpl; intros q xs P A.
        - destruct (joins L q first); [|discriminate]. inversion P; now subst.
        - destruct (edge_of L H ids ws j) as [e|]; [|discriminate]. destruct (joins L q (from e)); [|discriminate].
          intros a I. eapply IH; eauto. apply in_or_app. now right. }
      pose proof (K A) as A'. apply app_needs in A' as [Ae An].
      destruct (G Ae) as (Cf & Ct & Lt). destruct (IH _ _ _ P A Ct) as [_ Le].
      split; auto. pose proof (joins_ok _ _ J C). lia.
  Qed.

  Lemma deny_sat : forall ns cl, ~ (forall a, In a ns -> eval a = true) -> sat (deny ns ++ cl).
  Proof.
    intros ns cl N. destruct (sat_dec (deny ns)) as [(s & a & I & E)|F].
    - exists s, a. split; auto. apply in_or_app. now left.
    - exfalso. apply N. intros a I. rewrite (F false a); auto. apply in_map_iff. now exists a.
  Qed.

  Lemma cycle_ok : forall es cl, cycle L H ids ws es = Some cl -> sat cl.
  Proof.
    intros [|j r] cl E; simpl in E; [discriminate|].
    destruct (edge_of L H ids ws j) as [e|] eqn:Ee; [|discriminate].
    destruct (path L H ids ws (from e) r (into e) (needs e)) as [ns|] eqn:P; [|discriminate]. inversion E; subst cl.
    rewrite <- (app_nil_r (deny ns)). apply deny_sat. intro A. pose proof (edge_ok _ _ Ee) as G.
    assert (Ae : forall a, In a (needs e) -> eval a = true).
    { clear -P A. revert P. generalize (needs e) as xs. generalize (into e) as q. generalize (from e) as f.
      induction r as [|j r IH]; simpl; intros f q xs P.
      - destruct (joins L q f); [|discriminate]. inversion P; now subst.
      - destruct (edge_of L H ids ws j) as [e'|]; [|discriminate]. destruct (joins L q (from e')); [|discriminate].
        intros a I. eapply IH; eauto. apply in_or_app. now right. }
    destruct (G Ae) as (Cf & Ct & Lt). destruct (path_ok _ _ _ _ _ P A Ct) as [_ Le]. lia.
  Qed.

  Lemma candidates_ok : forall t k, In t (txns H) -> counts M (id t) = true -> In (src M (id t) k) (candidates H ws k
    t).
  Proof.
    intros t k I C. pose proof (m_explained L H M t I C) as X. unfold candidates.
    match goal with |- In _ (fold_left ?f _ _) => set (pick := f) end.
    assert (K : forall us l x, In x l -> In x (fold_left pick us l)).
    { induction us as [|u us IH]; simpl; auto. intros l x J. apply IH. unfold pick.
      destruct (_ || _); simpl; auto. }
    destruct (src M (id t) k) as [w|] eqn:S.
    - destruct (m_src_some L H M _ _ _ C S) as (N & _ & _ & (u & s & Iu & <- & Wu & V) & _).
      assert (J : In u (writers_of ws k)) by now apply writers_all.
      match goal with |- In _ (fold_left _ _ ?l) => generalize l end. revert J.
      induction (writers_of ws k) as [|v us IH]; simpl; [easy|]. intros [->|J] l; auto.
      apply K. unfold pick. apply Pos.eqb_neq in N. rewrite N. simpl.
      rewrite (contradicts_ok k (ops t) (held M (id t)) _ (s k)); [now left|exact X|]. rewrite V.
        apply sym_effect_keep.
    - apply K. destruct (m_src_none L H M _ _ C S) as [V _].
      rewrite (contradicts_ok k (ops t) (held M (id t)) (Const (initial H k)) []); auto. now left.
  Qed.

  Lemma clause_ok : forall db s cl, all_true db -> clause_of L H ids ws db s = Some cl -> sat cl.
  Proof.
    intros db s cl D E. destruct s as [es|i k|i j k|i k w w'|a i|cl' hints]; simpl in E.
    - eapply cycle_ok; eauto.
    - destruct (txn_of ids i) as [t|] eqn:F; [|discriminate]. inversion E; subst cl.
      destruct (txn_of_ok _ _ F) as [I <-].
      destruct (sat_dec (deny (participates t))) as [(s & a & J & V)|N].
      { exists s, a. split; auto. apply in_or_app. now left. }
      assert (C : counts M (id t) = true).
      { apply participates_ok; auto. intros a J. rewrite (N false a); auto. apply in_map_iff. now exists a. }
      exists true, (Reads (id t) k (src M (id t) k)). split.
      + apply in_or_app. right. apply in_map_iff. exists (src M (id t) k). split; auto. now apply candidates_ok.
      + simpl. rewrite C. now apply opt_eqb_eq.
    - destruct (txn_of ids i) as [t|] eqn:Fi; [|discriminate].
      destruct (txn_of ids j) as [u|] eqn:Fj; [|discriminate].
      destruct (negb (Pos.eqb i j) && writes k (ops t) && writes k (ops u)) eqn:G; [|discriminate].
      inversion E; subst cl. apply andb_true_iff in G as [G G3]. apply andb_true_iff in G as [G1 G2].
      destruct (txn_of_ok _ _ Fi) as [It <-]. destruct (txn_of_ok _ _ Fj) as [Iu <-].
      destruct (sat_dec (deny (participates t ++ participates u))) as [(s & a & J & V)|N].
      { exists s, a. split; auto. apply in_or_app. now left. }
      assert (A : forall a, In a (participates t ++ participates u) -> eval a = true).
      { intros a J. rewrite (N false a); auto. apply in_map_iff. now exists a. }
      apply app_needs in A as [At Au].
      pose proof (participates_ok _ It At) as Ct. pose proof (participates_ok _ Iu Au) as Cu.
      assert (Ne : id t <> id u). { intro e. rewrite e, Pos.eqb_refl in G1. discriminate. }
      destruct (m_writers L H M t u k) as [X|X]; auto.
      + exists true, (Before (id t) (id u)). split. { apply in_or_app. right. now left. }
        simpl. rewrite Ct, Cu. now apply Nat.ltb_lt.
      + exists true, (Before (id u) (id t)). split. { apply in_or_app. right. simpl. auto. }
        simpl. rewrite Ct, Cu. now apply Nat.ltb_lt.
    - destruct (opt_eqb w w') eqn:Q; [discriminate|]. inversion E; subst cl.
      destruct (sat_dec [(false, Reads i k w); (false, Reads i k w')]) as [|N]; auto. exfalso.
      pose proof (N false (Reads i k w) (or_introl eq_refl)) as V.
        pose proof (N false (Reads i k w') (or_intror (or_introl eq_refl))) as V'.
      simpl in V, V'. apply andb_true_iff in V as [_ V]. apply andb_true_iff in V' as [_ V'].
      apply opt_eqb_eq in V, V'. assert (X : w = w') by congruence. apply opt_eqb_eq in X. congruence.
    - match type of E with guard ?g _ = _ => destruct g eqn:G end; [|discriminate]. inversion E; subst cl.
      destruct (eval a) eqn:V; [|exists false, a; simpl; auto].
      exists true, (Counts i). simpl. split; auto. destruct a as [t|t u|t k w]; simpl in V.
      + apply Pos.eqb_eq in G. now subst.
      + apply andb_true_iff in V as [V _]. apply andb_true_iff in V as [V1 V2].
        apply orb_true_iff in G as [G|G]; apply Pos.eqb_eq in G; now subst.
      + apply andb_true_iff in V as [V1 V2]. apply opt_eqb_eq in V2. apply orb_true_iff in G as [G|G].
        * apply Pos.eqb_eq in G. now subst.
        * apply opt_eqb_eq in G. rewrite G in V2. apply (m_src_some L H M _ _ _ V1 V2).
    - destruct (follows db cl' hints) eqn:F; [|discriminate]. inversion E; subst. eapply follows_ok; eauto.
  Qed.

  Lemma refutes_ok : forall steps db n, all_true db -> refutes L H ids ws db n steps = Proved -> False.
  Proof.
    induction steps as [|s r IH]; simpl; intros db n D R; [discriminate|].
    destruct (clause_of L H ids ws db s) as [cl|] eqn:E; [|discriminate].
    pose proof (clause_ok _ _ _ D E) as S. destruct cl as [|l cl].
    - destruct S as (? & ? & [] & _).
    - apply (IH _ _) in R; auto. intros m cl' F. rewrite find_add in F.
      destruct (Pos.eqb m n); [now inversion F; subst|eauto].
  Qed.
End Sound.

Theorem check_violation_sound : forall L H steps, check_violation L H steps = Proved -> ~ holds L H.
Proof.
  intros L H steps C Ho. unfold check_violation in C. destruct (by_id H) as [ids|] eqn:E; [|discriminate].
  destruct (by_id_ok H ids E) as (WF & _). destruct (model_exists L H WF Ho) as [M].
  eapply (refutes_ok L H ids M E); eauto. intros n cl F. rewrite PM.gempty in F. discriminate.
Qed.
