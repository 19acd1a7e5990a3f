(** * Why a refutation that the kernel accepts is right *)

Require Import List PArith NArith Bool Lia Arith FMapPositive.
From Isovet Require Import History Orders Levels Model Table Answer Symbolic Refutation Clauses.
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

  Notation sat := (sat eval).
  Notation all_true := (all_true eval).
  Notation sat_unless := (sat_unless eval).
  Notation sat_never := (sat_never eval).
  Notation follows_ok := (follows_ok eval).

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
      + assert (Q : strip p x = Some z). { apply strip_ok. congruence. } rewrite Q. now apply (IH _ _ z X).
    - destruct y as [c0|p0]; [|eauto]. simpl in I. subst c0.
      replace (if mem k ks then _ else _) with true; [now apply (IH _ _ z X)|]. destruct (S k) as [S1 S2].
      symmetry. destruct (mem k ks) eqn:Q. { now apply S2, mem_in. }
      destruct (matches certain_of p k (s k)); auto. apply (proj2 (mem_in _ _)) in S1; congruence.
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
    now apply (find_txn H ids).
  Qed.

  Lemma must_ok : forall i j x y, PM.find i ids = Some x -> PM.find j ids = Some y -> must L x y = true ->
    In (snd x) (txns H) /\ In (snd y) (txns H) /\ must_precede L H (snd x) (snd y).
  Proof.
    intros i j x y Fi Fj Mu. destruct (find_txn H ids _ _ IDS Fi) as [Ix _].
    destruct (find_txn H ids _ _ IDS Fj) as [Iy _].
    unfold must in Mu. apply andb_true_iff in Mu as [Mu Or]. apply andb_true_iff in Mu as [Co Ne].
    repeat split; auto. { intro e. now rewrite e, Pos.eqb_refl in Ne. }
    apply orb_true_iff in Or as [Or|Or]; apply andb_true_iff in Or as [Or Lt]; [left|right].
    - apply andb_true_iff in Or as [Or Se]. apply Pos.eqb_eq in Se. apply N.ltb_lt in Lt. repeat split; auto.
      destruct (by_id_ok H ids IDS) as (_ & P & _). eapply place_before; eauto.
    - split; auto. destruct (ended (snd x)) as [e|]; [|discriminate]. exists e. split; auto. now apply N.ltb_lt.
  Qed.

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

  Lemma list_key_ok : forall k, list_key ws k = true -> only_appended H k.
  Proof.
    intros k F t I. destruct (writes k (ops t)) eqn:Wk.
    - unfold list_key in F. rewrite forallb_forall in F. specialize (F t (writers_all H t k I Wk)).
      unfold appended in F. destruct (sym_effect k (ops t) (Keep [])); [discriminate|eauto].
    - exists []. now apply sym_effect_other.
  Qed.

  Lemma appended_none : forall k t, writes k (ops t) = false -> appended k t = Some [].
  Proof. intros k t W. unfold appended. now rewrite sym_effect_other. Qed.

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

  Lemma apart : forall i j, negb (Pos.eqb i j) = true -> i <> j.
  Proof. intros i j E e. now rewrite e, Pos.eqb_refl in E. Qed.

  Lemma app_needs : forall (x y : list atom), (forall a, In a (x ++ y) -> eval a = true) ->
    (forall a, In a x -> eval a = true) /\ (forall a, In a y -> eval a = true).
  Proof. intros x y A. split; intros a I; apply A; apply in_or_app; auto. Qed.

  Lemma edge_ok : forall j e, edge_of L H ids ws j = Some e -> good e.
  Proof.
    intros j e E. unfold good. destruct j as [i j|i j|i k w|i k w j|i k e0 w|i k e0 j|i k e1 w1 e2 w2]; simpl in E.
    - (* JMust *)
      some E x Fi. some E y Fj. demand E Mu. inversion E; subst e; clear E. simpl. intro A.
      apply app_needs in A as [Ax Ay]. destruct (must_ok _ _ _ _ Fi Fj Mu) as (Ix & Iy & P).
      destruct (find_txn H ids _ _ IDS Fi) as [_ <-]. destruct (find_txn H ids _ _ IDS Fj) as [_ <-].
      repeat split; auto using participates_ok. apply (m_must L H M); auto using participates_ok.
    - (* JBefore *)
      inversion E; subst e; clear E. simpl. intro A. specialize (A _ (or_introl eq_refl)). simpl in A.
      rewrite !andb_true_iff in A. destruct A as ((A1 & A2) & A3). apply Nat.ltb_lt in A3. auto.
    - (* JRead *)
      inversion E; subst e; clear E. simpl. intro A. specialize (A _ (or_introl eq_refl)). simpl in A.
      apply andb_true_iff in A as [A1 A2]. apply opt_eqb_eq in A2.
      destruct (m_src_some L H M i k w A1 A2) as (_ & Cw & Lt & _). auto.
    - (* JAnti *)
      some E t Fi. some E u Fj. demand E G. inversion E; subst e; clear E. simpl. intro A.
      rewrite !andb_true_iff in G. destruct G as ((G1 & G2) & G3).
      destruct (txn_of_ok _ _ Fi) as [It <-]. destruct (txn_of_ok _ _ Fj) as [Iu <-]. pose proof (apart _ _ G2) as N.
      pose proof (A _ (or_introl eq_refl)) as R. simpl in R. apply andb_true_iff in R as [Ct R]. apply opt_eqb_eq in R.
      destruct (app_needs _ _ (fun a I => A a (or_intror I))) as [Au Aw]. pose proof (participates_ok _ Iu Au) as Cu.
      repeat split; auto. apply writers_apart; auto. destruct w as [w|].
      + destruct (m_src_some L H M _ _ _ Ct R) as (_ & Cw & _ & _ & Last). apply Last; auto.
        * intro e. rewrite e in G3. simpl in G3. rewrite Pos.eqb_refl in G3. discriminate.
        * specialize (Aw _ (or_introl eq_refl)). simpl in Aw. apply andb_true_iff in Aw as [_ Lt].
          apply Nat.ltb_lt in Lt. pose proof (b_le_c _ Cu). lia.
      + destruct (m_src_none L H M _ _ Ct R) as [_ Last]. apply Last; auto.
    - (* JElem *)
      some E t Fi. some E u Fw. some E x Ob. demand E G. inversion E; subst e; clear E. simpl. intro A.
      rewrite !andb_true_iff in G. destruct G as ((G1 & G2) & G3).
      destruct (txn_of_ok _ _ Fi) as [It <-]. pose proof (participates_ok _ It A) as Ct.
      apply mem_in in G1. rewrite <- (observed_held _ _ _ It Ct Ob) in G1. destruct (sole_ok _ _ _ G3) as [S1 S2].
      destruct (m_list_in L H M _ _ _ Ct (list_key_ok _ G2) G1) as [|(v & p & Iv & Cv & _ & Lt & Ev & Jv)];
        [contradiction|]. rewrite (S2 v p Iv Ev Jv) in *. auto.
    - (* JMiss *)
      some E t Fi. some E u Fj. some E x Ob. some E p P. demand E G. inversion E; subst e; clear E. simpl. intro A.
      apply app_needs in A as [At Au]. rewrite !andb_true_iff in G. destruct G as (((G1 & G2) & G3) & G4).
      destruct (txn_of_ok _ _ Fi) as [It <-]. destruct (txn_of_ok _ _ Fj) as [Iu <-]. pose proof (apart _ _ G4) as N.
      pose proof (participates_ok _ It At) as Ct. pose proof (participates_ok _ Iu Au) as Cu. apply mem_in in G2.
      assert (Wu : writes k (ops u) = true).
      { destruct (writes k (ops u)) eqn:Wu; auto. rewrite appended_none in P by auto. now inversion P; subst. }
      unfold appended in P. destruct (sym_effect k (ops u) (Keep [])) as [|p'] eqn:Eu; [discriminate|].
      inversion P; subst p'. repeat split; auto. apply writers_apart; auto.
      apply (m_list_all L H M _ k e0 u p); auto using list_key_ok.
      rewrite (observed_held _ _ _ It Ct Ob). intro I. apply mem_in in I. rewrite I in G1. discriminate.
    - (* JOrder *)
      some E t Fi. some E t1 F1. some E t2 F2. some E x Ob. demand E G. inversion E; subst e; clear E. simpl. intro A.
      rewrite !andb_true_iff in G. destruct G as ((((G1 & G2) & G3) & G4) & G5). destruct (txn_of_ok _ _ Fi) as [It <-].
      destruct (txn_of_ok _ _ F1) as [I1 <-]. destruct (txn_of_ok _ _ F2) as [I2 <-]. pose proof (apart _ _ G5) as N.
      pose proof (participates_ok _ It A) as Ct. apply newer_ok in G1. rewrite <- (observed_held _ _ _ It Ct Ob) in G1.
      destruct (sole_ok _ _ _ G3) as [S1 S2]. destruct (sole_ok _ _ _ G4) as [S3 S4].
      unfold where_. simpl. eapply (m_list_order L H M (id t) k e1 e2 t1 t2); eauto using list_key_ok.
  Qed.

  Lemma joins_ok : forall p q, joins L p q = true -> counts M (snd p) = true -> where_ p <= where_ q.
  Proof.
    intros [x i] [y j] J C. unfold joins in J. simpl in *. apply andb_true_iff in J as [J1 J2].
      apply Pos.eqb_eq in J1. subst j.
    pose proof (b_le_c i C) as B. unfold where_. simpl. destruct (serial L) eqn:S.
    - pose proof (m_serial L H M i S C). destruct x, y; lia.
    - simpl in J2. destruct x, y; simpl in *; try discriminate; lia.
  Qed.

  Lemma path_needs : forall es first last ns ns', path L H ids ws first es last ns = Some ns' ->
    (forall a, In a ns' -> eval a = true) -> forall a, In a ns -> eval a = true.
  Proof.
    induction es as [|j r IH]; simpl; intros first last ns ns' P A.
    - demand P J. now inversion P; subst.
    - some P e E. demand P J. intros a I. eapply IH; eauto. apply in_or_app. now right.
  Qed.

  Lemma path_ok : forall first es last ns ns', path L H ids ws first es last ns = Some ns' ->
    (forall a, In a ns' -> eval a = true) -> counts M (snd last) = true -> where_ last <= where_ first.
  Proof.
    intros first es. induction es as [|j r IH]; simpl; intros last ns ns' P A C.
    - demand P J. now apply joins_ok.
    - some P e E. demand P J. destruct (app_needs _ _ (path_needs _ _ _ _ _ P A)) as [Ae _].
      destruct (edge_ok _ _ E Ae) as (Cf & Ct & Lt). pose proof (IH _ _ _ P A Ct). pose proof (joins_ok _ _ J C). lia.
  Qed.

  Lemma cycle_ok : forall es cl, cycle L H ids ws es = Some cl -> sat cl.
  Proof.
    intros [|j r] cl E; simpl in E; [discriminate|]. some E e Ee.
    destruct (path L H ids ws (from e) r (into e) (needs e)) as [ns|] eqn:P; [|discriminate]. inversion E; subst cl.
    apply sat_never. intro A. destruct (edge_ok _ _ Ee (path_needs _ _ _ _ _ P A)) as (Cf & Ct & Lt).
    pose proof (path_ok _ _ _ _ _ P A Ct). lia.
  Qed.

  Lemma candidates_ok : forall i k os, counts M i = true -> explained os (held M i) ->
    In (src M i k) (candidates H ws k i os).
  Proof.
    intros i k os C X. unfold candidates. match goal with |- In _ (fold_left ?f _ _) => set (pick := f) end.
    assert (K : forall us l x, In x l -> In x (fold_left pick us l)).
    { induction us as [|u us IH]; simpl; auto. intros l x J. apply IH. unfold pick.
      destruct (_ || _); simpl; auto. }
    destruct (src M i k) as [w|] eqn:S.
    - destruct (m_src_some L H M _ _ _ C S) as (N & _ & _ & (u & Iu & <- & Wu & V) & _).
      assert (J : In u (writers_of ws k)) by now apply writers_all.
      match goal with |- In _ (fold_left _ _ ?l) => generalize l end. revert J.
      induction (writers_of ws k) as [|v us IH]; simpl; [easy|]. intros [->|J] l; auto.
      apply K. unfold pick. apply Pos.eqb_neq in N. rewrite N. simpl.
      rewrite (contradicts_ok k os (held M i) _ (held M (id u) k)); [now left|exact X|]. rewrite V.
        apply sym_effect_keep.
    - apply K. destruct (m_src_none L H M _ _ C S) as [V _].
      rewrite (contradicts_ok k os (held M i) (Const (initial H k)) []); auto. now left.
  Qed.

  Lemma source_ok : forall k vs t os cl, counts M (id t) = true -> explained os (held M (id t)) ->
    source H ids ws k t os vs = Some cl -> sat cl.
  Proof.
    intros k vs. induction vs as [|w r IH]; simpl; intros t os cl C X E.
    - inversion E; subst cl. exists true, (Reads (id t) k (src M (id t) k)). split.
      + apply in_map_iff. exists (src M (id t) k). split; auto. now apply candidates_ok.
      + simpl. rewrite C. now apply opt_eqb_eq.
    - some E u F. some E x Ob. some E p A. some E y Sy.
      destruct (source H ids ws k u (Read k y :: ops u) r) as [cl'|] eqn:G; [|discriminate]. inversion E; subst cl.
      destruct (eval (Reads (id t) k (Some w))) eqn:V; [|exists false; eexists; split; [now left|exact V]].
      simpl in V. apply andb_true_iff in V as [_ V]. apply opt_eqb_eq in V.
      destruct (m_src_some L H M _ _ _ C V) as (_ & Cw & _ & (v & Iv & Ev & _ & Hv) & _).
      destruct (txn_of_ok _ _ F) as [Iu Eu]. assert (v = u) by (apply (same_txn H ids); congruence). subst v w.
      destruct (IH u (Read k y :: ops u) cl') as (s & a & I & Q); auto.
      + simpl. split; [|now apply (m_explained L H M)]. apply strip_ok in Sy.
        apply (observed_ok k os (held M (id t)) [] (held M (id t) k)) in Ob; auto. unfold appended in A.
        pose proof (sym_effect_keep k (ops u) (held M (id u))) as Y.
        destruct (sym_effect k (ops u) (Keep [])) as [|q]; [discriminate|]. inversion A; subst q. simpl in Y.
        apply (app_inv_head p). congruence.
      + exists s, a. split; auto. now right.
  Qed.

  Lemma clause_ok : forall db s cl, all_true db -> clause_of L H ids ws db s = Some cl -> sat cl.
  Proof.
    intros db s cl D E. destruct s as [es|i k vs|i j k|i k w w'|a i|cl' hints]; simpl in E.
    - eapply cycle_ok; eauto.
    - some E t F. destruct (txn_of_ok _ _ F) as [I <-].
      destruct (source H ids ws k t (ops t) vs) as [cl'|] eqn:G; [|discriminate]. inversion E; subst cl.
      apply sat_unless. intro A. pose proof (participates_ok _ I A) as C.
      exact (source_ok _ _ _ _ _ C (m_explained L H M t I C) G).
    - some E t Fi. some E u Fj. demand E G. inversion E; subst cl. rewrite !andb_true_iff in G.
      destruct G as ((G1 & G2) & G3).
      destruct (txn_of_ok _ _ Fi) as [It <-]. destruct (txn_of_ok _ _ Fj) as [Iu <-]. apply sat_unless. intro A.
      apply app_needs in A as [At Au]. pose proof (participates_ok _ It At) as Ct.
      pose proof (participates_ok _ Iu Au) as Cu.
      destruct (m_writers L H M t u k) as [X|X]; auto using apart; apply Nat.ltb_lt in X;
        [exists true, (Before (id t) (id u))|exists true, (Before (id u) (id t))]; simpl; now rewrite Ct, Cu; auto.
    - demand E Q. inversion E; subst cl. apply negb_true_iff in Q. apply (sat_once eval (src M)); auto.
      intros t k' x V. simpl in V.
      apply andb_true_iff in V as [_ V]. now apply opt_eqb_eq in V.
    - demand E G. inversion E; subst cl. destruct (eval a) eqn:V; [|exists false, a; simpl; auto].
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
