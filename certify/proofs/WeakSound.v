(** * Why a refutation at a weak level that the kernel accepts is right *)

Require Import List PArith NArith Bool Lia Arith FMapPositive.
From Isovet Require Import History Orders Model Table Answer Symbolic Refutation Clauses RefutationSound Weak.
Import ListNotations.

Lemma final_writes : forall k t x, final k t = Some x -> writes k (ops t) = true.
Proof.
  intros k t x F. destruct (writes k (ops t)) eqn:W; auto. apply appended_none in W. unfold appended in W.
  unfold final in F. destruct (sym_effect k (ops t) (Keep [])); discriminate.
Qed.

Section Sound.
  Variables (V : weak_level) (H : history) (ids : PM.t (N * txn)) (co : list txn) (src : txn -> positive -> option txn).
  Hypothesis IDS : by_id H = Some ids.
  Hypothesis X : explains V H co src.
  Notation ws := (writers H).

  Definition is_id (i : positive) (t : txn) := Pos.eqb (id t) i.

  Lemma co_txn : forall t, In t co -> In t (txns H).
  Proof. apply X. Qed.

  Lemma names_id : forall t, In t co -> names (is_id (id t)) co t.
  Proof.
    intros t I. split; [apply Pos.eqb_refl|]. intros u Iu E. apply Pos.eqb_eq in E.
    apply (same_txn H ids); auto using co_txn.
  Qed.

  Definition takes (i : positive) : bool := existsb (is_id i) co.

  Lemma takes_in : forall t, In t (txns H) -> (takes (id t) = true <-> In t co).
  Proof.
    intros t I. unfold takes. rewrite existsb_exists. split.
    - intros (u & Iu & E). apply Pos.eqb_eq in E. rewrite (same_txn H ids t u); auto using co_txn.
    - intro J. exists t. split; auto. apply Pos.eqb_refl.
  Qed.

  Definition place (i : positive) : nat := pos (is_id i) co.

  Lemma place_lt : forall t u, before co t u -> place (id t) < place (id u).
  Proof.
    intros t u B. pose proof (before_in _ _ _ _ B) as [It Iu]. apply before_pos with (x := t) (y := u); auto.
    - apply X.
    - now apply names_id.
    - now apply names_id.
  Qed.

  Definition source_of (i n : positive) : option positive :=
    match find (is_id i) co with
    | Some t => match read_at t n with Some _ => option_map id (src t n) | None => None end
    | None => None
    end.

  Lemma source_is : forall t n, In t co -> source_of (id t) n =
    match read_at t n with Some _ => option_map id (src t n) | None => None end.
  Proof.
    intros t n I. unfold source_of. destruct (find (is_id (id t)) co) as [u|] eqn:F.
    - apply find_some in F as [Iu E]. apply Pos.eqb_eq in E. now rewrite (same_txn H ids u t) by auto using co_txn.
    - apply (find_none _ _ F) in I. unfold is_id in I. rewrite Pos.eqb_refl in I. discriminate.
  Qed.

  Definition eval (a : atom) : bool :=
    match a with
    | Counts t => takes t
    | Before t u => takes t && takes u && Nat.ltb (place t) (place u)
    | Reads t n w => takes t && opt_eqb (source_of t n) w
    end.

  Notation true_all ns := (forall a, In a ns -> eval a = true).

  Lemma part_ok : forall t, In t (txns H) -> true_all (participates t) -> In t co.
  Proof.
    intros t I A. unfold participates in A. destruct (committed t) eqn:C.
    - destruct X as ((_ & _ & T) & _). auto.
    - apply takes_in; auto. apply (A (Counts (id t))). now left.
  Qed.

  Lemma takes_txn : forall i, takes i = true -> exists t, In t co /\ id t = i.
  Proof.
    intros i T. unfold takes in T. apply existsb_exists in T as (t & I & E). apply Pos.eqb_eq in E. eauto.
  Qed.

  (** What a true atom says of a read *)
  Lemma reads_ok : forall i n w, eval (Reads i n (Some w)) = true -> exists t u, In t co /\ id t = i /\ id u = w /\
    read_from src t n u /\ before co u t.
  Proof.
    intros i n w E. simpl in E. apply andb_true_iff in E as [T E]. destruct (takes_txn _ T) as (t & I & <-).
    rewrite source_is in E by auto. apply opt_eqb_eq in E. destruct (read_at t n) as [[k x]|] eqn:R; [|discriminate].
    destruct (src t n) as [u|] eqn:S; [|discriminate]. exists t, u. inversion E. repeat split; auto.
    - rewrite R. discriminate.
    - destruct X as (_ & _ & _ & Y & _). specialize (Y t n k x I R). rewrite S in Y. apply Y.
  Qed.

  Lemma app_needs : forall (x y : list atom), true_all (x ++ y) -> true_all x /\ true_all y.
  Proof. intros x y A. split; intros a I; apply A; apply in_or_app; auto. Qed.

  Lemma session_ok : forall i j e, session_tie ids i j = Some e -> true_all (t_needs e) ->
    exists t u, In t co /\ In u co /\ id t = t_from e /\ id u = t_into e /\ in_session H t u.
  Proof.
    intros i j e E A. unfold session_tie in E. some E x Fi. some E y Fj.
    demand E M. inversion E; subst e; clear E. simpl in *.
    apply app_needs in A as [Ax Ay]. destruct (must_ok _ H ids IDS _ _ _ _ Fi Fj M) as (Ix & Iy & P).
    destruct (find_txn _ _ _ _ IDS Fi) as [_ <-]. destruct (find_txn _ _ _ _ IDS Fj) as [_ <-].
    exists (snd x), (snd y). auto 7 using part_ok.
  Qed.

  Lemma read_tie_ok : forall i n w e, read_tie ids i n w = Some e -> true_all (t_needs e) ->
    exists t u, In t co /\ id t = i /\ t_into e = i /\ t_from e = w /\ id u = w /\ read_from src t n u /\ before co u t.
  Proof.
    intros i n w e E A. unfold read_tie in E. destruct (txn_of ids i) as [x|]; [|discriminate].
    destruct (read_at x n); [|discriminate]. inversion E; subst e; clear E. simpl in *.
    destruct (reads_ok i n w) as (t & u & I & J & K & R & B); [apply A; now left|]. exists t, u. auto 8.
  Qed.

  Lemma link_ok : forall l e, link_of ids l = Some e -> true_all (t_needs e) ->
    exists u t, id u = t_from e /\ id t = t_into e /\ linked H co src u t.
  Proof.
    intros [i j|i n w] e E A; simpl in E.
    - destruct (session_ok _ _ _ E A) as (t & u & It & Iu & Et & Eu & S). exists t, u. repeat split; auto.
    - destruct (read_tie_ok _ _ _ _ E A) as (t & u & It & Et & E1 & E2 & Eu & R & B). exists u, t.
      pose proof (before_in _ _ _ _ B) as [Iu _]. repeat split; auto; try congruence. left. eauto.
  Qed.

  Inductive links : txn -> txn -> Prop :=
  | one_link u t : linked H co src u t -> links u t
  | more_links u v t : linked H co src u v -> links v t -> links u t.

  Lemma chain_ok : forall ls i j ns, chain ids i ls j = Some ns -> true_all ns ->
    exists u t, id u = i /\ id t = j /\ links u t /\ (forall l, ls = [l] -> linked H co src u t).
  Proof.
    induction ls as [|l r IH]; intros i j ns E A; [discriminate|]. cbn [chain] in E. some E e El.
    destruct (Pos.eqb_spec (t_from e) i); [|discriminate]. destruct r as [|l' r].
    - destruct (Pos.eqb_spec (t_into e) j); [|discriminate]. inversion E; subst ns; clear E.
      destruct (link_ok _ _ El A) as (u & t & Eu & Et & Li). exists u, t.
      split; [congruence|]. split; [congruence|]. split; [now constructor|]. intros; exact Li.
    - destruct (chain ids (t_into e) (l' :: r) j) as [ns'|] eqn:Ch; [|discriminate]. inversion E; subst ns; clear E.
      apply app_needs in A as [A1 A2]. destruct (link_ok _ _ El A1) as (u & v & Eu & Ev & Li).
      destruct (IH _ _ _ Ch A2) as (v' & t & Ev' & Et & Ls & _). exists u, t.
      split; [congruence|]. split; [congruence|]. split; [|intros ? [=]].
      assert (Iv : In v co) by apply Li. assert (Iv' : In v' co) by (inversion Ls as [? ? Q|? ? ? Q]; subst; apply Q).
      rewrite (same_txn H ids v' v) in Ls by (auto using co_txn; congruence). eapply more_links; eauto.
  Qed.

  Lemma visible_more : forall t i v, visible V H co src t i v -> V = Causal -> forall u, linked H co src u v ->
    visible V H co src t i u.
  Proof.
    intros t i v Vi EV. induction Vi as [t i v j E|t i v E|t i v E Li|t i v w j E Li Vi IH]; try congruence;
      intros u Lu.
    - eapply by_links with (v := v) (j := i); auto. now apply by_link.
    - eapply by_links; eauto.
  Qed.

  Lemma links_visible : forall u t, links u t -> V = Causal -> forall i, visible V H co src t i u.
  Proof.
    intros u t Ls EV i. induction Ls as [u t Li|u v t Li Ls IH]. { now apply by_link. } eapply visible_more; eauto.
  Qed.

  Lemma seen_ok : forall i n j ls ns, seen_by_read V ids i n j ls = Some ns -> true_all ns ->
    exists t u k x, id t = i /\ id u = j /\ In t co /\ In u co /\ read_at t n = Some (k, x) /\
      writes k (ops u) = true /\ visible V H co src t n u.
  Proof.
    intros i n j ls ns E A. unfold seen_by_read in E. some E t Fi. some E u Fj.
    destruct (read_at t n) as [[k x]|] eqn:R; [|discriminate].
    destruct (sight V ids i n j ls) as [ns'|] eqn:S; [|discriminate].
    destruct (writes k (ops u)) eqn:W; [|discriminate]. inversion E; subst ns'; clear E.
    destruct (txn_of_ok H ids IDS _ _ Fi) as [It <-]. destruct (txn_of_ok H ids IDS _ _ Fj) as [Iu <-].
    assert (C : chain ids (id u) ls (id t) = Some ns).
    { unfold sight in S. destruct V; destruct ls as [|[a b|a b c] [|]]; try discriminate S; auto.
      destruct (_ && _ && _); [exact S|discriminate S]. }
    destruct (chain_ok _ _ _ _ C A) as (u' & t' & Eu & Et & Ls & One). assert (P : In u' co /\ In t' co).
    { split; [inversion Ls as [? ? Q|? ? ? Q]; subst; apply Q|]. clear -Ls. induction Ls as [? ? Q|]; auto. apply Q. }
    destruct P as [Ju Jt].
    assert (u' = u) by auto using co_txn, (same_txn H ids). assert (t' = t) by auto using co_txn, (same_txn H ids).
    subst u' t'.
    exists t, u, k, x. repeat split; auto.
    assert (EV : V = ReadCommitted \/ V = ReadAtomic \/ V = Causal) by (destruct V; auto).
    unfold sight in S. destruct EV as [EV|[EV|EV]]; rewrite EV in S.
    - destruct ls as [|[a b|a b c] [|]]; try discriminate S.
      destruct (Pos.eqb a (id t) && Pos.eqb c (id u) && Pos.ltb b n) eqn:G; [|discriminate S].
      apply andb_true_iff in G as [G G3]. apply andb_true_iff in G as [G1 G2].
      apply Pos.eqb_eq in G1, G2. apply Pos.ltb_lt in G3. subst a c.
      simpl in C. destruct (read_tie ids (id t) b (id u)) as [e|] eqn:Re; [|discriminate C].
      destruct (read_tie_ok _ _ _ _ Re) as (t' & u' & It' & Et' & _ & _ & Eu' & Rf & B).
      { destruct (Pos.eqb (t_from e) (id u)); [|discriminate C].
        destruct (Pos.eqb (t_into e) (id t)); [|discriminate C].
        simpl in C. inversion C; now subst. }
      apply before_in in B as [Iu' _].
      assert (t' = t) by auto using co_txn, (same_txn H ids). assert (u' = u) by auto using co_txn, (same_txn H ids).
      subst.
      now apply by_earlier_read with (j := b).
    - destruct ls as [|l [|]]; try discriminate S. apply by_read_or_session; [exact EV|eapply One; reflexivity].
    - now apply links_visible.
  Qed.

  Definition good (e : tie) := true_all (t_needs e) -> takes (t_from e) = true /\ takes (t_into e) = true /\
    place (t_from e) < place (t_into e).

  Lemma good_before : forall e t u, before co t u -> id t = t_from e -> id u = t_into e ->
    takes (t_from e) = true /\ takes (t_into e) = true /\ place (t_from e) < place (t_into e).
  Proof.
    intros e t u B <- <-. pose proof (before_in _ _ _ _ B) as [It Iu].
    rewrite !takes_in by auto using co_txn. auto using place_lt.
  Qed.

  Lemma wedge_ok : forall e x, wedge_of V ids e = Some x -> good x.
  Proof.
    intros [i j|i j|i n w|i n w j ls] x E A; simpl in E.
    - destruct (session_ok _ _ _ E A) as (t & u & It & Iu & Et & Eu & S). eapply good_before; eauto. now apply X.
    - inversion E; subst x; clear E. specialize (A _ (or_introl eq_refl)). simpl in A.
      apply andb_true_iff in A as [A1 A3]. apply andb_true_iff in A1 as [A1 A2]. apply Nat.ltb_lt in A3. auto.
    - destruct (read_tie_ok _ _ _ _ E A) as (t & u & It & Et & E1 & E2 & Eu & R & B).
      eapply good_before; eauto; congruence.
    - destruct (seen_by_read V ids i n j ls) as [ns|] eqn:S; [|discriminate].
      destruct (Pos.eqb_spec j w) as [|N]; [discriminate|]. inversion E; subst x; clear E. simpl in *.
      destruct (reads_ok i n w) as (t' & w' & It' & Et' & Ew' & [R S'] & B); [apply A; now left|].
      destruct (seen_ok _ _ _ _ _ S) as (t & u & k & x & <- & <- & It & Iu & Ra & W & Vi);
        [intros a I; apply A; now right|].
      assert (t' = t) by auto using co_txn, (same_txn H ids). subst t'.
      destruct X as (_ & _ & _ & _ & _ & Ax). destruct (Ax t n k x u) as (w2 & E2 & B2); auto.
      { rewrite S'. intros [= ->]. congruence. } assert (w2 = w') by congruence. subst w2.
      exact (good_before {| t_from := id u; t_into := w; t_needs := [] |} _ _ B2 eq_refl Ew').
  Qed.

  Lemma round_needs : forall es first last ns ns', round V ids first es last ns = Some ns' ->
    true_all ns' -> true_all ns.
  Proof.
    induction es as [|e r IH]; simpl; intros first last ns ns' E A.
    - destruct (Pos.eqb last first); [|discriminate]. now inversion E; subst.
    - destruct (wedge_of V ids e) as [x|]; [|discriminate]. destruct (Pos.eqb last (t_from x)); [|discriminate].
      intros a I. eapply IH; eauto. apply in_or_app. now right.
  Qed.

  Lemma round_ok : forall es first last ns ns', round V ids first es last ns = Some ns' -> true_all ns' ->
    place last <= place first.
  Proof.
    induction es as [|e r IH]; simpl; intros first last ns ns' E A.
    - destruct (Pos.eqb_spec last first); [subst; lia|discriminate].
    - some E x Ex. destruct (Pos.eqb_spec last (t_from x)); [|discriminate]. simpl in E. subst last.
      pose proof (IH _ _ _ _ E A) as Le. pose proof (round_needs _ _ _ _ _ E A) as An. apply app_needs in An as [An _].
      destruct (wedge_ok _ _ Ex An) as (_ & _ & Lt). lia.
  Qed.

  Lemma wclause_ok : forall db s cl, all_true eval db -> wclause_of V H ids ws db s = Some cl -> sat eval cl.
  Proof.
    intros db s cl D E. destruct s as [es|i n|i j|i n j ls|i|i n w w'|a i|cl' hints]; simpl in E.
    - destruct es as [|e r]; simpl in E; [discriminate|]. some E x Ex.
      destruct (round V ids (t_from x) r (t_into x) (t_needs x)) as [ns|] eqn:R; [|discriminate]. inversion E; subst cl.
      apply (sat_never eval). intro A. pose proof (round_ok _ _ _ _ _ R A).
      pose proof (round_needs _ _ _ _ _ R A) as An.
      destruct (wedge_ok _ _ Ex An) as (_ & _ & Lt). lia.
    - some E t F. destruct (read_at t n) as [[k x]|] eqn:R; [|discriminate].
      inversion E; subst cl. destruct (txn_of_ok H ids IDS _ _ F) as [I <-]. apply (sat_unless eval). intro A.
      assert (It : In t co) by now apply part_ok. destruct X as (_ & _ & _ & Y & _). specialize (Y t n k x It R).
      exists true, (Reads (id t) n (option_map id (src t n))). split.
      + apply in_map_iff. eexists. split; [reflexivity|]. unfold sources. apply in_or_app.
        destruct (src t n) as [u|] eqn:S.
        * right. apply in_map_iff. exists u. split; auto. destruct Y as [B Fi]. apply filter_In. split.
          { apply writers_all; [|eapply final_writes; eauto]. apply co_txn. now apply before_in in B. }
          unfold leaves. rewrite Fi, cell_eqb_refl, andb_true_r.
          assert (id u <> id t). { intro e. pose proof (place_lt _ _ B). rewrite e in *. lia. }
          destruct (Pos.eqb_spec (id u) (id t)); auto.
        * left. simpl. rewrite Y, cell_eqb_refl. now left.
      + simpl. rewrite (proj2 (takes_in t I) It). simpl. rewrite source_is, R by auto. now apply opt_eqb_eq.
    - some E t Fi. some E u Fj. destruct (Pos.eqb_spec i j) as [|N]; [discriminate|]. inversion E; subst cl.
      destruct (txn_of_ok H ids IDS _ _ Fi) as [It <-]. destruct (txn_of_ok H ids IDS _ _ Fj) as [Iu <-].
      apply (sat_unless eval). intro A.
      apply app_needs in A as [At Au]. apply part_ok in At; auto. apply part_ok in Au; auto.
      assert (Ne : t <> u) by congruence.
      pose proof (proj2 (takes_in t It) At) as Tt. pose proof (proj2 (takes_in u Iu) Au) as Tu.
      destruct (Levels.before_total _ co t u At Au Ne) as [B|B].
      + exists true, (Before (id t) (id u)). split; [now left|]. simpl. rewrite Tt, Tu. now apply Nat.ltb_lt, place_lt.
      + exists true, (Before (id u) (id t)). split; [simpl; auto|]. simpl. rewrite Tt, Tu.
        now apply Nat.ltb_lt, place_lt.
    - destruct (seen_by_read V ids i n j ls) as [ns|] eqn:S; [|discriminate]. inversion E; subst cl.
      change (sat eval (deny (Reads i n None :: ns))). apply (sat_never eval). intro A.
      destruct (seen_ok _ _ _ _ _ S) as (t & u & k & x & <- & <- & It & Iu & R & W & Vi);
        [intros a I; apply A; now right|].
      assert (S' : src t n = None).
      { specialize (A _ (or_introl eq_refl)). simpl in A. apply andb_true_iff in A as [_ A]. apply opt_eqb_eq in A.
        rewrite source_is, R in A by auto. destruct (src t n); [discriminate|auto]. }
      destruct X as (_ & _ & _ & _ & _ & Ax). destruct (Ax t n k x u) as (w2 & E2 & _); auto;
        rewrite S' in *; discriminate.
    - some E t F. destruct (own_reads (ops t) (PM.empty cell)) eqn:O; [discriminate|]. inversion E; subst cl.
      destruct (txn_of_ok H ids IDS _ _ F) as [I _]. apply (sat_never eval). intro A. apply part_ok in A; auto.
      destruct X as (_ & _ & Y & _). rewrite Y in O; [discriminate|auto].
    - destruct (opt_eqb w w') eqn:Q; [discriminate|]. inversion E; subst cl. apply (sat_once eval source_of); auto.
      intros t n' x Vx. simpl in Vx. apply andb_true_iff in Vx as [_ Vx]. now apply opt_eqb_eq in Vx.
    - demand E G. inversion E; subst cl. destruct (eval a) eqn:Va; [|exists false, a; simpl; auto].
      exists true, (Counts i). split; [simpl; auto|]. destruct a as [t|t u|t k w].
      + apply Pos.eqb_eq in G. now subst.
      + simpl in *. apply andb_true_iff in Va as [Va _]. apply andb_true_iff in Va as [V1 V2].
        apply orb_true_iff in G as [G|G]; apply Pos.eqb_eq in G; now subst.
      + apply orb_true_iff in G as [G|G].
        * apply Pos.eqb_eq in G. subst. simpl in *. now apply andb_true_iff in Va.
        * apply opt_eqb_eq in G. subst w. destruct (reads_ok _ _ _ Va) as (t' & u & _ & _ & <- & _ & B).
          apply before_in in B as [Iu _]. simpl. apply takes_in; auto using co_txn.
    - destruct (follows db cl' hints) eqn:F; [|discriminate]. inversion E; subst. eapply follows_ok; eauto.
  Qed.

  Lemma wrefutes_ok : forall steps db n, all_true eval db -> wrefutes V H ids ws db n steps = Proved -> False.
  Proof.
    induction steps as [|s r IH]; simpl; intros db n D R; [discriminate|].
    destruct (wclause_of V H ids ws db s) as [cl|] eqn:E; [|discriminate].
    pose proof (wclause_ok _ _ _ D E) as S. destruct cl as [|l cl].
    - destruct S as (? & ? & [] & _).
    - apply (IH _ _) in R; auto. intros m cl' F. rewrite find_add in F.
      destruct (Pos.eqb m n); [now inversion F; subst|eauto].
  Qed.
End Sound.

Theorem check_weak_violation_sound : forall V H steps, check_weak_violation V H steps = Proved -> ~ holds_weak V H.
Proof.
  intros V H steps C (co & src & X). unfold check_weak_violation in C.
  destruct (by_id H) as [ids|] eqn:E; [|discriminate]. destruct (registers H); [|discriminate].
  eapply (wrefutes_ok V H ids co src E X); eauto. intros n cl F. rewrite PM.gempty in F. discriminate.
Qed.
