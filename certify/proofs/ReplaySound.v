(** * Why an order that the kernel accepts is right *)

Require Import List PArith NArith Bool Lia Arith FMapPositive.
From Isovet Require Import History Orders Levels Table Answer Replay.
Import ListNotations.

Lemma cell_of_add : forall m j k x, cell_of (PM.add j x m) k = if Pos.eqb k j then x else cell_of m k.
Proof. intros. unfold cell_of. rewrite find_add. now destruct (Pos.eqb k j). Qed.

Lemma key_set_in : forall ks k, PM.mem k (key_set ks) = true <-> In k ks.
Proof.
  intros ks k. unfold key_set.
  enough (K : forall m, PM.mem k (fold_left (fun m k => PM.add k tt m) ks m) = true <-> In k ks \/ PM.mem k m = true).
  { rewrite K, PM.mem_find, PM.gempty. intuition discriminate. }
  induction ks as [|j ks IH]; simpl; intro m; [tauto|]. rewrite IH, !PM.mem_find, find_add.
  destruct (Pos.eqb_spec k j); intuition congruence.
Qed.

Lemma matched_ok : forall m p ks, matched m p ks = true -> forall k,
  (matches certain_of p k (cell_of m k) = true -> In k ks) /\
  (In k ks -> matches possible_of p k (cell_of m k) = true).
Proof.
  intros m p ks E k. apply andb_true_iff in E as [E1 E2]. rewrite forallb_forall in E1. split; [|apply E1].
  intro X. rewrite forallb_forall in E2. unfold matches in X. destruct (PM.find k p) as [xs|] eqn:F; [|discriminate].
  specialize (E2 (k, xs) (PM.elements_correct _ _ F)). simpl in E2. rewrite X in E2. simpl in E2.
    now apply key_set_in.
Qed.

Lemma run_ops_ok : forall os m s, (forall k, s k = cell_of m k) -> run_ops m os = true -> explained os s.
Proof.
  induction os as [|o os IH]; simpl; intros m s S R; auto.
  assert (T : forall o s, explained [] (effect1 o s)) by easy. destruct o as [k x|p ks|k x|k e]; simpl.
  - apply andb_true_iff in R as [R1 R2]. apply cell_eqb_eq in R1. split; eauto. now rewrite S.
  - apply andb_true_iff in R as [R1 R2]. split; eauto. intro k. rewrite S. now apply matched_ok.
  - split; auto. destruct os as [|o os]; [easy|]. eapply IH; [|exact R]. intro j. rewrite cell_of_add. unfold put.
    now destruct (Pos.eqb j k).
  - split; auto. destruct os as [|o os]; [easy|]. eapply IH; [|exact R]. intro j. rewrite cell_of_add. unfold put.
    destruct (Pos.eqb j k); auto. now rewrite S.
Qed.

Lemma apply_ops_ok : forall os m s, (forall k, s k = cell_of m k) -> forall k,
  effect os s k = cell_of (apply_ops m os) k.
Proof.
  induction os as [|o os IH]; simpl; intros m s S; auto. destruct o as [j x|p ks|j x|j e]; simpl; apply IH; auto;
    intro k; rewrite cell_of_add; unfold put; destruct (Pos.eqb k j); auto. now rewrite S.
Qed.

Lemma mark_find : forall os last n k, PM.find k (mark last n os) = if writes k os then Some n else PM.find k last.
Proof.
  unfold writes. induction os as [|o os IH]; simpl; intros last n k; auto.
  destruct o as [j x|p ks|j x|j e]; simpl; auto; rewrite IH, find_add, (Pos.eqb_sym k j);
    destruct (Pos.eqb j k), (existsb (writes1 k) os); auto.
Qed.

Lemma free_ok : forall os last b k n, free last b os = true -> writes k os = true -> PM.find k last = Some n -> (n <=
  b)%N.
Proof.
  unfold writes. induction os as [|o os IH]; simpl; intros last b k n F W X; [discriminate|].
  destruct o as [j x|p ks|j x|j e]; simpl in *; eauto.
  - apply andb_true_iff in F as [F1 F2]. destruct (Pos.eqb_spec j k); [|eauto]. subst. rewrite X in F1.
    now apply N.leb_le.
  - apply andb_true_iff in F as [F1 F2]. destruct (Pos.eqb_spec j k); [|eauto]. subst. rewrite X in F1.
    now apply N.leb_le.
Qed.

(** The n-th of E, from 0 *)
Definition stands {A} (E : list A) (n : N) (e : A) := nth_error E (N.to_nat n) = Some e.

