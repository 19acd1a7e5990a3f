(** * Clauses, and what follows from them

    Whatever it is that makes atoms true or false: a clause that follows by unit propagation from true ones is true. *)

Require Import List PArith NArith Bool FMapPositive.
From Isovet Require Import History Table Refutation.
Import ListNotations.

(** To have what a guard demands *)
Ltac demand E F := unfold guard in E;
  match type of E with (if ?g then _ else _) = _ => destruct g eqn:F; [|discriminate E]; simpl in E end.

Section Clauses.
  Variable eval : atom -> bool.

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
    destruct (left_of v cl None) as [|[s a]|]; [exact X| |discriminate]. eapply IH; [|apply agrees_set|]; eauto.
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

  Lemma sat_unless : forall ns cl, ((forall a, In a ns -> eval a = true) -> sat cl) -> sat (deny ns ++ cl).
  Proof.
    intros ns cl S. destruct (sat_dec (deny ns)) as [(s & a & I & E)|F].
    - exists s, a. split; auto. apply in_or_app. now left.
    - destruct S as (s & a & I & E); [|exists s, a; split; auto; apply in_or_app; now right].
      intros a I. rewrite (F false a); auto. apply in_map_iff. now exists a.
  Qed.

  Lemma sat_never : forall ns, ~ (forall a, In a ns -> eval a = true) -> sat (deny ns).
  Proof. intros ns N. rewrite <- (app_nil_r (deny ns)). apply sat_unless. tauto. Qed.

  (** Who read one version did not read another. *)
  Lemma sat_once : forall f i k w w', (forall t k w, eval (Reads t k w) = true -> f t k = w) -> opt_eqb w w' = false ->
    sat (deny [Reads i k w; Reads i k w']).
  Proof.
    intros f i k w w' F N. apply sat_never. intro A. pose proof (F i k w (A _ (or_introl eq_refl))).
    pose proof (F i k w' (A _ (or_intror (or_introl eq_refl)))). replace w' with w in N by congruence.
    now rewrite (proj2 (opt_eqb_eq w w) eq_refl) in N.
  Qed.
End Clauses.