Lemma stands_snoc : forall A (E : list A) e n x, stands (E ++ [e]) n x <->
  stands E n x \/ (n = N.of_nat (length E) /\ x = e).
Proof.
  intros A E e n x. unfold stands. destruct (Nat.lt_ge_cases (N.to_nat n) (length E)) as [Lt|Ge].
  - rewrite nth_error_app1 by auto. split; auto. intros [S|[-> _]]; auto. rewrite Nnat.Nat2N.id in Lt. lia.
  - rewrite nth_error_app2 by auto. split.
    + intro S. right. destruct (N.to_nat n - length E) as [|m] eqn:D.
      * simpl in S. split; [lia|congruence].
      * simpl in S. destruct m; discriminate.
    + intros [S|[-> ->]].
      * assert (Z : nth_error E (N.to_nat n) <> None) by congruence. apply nth_error_Some in Z. lia.
      * rewrite Nnat.Nat2N.id, Nat.sub_diag. reflexivity.
Qed.

Lemma stands_in : forall A (E : list A) e, In e E <-> exists n, stands E n e.
Proof.
  intros A E e. split.
  - intro I. apply In_nth_error in I as [n I]. exists (N.of_nat n). unfold stands. now rewrite Nnat.Nat2N.id.
  - intros [n S]. eapply nth_error_In; eauto.
Qed.

Lemma stands_before : forall A (E : list A) n m x y, stands E n x -> stands E m y -> (n < m)%N -> before E x y.
Proof.
  intros A E n m x y Sx Sy Lt. unfold stands in *. exists (firstn (N.to_nat m) E), (skipn (N.to_nat m) E).
  split; [now rewrite firstn_skipn|]. split.
  - rewrite <- (firstn_skipn (N.to_nat m) E) in Sx. rewrite nth_error_app1 in Sx.
    + eapply nth_error_In; eauto.
    + rewrite firstn_length. assert (Z : nth_error E (N.to_nat m) <> None) by congruence. apply nth_error_Some in Z.
      lia.
  - apply nth_error_split in Sy as (l1 & l2 & -> & Ln). rewrite <- Ln, skipn_app, skipn_all, Nat.sub_diag. now left.
Qed.

Lemma stands_lt : forall A (E : list A) n x, stands E n x -> (n < N.of_nat (length E))%N.
Proof. intros A E n x S. unfold stands in S. assert (X : nth_error E (N.to_nat n) <> None) by congruence.
  apply nth_error_Some in X. lia. Qed.

Lemma before_snoc : forall A (E : list A) e x y, before E x y -> before (E ++ [e]) x y.
Proof. intros A E e x y (l1 & l2 & -> & I1 & I2). exists l1, (l2 ++ [e]). rewrite <- app_assoc, in_app_iff. auto. Qed.

Lemma before_snoc_cases : forall A (E : list A) e x y, before (E ++ [e]) x y -> before E x y \/ (y = e /\ In x E).
Proof.
  intros A E e x y (l1 & l2 & Eq & I1 & I2). destruct (exists_last (l := l2)) as (l & z & ->). { now intros ->. }
  rewrite app_assoc in Eq. apply app_inj_tail in Eq as [-> <-]. apply in_app_or in I2 as [I2|[<-|[]]].
  - left. now exists l1, l.
  - right. split; auto. apply in_or_app. auto.
Qed.

Lemma before_last : forall A (E : list A) e x, In x E -> before (E ++ [e]) x e.
Proof. intros A E e x I. exists E, [e]. simpl. auto. Qed.

(** A table of the places of those in E that [name] names *)
Definition placed {A} (name : A -> option positive) (m : PM.t N) (E : list A) :=
  forall i n, PM.find i m = Some n <-> exists e, stands E n e /\ name e = Some i.

Lemma placed_nil : forall A (name : A -> option positive), placed name (PM.empty _) [].
Proof.
  intros A name i n. rewrite PM.gempty. split; [discriminate|]. intros (e & St & _). apply stands_lt in St.
  simpl in St. lia.
Qed.

Lemma placed_other : forall A (name : A -> option positive) m E e, placed name m E -> name e = None ->
  placed name m (E ++ [e]).
Proof.
  intros A name m E e P Ne i n. rewrite (P i n). split; intros (x & St & Nx); exists x; rewrite stands_snoc in *; auto.
  destruct St as [St|[_ ->]]; [auto|congruence].
Qed.

Lemma placed_new : forall A (name : A -> option positive) m E e i, placed name m E -> name e = Some i ->
  PM.mem i m = false -> placed name (PM.add i (N.of_nat (length E)) m) (E ++ [e]).
Proof.
  intros A name m E e i P Ne New j n. rewrite find_add. destruct (Pos.eqb_spec j i) as [->|D].
  - split; [intros [= <-]; exists e; rewrite stands_snoc; auto|]. intros (x & St & Nx).
    apply stands_snoc in St as [St|[-> _]]; auto. rewrite PM.mem_find, (proj2 (P i n)) in New; [discriminate|eauto].
  - rewrite (P j n). split; intros (x & St & Nx); exists x; rewrite stands_snoc in *; auto.
    destruct St as [St|[_ ->]]; [auto|congruence].
Qed.

Definition begun (e : event) : option positive := match e with Begin t => Some (id t) | Commit _ => None end.
Definition done (e : event) : option positive := match e with Commit t => Some (id t) | Begin _ => None end.

Section Sound.
  Variables (L : level) (H : history) (ids : PM.t (N * txn)).
  Hypothesis IDS : by_id H = Some ids.

  (** What is true after the events E *)
  Record inv (E : list event) (r : run) : Prop := {
    i_txn : forall x, In x E -> match x with Begin t | Commit t => In t (txns H) end;
    i_held : forall k, after (initial H) E k = cell_of (held r) k;
    i_runs : runs_si (initial H) E;
    i_begins : placed begun (begins r) E;
    i_commits : placed done (commits r) E;
    i_own : forall t n, stands E n (Commit t) -> exists m, stands E m (Begin t) /\ (m < n)%N;
    i_latest : forall t, In (Begin t) E -> (began t <= latest r)%N;
    i_last : forall t n k, stands E n (Commit t) -> writes k (ops t) = true ->
      exists m, PM.find k (last r) = Some m /\ (n < m)%N;
    i_free : forall t u n m k, stands E n (Commit t) -> stands E m (Commit u) -> (n < m)%N -> writes k (ops t) = true
      ->
      writes k (ops u) = true -> before E (Commit t) (Begin u);
    i_time : forall t u e, realtime L = true -> committed t = true -> ended t = Some e -> (e < began u)%N ->
      In (Commit t) E -> In (Begin u) E -> before E (Commit t) (Begin u)
  }.

  Lemma i_begun : forall E r t n, inv E r -> stands E n (Begin t) -> PM.find (id t) (begins r) = Some n.
  Proof. intros E r t n V St. apply (i_begins _ _ V). eauto. Qed.

  Lemma i_committed : forall E r t n, inv E r -> stands E n (Commit t) -> PM.find (id t) (commits r) = Some n.
  Proof. intros E r t n V St. apply (i_commits _ _ V). eauto. Qed.

  Lemma begun_at : forall E r t n, inv E r -> In t (txns H) -> PM.find (id t) (begins r) = Some n -> stands E n
    (Begin t).
  Proof.
    intros E r t n V I F. apply (i_begins _ _ V) in F as ([u|u] & St & [= e]). rewrite (same_txn H ids t u); auto.
    apply (i_txn _ _ V (Begin u)). apply stands_in. eauto.
  Qed.

  Lemma committed_at : forall E r t n, inv E r -> In t (txns H) -> PM.find (id t) (commits r) = Some n ->
    stands E n (Commit t).
  Proof.
    intros E r t n V I F. apply (i_commits _ _ V) in F as ([u|u] & St & [= e]). rewrite (same_txn H ids t u); auto.
    apply (i_txn _ _ V (Commit u)). apply stands_in. eauto.
  Qed.

  Lemma step_ok : forall E r commit i r', inv E r -> next L ids (N.of_nat (length E)) r commit i = Some r' ->
    exists t, inv (E ++ [event_of commit t]) r' /\ id t = i.
  Proof.
    intros E r commit i r' V S. unfold next in S. destruct (PM.find i ids) as [[n0 t]|] eqn:F; [|discriminate].
    destruct (find_txn _ _ _ _ IDS F) as [It Ei]; simpl in It, Ei. exists t. split; auto. subst i.
    pose proof V as V0. destruct V. destruct commit.
    - (* commit *)
      destruct (PM.find (id t) (begins r)) as [b0|] eqn:Fb; [|discriminate].
      destruct (PM.mem (id t) (commits r)) eqn:Mc; [discriminate|].
      destruct (late L t (latest r)) eqn:La; [discriminate|].
      destruct (free (last r) b0 (ops t)) eqn:Fr; [|discriminate]. simpl in S. inversion S; subst r'; clear S.
      pose proof (begun_at _ _ _ _ V0 It Fb) as SB. simpl. constructor; simpl.
      + intros x I. apply in_app_or in I. destruct I as [I|[<-|[]]]; auto. now apply i_txn0.
      + intro k. rewrite after_app. simpl. now apply apply_ops_ok.
      + apply runs_si_app. simpl. auto.
      + now apply placed_other.
      + now apply placed_new.
      + intros u n X. apply stands_snoc in X as [X|[-> X]].
        * destruct (i_own0 _ _ X) as (m & Sm & Lt). exists m. rewrite stands_snoc. auto.
        * inversion X; subst. exists b0. rewrite stands_snoc. split; auto. eapply stands_lt; eauto.
      + intros u I. apply in_app_or in I. destruct I as [I|[I|[]]]; [auto|discriminate].
      + intros u n k X Wk. rewrite mark_find. apply stands_snoc in X as [X|[-> X]].
        * destruct (writes k (ops t)); [|eauto]. exists (N.succ (N.of_nat (length E))). split; auto.
          apply stands_lt in X. lia.
        * inversion X; subst. rewrite Wk. exists (N.succ (N.of_nat (length E))). split; auto. lia.
      + intros u v n m k X Y Lt Wu Wv. apply stands_snoc in X as [X|[-> X]].
        * apply stands_snoc in Y as [Y|[-> Y]]; [apply before_snoc; eauto|]. inversion Y; subst v.
          destruct (i_last0 _ _ _ X Wu) as (q & Fq & Lq). pose proof (free_ok _ _ _ _ _ Fr Wv Fq).
          apply before_snoc. eapply stands_before; eauto. lia.
        * exfalso. apply stands_snoc in Y as [Y|[-> Y]]; [apply stands_lt in Y|]; lia.
      + intros u v e RT Cu Eu Lt Iu Iv. apply in_app_or in Iv. destruct Iv as [Iv|[Iv|[]]]; [|discriminate].
        apply in_app_or in Iu. destruct Iu as [Iu|[Iu|[]]]; [apply before_snoc; eauto|]. inversion Iu; subst u.
          exfalso.
        unfold late in La. rewrite RT, Cu, Eu in La. simpl in La. apply N.ltb_ge in La. specialize (i_latest0 _ Iv).
          lia.
    - (* begin *)
      destruct (PM.mem (id t) (begins r)) eqn:Mb; [discriminate|].
      destruct (run_ops (held r) (ops t)) eqn:Rn; [|discriminate]. simpl in S. inversion S; subst r'; clear S.
      simpl. constructor; simpl.
      + intros x I. apply in_app_or in I. destruct I as [I|[<-|[]]]; auto. now apply i_txn0.
      + intro k. rewrite after_app. simpl. auto.
      + apply runs_si_app. simpl. repeat split; auto. eapply run_ops_ok; eauto.
      + now apply placed_new.
      + now apply placed_other.
      + intros u n X. apply stands_snoc in X as [X|[_ X]]; [|discriminate].
        destruct (i_own0 _ _ X) as (m & Sm & Lt). exists m. rewrite stands_snoc. auto.
      + intros u I. apply in_app_or in I. destruct I as [I|[I|[]]].
        * specialize (i_latest0 _ I). lia.
        * inversion I; subst. lia.
      + intros u n k X Wk. apply stands_snoc in X as [X|[_ X]]; [eauto|discriminate].
      + intros u v n m k X Y Lt Wu Wv. apply stands_snoc in X as [X|[_ X]]; [|discriminate].
        apply stands_snoc in Y as [Y|[_ Y]]; [|discriminate]. apply before_snoc; eauto.
      + intros u v e RT Cu Eu Lt Iu Iv. apply in_app_or in Iu. destruct Iu as [Iu|[Iu|[]]]; [|discriminate].
        apply in_app_or in Iv. destruct Iv as [Iv|[Iv|[]]]; [apply before_snoc; eauto|]. inversion Iv; subst v.
        now apply before_last.
  Qed.

  Lemma replay_ok : forall order E r r', inv E r -> replay L ids (N.of_nat (length E)) r order = inl r' ->
    exists E', inv (E ++ E') r' /\ map named E' = order.
  Proof.
    induction order as [|[commit i] rest IH]; simpl; intros E r r' V R.
    - inversion R; subst. exists []. rewrite app_nil_r. auto.
    - destruct (next L ids (N.of_nat (length E)) r commit i) as [r1|] eqn:S; [|discriminate].
      destruct (step_ok _ _ _ _ _ V S) as (t & V1 & <-).
      replace (N.succ (N.of_nat (length E))) with (N.of_nat (length (E ++ [event_of commit t]))) in R
        by (rewrite app_length; simpl; lia).
      destruct (IH _ _ _ V1 R) as (E' & V' & Me). exists (event_of commit t :: E'). rewrite <- app_assoc in V'.
        split; auto.
      simpl. rewrite Me. now destruct commit.
  Qed.

  Lemma start_ok : inv [] (start H).
  Proof.
    assert (Z : forall n (x : event), stands [] n x -> False). { unfold stands. intros n x S.
      destruct (N.to_nat n); discriminate. }
    constructor; simpl; auto using placed_nil; try easy; intros; exfalso; eauto.
  Qed.

  Lemma complete_all : forall bs cs ts after, complete L bs cs ts after = None -> forall t, In t ts ->
    (committed t = true -> PM.find (id t) bs <> None) /\ (PM.find (id t) bs <> None <-> PM.find (id t) cs <> None).
  Proof.
    intros bs cs ts. induction ts as [|u ts IH]; simpl; intros after C t I; [easy|].
    destruct (PM.find (id u) bs) as [b0|] eqn:Fb; destruct (PM.find (id u) cs) as [c0|] eqn:Fc; try discriminate;
      match type of C with (if ?g then _ else _) = _ => destruct g eqn:G end; try discriminate;
      destruct I as [<-|I]; eauto; rewrite Fb, Fc; split; try (split; congruence); congruence.
  Qed.

  Lemma complete_after : forall bs cs ts after, complete L bs cs ts after = None -> sessions L = true ->
    forall u b0 a, In u ts -> PM.find (id u) bs = Some b0 -> PM.find (session u) after = Some a -> (a <= b0)%N.
  Proof.
    intros bs cs ts. induction ts as [|v ts IH]; simpl; intros after C S u b0 a I Fu Fa; [easy|].
    destruct (PM.find (id v) bs) as [bv|] eqn:Fb; destruct (PM.find (id v) cs) as [cv|] eqn:Fc; try discriminate;
      match type of C with (if ?g then _ else _) = _ => destruct g eqn:C1 end; try discriminate; rename C into C2.
    - rewrite S in C1. simpl in C1. destruct I as [<-|I].
      + rewrite Fa in C1. rewrite Fb in Fu. inversion Fu; subst. now apply N.leb_le.
      + destruct (committed v).
        * destruct (Pos.eqb_spec (session u) (session v)) as [e|n].
          -- assert (X : (N.max a (N.succ cv) <= b0)%N).
             { eapply (IH _ C2 S u); eauto. rewrite find_add, e, Pos.eqb_refl. rewrite e in Fa. now rewrite Fa. } lia.
          -- eapply (IH _ C2 S u); eauto. rewrite find_add. apply Pos.eqb_neq in n. now rewrite n.
        * eapply (IH _ C2 S u); eauto.
    - destruct I as [<-|I]; [congruence|]. eapply (IH _ C2 S u); eauto.
  Qed.

  Lemma complete_sessions : forall bs cs ts after, complete L bs cs ts after = None -> sessions L = true ->
    forall t u c0 b0, before ts t u -> session t = session u -> committed t = true ->
    PM.find (id t) cs = Some c0 -> PM.find (id u) bs = Some b0 -> (c0 < b0)%N.
  Proof.
    intros bs cs ts. induction ts as [|v ts IH]; simpl; intros after C S t u c0 b0 B Se Ct Fc Fb.
    - apply before_in in B as [[] _].
    - assert (Iu : In u ts) by (apply before_cons in B as [[_ I]|B]; [auto|now apply before_in in B]).
      assert (D : t = v \/ before ts t u) by (apply before_cons in B as [[-> _]|B]; auto). destruct D as [->|D].
      + destruct (PM.find (id v) bs) as [bv|] eqn:Fbv; rewrite Fc in C; [|discriminate].
        match type of C with (if ?g then _ else _) = _ => destruct g eqn:C1 end; [|discriminate]. rewrite Ct in C.
        match type of C with context [PM.add _ ?m _] =>
          assert (X : (m <= b0)%N) by (eapply (complete_after _ _ _ _ C S u); eauto;
            rewrite find_add, <- Se, Pos.eqb_refl; reflexivity) end. lia.
      + destruct (PM.find (id v) bs) as [bv|] eqn:Fbv; destruct (PM.find (id v) cs) as [cv|] eqn:Fcv;
        try discriminate;
          match type of C with (if ?g then _ else _) = _ => destruct g eqn:C1 end; try discriminate; eauto.
  Qed.

  Lemma check_order_ok : forall order, finish L H (replay L ids 0 (start H) order) = Proved -> exists ts E,
    snapshot_order L H ts E /\ map named E = order.
  Proof.
    intros order C. destruct (replay L ids 0 (start H) order) as [r|] eqn:R; [|discriminate]. unfold finish in C.
    destruct (complete L (begins r) (commits r) (txns H) (PM.empty N)) eqn:K; [discriminate|]. clear C.
      rename K into C.
    destruct (replay_ok order [] (start H) r start_ok R) as (E & V & Me). simpl in V.
    set (took := fun t => match PM.find (id t) (begins r) with Some _ => true | None => false end).
    exists (filter took (txns H)), E. split; [|exact Me]. destruct (by_id_ok H ids IDS) as (WF & _).
    pose proof (complete_all _ _ _ _ C) as All.
    assert (FB := fun t n => begun_at E r t n V). assert (FC := fun t n => committed_at E r t n V).
    assert (TB : forall t, In t (filter took (txns H)) <-> In (Begin t) E).
    { intro t. rewrite filter_In. unfold took. split.
      - intros [I X]. destruct (PM.find (id t) (begins r)) as [n|] eqn:F; [|discriminate]. apply stands_in. eauto.
      - intro I. pose proof (i_txn E r V _ I) as It. simpl in It. split; auto. apply stands_in in I as [n I].
        now rewrite (i_begun E r _ _ V I). }
    assert (TC : forall t, In t (filter took (txns H)) <-> In (Commit t) E).
    { intro t. rewrite filter_In. unfold took. split.
      - intros [I X]. destruct (All t I) as [_ [A _]].
        destruct (PM.find (id t) (begins r)) as [n|] eqn:F; [|discriminate].
        destruct (PM.find (id t) (commits r)) as [m|] eqn:G; [|exfalso; apply A; auto; discriminate].
        apply stands_in. eauto.
      - intro I. pose proof (i_txn E r V _ I) as It. simpl in It. split; auto. apply stands_in in I as [n I].
        destruct (i_own E r V _ _ I) as (m & Sm & _). now rewrite (i_begun E r _ _ V Sm). }
    split. { repeat split.
      - apply NoDup_filter. clear -WF. unfold well_formed in WF. now apply NoDup_map_inv in WF.
      - intros t I. now apply filter_In in I.
      - intros t I X. apply filter_In. split; auto. unfold took. destruct (All t I) as [A _].
        destruct (PM.find (id t) (begins r)); auto. now apply A in X. }
    split. { apply NoDup_nth_error. intros n m Ln X.
      destruct (nth_error E n) as [x|] eqn:Fx; [|now apply nth_error_None in Fx; lia].
      assert (Sn : stands E (N.of_nat n) x). { unfold stands. now rewrite Nnat.Nat2N.id. }
      assert (Sm : stands E (N.of_nat m) x). { unfold stands. now rewrite Nnat.Nat2N.id. } destruct x as [t|t].
      - apply (i_begun E r _ _ V) in Sn, Sm. rewrite Sn in Sm. inversion Sm. lia.
      - apply (i_committed E r _ _ V) in Sn, Sm. rewrite Sn in Sm. inversion Sm. lia. }
    split. { intro t. symmetry. apply TB. } split. { intro t. symmetry. apply TC. }
    split. { intros t I. apply TC in I. apply stands_in in I as [n I]. destruct (i_own E r V _ _ I) as (m & Sm & Lt).
      eapply stands_before; eauto. }
    split. { apply (i_runs E r V). }
    split. { intros a b k Ia Ib N Wa Wb. apply TC in Ia, Ib. apply stands_in in Ia as [n Ia].
      apply stands_in in Ib as [m Ib]. destruct (N.lt_trichotomy n m) as [Lt|[->|Lt]].
      - left. eapply (i_free E r V a b n m); eauto.
      - exfalso. apply N. unfold stands in Ia, Ib. rewrite Ia in Ib. now inversion Ib.
      - right. eapply (i_free E r V b a m n); eauto. }
    intros a b Ia Ib (N & Ca & [(S & Se & B)|(RT & e & Ee & Lt)]).
    - apply filter_In in Ia as [Ia Ta]. apply filter_In in Ib as [Ib Tb]. unfold took in Ta, Tb.
      destruct (All a Ia) as [_ [A _]]. destruct (PM.find (id a) (begins r)) as [na|] eqn:Fa; [|discriminate].
      destruct (PM.find (id b) (begins r)) as [nb|] eqn:Fb; [|discriminate].
      destruct (PM.find (id a) (commits r)) as [ca|] eqn:Fca; [|exfalso; apply A; auto; discriminate].
      assert (Q : (ca < nb)%N) by (eapply complete_sessions; eauto). eapply stands_before; eauto.
    - apply TC in Ia. apply TB in Ib. eapply (i_time E r V); eauto.
  Qed.
End Sound.

Theorem check_snapshot_order : forall L H order, check_snapshot L H order = Proved -> serial L = false /\
  exists ts E, snapshot_order L H ts E /\ map named E = order.
Proof.
  intros L H order C. unfold check_snapshot in C. destruct (by_id H) as [ids|] eqn:E; [|discriminate].
  destruct (serial L) eqn:S; [discriminate|]. split; auto. now apply check_order_ok in C.
Qed.

Theorem check_snapshot_sound : forall L H order, check_snapshot L H order = Proved -> holds L H.
Proof.
  intros L H order C. apply check_snapshot_order in C as (S & ts & E & O & _). unfold holds. rewrite S.
  now exists ts, E.
Qed.

(** *** Serial orders *)
Lemma exec_is : forall os m m', exec m os = Some m' -> run_ops m os = true /\ apply_ops m os = m'.
Proof.
  induction os as [|o os IH]; simpl; intros m m' X. { inversion X; auto. }
  destruct o as [k x|p ks|k x|k e]; try (destruct (cell_eqb _ _)); try (destruct (matched _ _ _)); try discriminate;
    destruct (IH _ _ X) as [R A]; auto; destruct os; auto.
Qed.

Lemma exec_ok : forall os m m' s, (forall k, s k = cell_of m k) -> exec m os = Some m' ->
  explained os s /\ forall k, effect os s k = cell_of m' k.
Proof.
  intros os m m' s S X. apply exec_is in X as [R <-]. split; [now apply (run_ops_ok _ m)|now apply apply_ops_ok].
Qed.

Lemma runs_app : forall a b s, runs s (a ++ b) <-> runs s a /\ runs (fold_left (fun s t => effect (ops t) s) a s) b.
Proof. induction a; simpl; intros b s; try rewrite IHa; tauto. Qed.

Section Serial.
  Variables (L : level) (H : history) (ids : PM.t (N * txn)).
  Hypothesis IDS : by_id H = Some ids.

  Record serial_inv (o : list txn) (m : PM.t cell) (places : PM.t N) (latest : N) : Prop := {
    s_txn : forall t, In t o -> In t (txns H);
    s_held : forall k, fold_left (fun s t => effect (ops t) s) o (initial H) k = cell_of m k;
    s_runs : runs (initial H) o;
    s_at : placed (fun t => Some (id t)) places o;
    s_latest : forall t, In t o -> (began t <= latest)%N;
    s_time : forall t u e, realtime L = true -> committed t = true -> ended t = Some e -> (e < began u)%N ->
      In t o -> In u o -> before o t u
  }.

  Lemma replay_serial_ok : forall order o m places latest places',
    serial_inv o m places latest ->
    replay_serial L ids (N.of_nat (length o)) m places latest order = inl places' ->
    exists o' m' latest', serial_inv (o ++ o') m' places' latest' /\ map id o' = order.
  Proof.
    induction order as [|i order IH]; simpl; intros o m places latest places' V R.
    - inversion R; subst. exists [], m, latest. rewrite app_nil_r. auto.
    - destruct (PM.find i ids) as [[n0 t]|] eqn:F; [|discriminate].
      destruct (PM.mem i places) eqn:Me; [discriminate|].
      destruct (late L t (N.max latest (began t))) eqn:La; [discriminate|]. simpl in R.
      destruct (exec m (ops t)) as [m1|] eqn:X; [|discriminate].
      destruct (find_txn _ _ _ _ IDS F) as [It Ei]; simpl in It, Ei; subst i. destruct V.
      destruct (exec_ok _ _ _ _ s_held0 X) as [Ex Ef].
      assert (V1 : serial_inv (o ++ [t]) m1 (PM.add (id t) (N.of_nat (length o)) places) (N.max latest (began t))).
      { constructor.
        - intros u I. apply in_app_or in I. destruct I as [I|[<-|[]]]; auto.
        - intro k. rewrite fold_left_app. simpl. apply Ef.
        - apply runs_app. simpl. auto.
        - now apply placed_new.
        - intros u I. apply in_app_or in I. destruct I as [I|[<-|[]]]; [specialize (s_latest0 _ I)|]; lia.
        - intros u v e RT Cu Eu Lt Iu Iv. apply in_app_or in Iu. apply in_app_or in Iv.
          assert (NL : u = t -> (began v <= N.max latest (began t))%N -> False).
          { intros -> B. unfold late in La. rewrite RT, Cu, Eu in La. simpl in La. apply N.ltb_ge in La. lia. }
          destruct Iu as [Iu|[<-|[]]], Iv as [Iv|[<-|[]]].
          + apply before_snoc. eauto.
          + now apply before_last.
          + exfalso. apply NL; auto. specialize (s_latest0 _ Iv). lia.
          + exfalso. apply NL; auto. lia. }
      replace (N.succ (N.of_nat (length o))) with (N.of_nat (length (o ++ [t]))) in R by (rewrite app_length; simpl;
        lia).
      destruct (IH _ _ _ _ _ V1 R) as (o' & m' & l' & V' & Mo). exists (t :: o'), m', l'. rewrite <- app_assoc in V'.
      split; auto. simpl. now rewrite Mo.
  Qed.

  Lemma serial_start : serial_inv [] (init H) (PM.empty _) 0.
  Proof.
    assert (Z : forall n (x : txn), stands [] n x -> False). { unfold stands. intros n x S.
      destruct (N.to_nat n); discriminate. }
    constructor; simpl; auto using placed_nil; try easy; intros; exfalso; eauto.
  Qed.

  Lemma finish_serial_ok : forall order,
    finish_serial L H (replay_serial L ids 0 (init H) (PM.empty _) 0 order) = Proved -> exists o,
    serial_order L H o /\ map id o = order.
  Proof.
    intros order C. destruct (replay_serial L ids 0 (init H) (PM.empty _) 0 order) as [places|] eqn:R;
      [|discriminate].
    simpl in C. destruct (complete L places places (txns H) (PM.empty N)) eqn:K; [discriminate|].
    destruct (replay_serial_ok order [] _ _ _ _ serial_start R) as (o & m & l & V & Mo). simpl in V. destruct V.
    pose proof (complete_all _ _ _ _ _ K) as All.
    assert (FS : forall t n, In t (txns H) -> PM.find (id t) places = Some n -> stands o n t).
    { intros t n I X. apply s_at0 in X as (u & Su & [= e]). rewrite (same_txn H ids t u); auto.
      apply s_txn0. apply stands_in. eauto. }
    assert (s_has0 : forall t n, stands o n t -> PM.find (id t) places = Some n) by (intros t n X; apply s_at0; eauto).
    exists o. split; [split; [|split; auto]|exact Mo].
    - split; [|split; auto].
      + apply NoDup_nth_error. intros n k Ln X.
        destruct (nth_error o n) as [x|] eqn:Fx; [|apply nth_error_None in Fx; lia].
        assert (Sn : stands o (N.of_nat n) x) by (unfold stands; now rewrite Nnat.Nat2N.id).
        assert (Sk : stands o (N.of_nat k) x) by (unfold stands; now rewrite Nnat.Nat2N.id).
        apply s_has0 in Sn, Sk. rewrite Sn in Sk. inversion Sk. lia.
      + intros t I X. destruct (All t I) as [A _]. destruct (PM.find (id t) places) eqn:F; [|now apply A in X].
        apply stands_in. eauto.
    - intros a b Ia Ib (N & Ca & [(S & Se & B)|(RT & e & Ee & Lt)]); [|eauto].
      apply stands_in in Ia as [n Sa]. apply stands_in in Ib as [k Sb].
      eapply stands_before; eauto. eapply complete_sessions; eauto.
  Qed.
End Serial.

Theorem check_serial_order : forall L H order, check_serial L H order = Proved -> serial L = true /\
  exists o, serial_order L H o /\ map id o = order.
Proof.
  intros L H order C. unfold check_serial in C. destruct (by_id H) as [ids|] eqn:E; [|discriminate].
  destruct (serial L); [|discriminate]. split; auto. eapply finish_serial_ok; eauto.
Qed.

Theorem check_serial_sound : forall L H order, check_serial L H order = Proved -> holds L H.
Proof.
  intros L H order C. apply check_serial_order in C as (S & o & O & _). unfold holds. rewrite S. now exists o.
Qed.
