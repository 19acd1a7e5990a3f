(** * Refutations: proofs that no order explains a history

    A refutation is a list of steps.  Each step gives a clause, which is true of every order that the level allows:
    because the history says so (a cycle; who may have written what was read; two writers of a key), or because it
    follows from earlier clauses by unit propagation.  The refutation is accepted if one of its clauses is empty. *)

Require Import List PArith NArith Bool Lia Arith FMapPositive.
From Isovet Require Import History Table Answer Symbolic.
Import ListNotations.

(** ** Atoms: what clauses speak about *)
Inductive atom :=
| Counts (t : positive)                                     (* t takes part *)
| Before (t u : positive)                                   (* both do, and t commits before u begins *)
| Reads (t : positive) (k : key) (w : option positive).
  (* t does, and sees w's version of k; None: the initial one *)

Definition lit := (bool * atom)%type.
Definition clause := list lit.

Definition opt_eqb (x y : option positive) : bool :=
  match x, y with Some a, Some b => Pos.eqb a b | None, None => true | _, _ => false end.

Lemma opt_eqb_eq : forall x y, opt_eqb x y = true <-> x = y.
Proof.
  intros [x|] [y|]; simpl; split; intro E; try discriminate; auto.
  - apply Pos.eqb_eq in E. congruence.
  - inversion E. apply Pos.eqb_refl.
Qed.

Definition atom_eqb (x y : atom) : bool :=
  match x, y with
  | Counts t, Counts t' => Pos.eqb t t'
  | Before t u, Before t' u' => Pos.eqb t t' && Pos.eqb u u'
  | Reads t k w, Reads t' k' w' => Pos.eqb t t' && Pos.eqb k k' && opt_eqb w w'
  | _, _ => false
  end.

Lemma atom_eqb_eq : forall x y, atom_eqb x y = true -> x = y.
Proof.
  intros [t|t u|t k w] [t'|t' u'|t' k' w']; simpl; intro E; try discriminate.
  - apply Pos.eqb_eq in E. congruence.
  - apply andb_true_iff in E as [E1 E2]. apply Pos.eqb_eq in E1, E2. congruence.
  - apply andb_true_iff in E as [E1 E3]. apply andb_true_iff in E1 as [E1 E2].
    apply Pos.eqb_eq in E1, E2. apply opt_eqb_eq in E3. congruence.
Qed.

(** ** Unit propagation *)
Record values := {
  v_counts : PM.t bool;
  v_before : PM.t (PM.t bool);
  v_reads : PM.t (PM.t (PM.t bool))
}.

Definition sub {A} (i : positive) (m : PM.t (PM.t A)) : PM.t A :=
  match PM.find i m with Some x => x | None => PM.empty _ end.

Definition writer_key (w : option positive) : positive := match w with None => 1%positive | Some w => Pos.succ w end.

Definition get (v : values) (a : atom) : option bool :=
  match a with
  | Counts t => PM.find t (v_counts v)
  | Before t u => PM.find u (sub t (v_before v))
  | Reads t k w => PM.find (writer_key w) (sub k (sub t (v_reads v)))
  end.

Definition set (v : values) (l : lit) : values :=
  match l with
  | (s, Counts t) => {| v_counts := PM.add t s (v_counts v); v_before := v_before v; v_reads := v_reads v |}
  | (s, Before t u) =>
      {| v_counts := v_counts v; v_before := PM.add t (PM.add u s (sub t (v_before v))) (v_before v);
         v_reads := v_reads v |}
  | (s, Reads t k w) =>
      {| v_counts := v_counts v; v_before := v_before v;
         v_reads := PM.add t (PM.add k (PM.add (writer_key w) s (sub k (sub t (v_reads v)))) (sub t (v_reads v)))
                      (v_reads v) |}
  end.

Definition nothing : values := {| v_counts := PM.empty _; v_before := PM.empty _; v_reads := PM.empty _ |}.

Lemma sub_add : forall A i j x (m : PM.t (PM.t A)), sub i (PM.add j x m) = if Pos.eqb i j then x else sub i m.
Proof. intros. unfold sub at 1. rewrite find_add. now destruct (Pos.eqb i j). Qed.

Lemma writer_key_inj : forall w w', writer_key w = writer_key w' -> w = w'.
Proof. intros [w|] [w'|]; simpl; intro E; auto; try lia. f_equal. lia. Qed.

Lemma get_set : forall v l a s, get (set v l) a = Some s -> l = (s, a) \/ get v a = Some s.
Proof.
  intros v [s' a'] a s. destruct a' as [t'|t' u'|t' k' w'], a as [t|t u|t k w]; simpl; auto.
  - rewrite find_add. destruct (Pos.eqb_spec t t'); auto. intros [= ->]. left. congruence.
  - rewrite sub_add. destruct (Pos.eqb_spec t t'); auto. rewrite find_add. subst.
    destruct (Pos.eqb_spec u u'); auto. intros [= ->]. left. congruence.
  - rewrite sub_add. destruct (Pos.eqb_spec t t'); auto. rewrite sub_add. subst.
    destruct (Pos.eqb_spec k k'); auto. rewrite find_add. subst.
    destruct (Pos.eqb_spec (writer_key w) (writer_key w')) as [e|]; auto.
    apply writer_key_inj in e. intros [= ->]. left. congruence.
Qed.

Inductive state_of_clause := Conflict | Unit (l : lit) | Other.

(** What is left of a clause under values: nothing, one literal, or neither. *)
Fixpoint left_of (v : values) (cl : clause) (found : option lit) : state_of_clause :=
  match cl with
  | [] => match found with None => Conflict | Some l => Unit l end
  | (s, a) :: r =>
      match get v a with
      | Some s' => if Bool.eqb s s' then Other else left_of v r found
      | None =>
          match found with
          | None => left_of v r (Some (s, a))
          | Some (s', a') => if Bool.eqb s s' && atom_eqb a a' then left_of v r found else Other
          end
      end
  end.

Fixpoint propagate (db : PM.t clause) (v : values) (hints : list positive) : bool :=
  match hints with
  | [] => false
  | h :: r =>
      match PM.find h db with
      | None => false
      | Some cl =>
          match left_of v cl None with
          | Conflict => true
          | Unit l => propagate db (set v l) r
          | Other => false
          end
      end
  end.

Definition falsify (cl : clause) : values := fold_left (fun v l => set v (negb (fst l), snd l)) cl nothing.

Definition follows (db : PM.t clause) (cl : clause) (hints : list positive) : bool := propagate db (falsify cl) hints.

(** ** What a transaction may have seen *)
Fixpoint strip (p x : cell) : option cell :=
  match p, x with
  | [], _ => Some x
  | a :: p', e :: x' => if Pos.eqb a e then strip p' x' else None
  | _, _ => None
  end.

Definition mem (k : key) (ks : list key) : bool := existsb (Pos.eqb k) ks.

(** [contradicts k os y]: the operations os can't have found the key k as y says. *)
Fixpoint contradicts (k : key) (os : list op) (y : sym) : bool :=
  match os with
  | [] => false
  | Read j x :: r =>
      if Pos.eqb j k then
        match y with
        | Const c => if cell_eqb c x then contradicts k r y else true
        | Keep p => match strip p x with Some _ => contradicts k r (Const x) | None => true end
        end
      else contradicts k r y
  | Match p ks :: r =>
      match y with
      | Const c => if (if mem k ks then matches possible_of p k c else negb (matches certain_of p k c))
                   then contradicts k r y else true
      | Keep _ => contradicts k r y
      end
  | Write j x :: r => contradicts k r (if Pos.eqb j k then Const x else y)
  | Append j e :: r => contradicts k r (if Pos.eqb j k then push e y else y)
  end.

(** What the snapshot held, as the first read of the key tells, if p had been appended to it before. *)
Fixpoint observed (k : key) (os : list op) (p : cell) : option cell :=
  match os with
  | [] => None
  | Read j x :: r => if Pos.eqb j k then strip p x else observed k r p
  | Match _ _ :: r => observed k r p
  | Write j _ :: r => if Pos.eqb j k then None else observed k r p
  | Append j e :: r => observed k r (if Pos.eqb j k then e :: p else p)
  end.

(** ** Steps *)
Inductive just :=
| JMust (t u : positive)                                      (* session order, real time *)
| JBefore (t u : positive)                                    (* assumed *)
| JRead (t : positive) (k : key) (w : positive)               (* w before t, which sees its version *)
| JAnti (t : positive) (k : key) (w : option positive) (u : positive) (* t sees w's version; u writes the key later *)
| JElem (t : positive) (k : key) (e : elem) (w : positive)    (* t read a list with e, which only w appends *)
| JMiss (t : positive) (k : key) (e : elem) (u : positive)    (* t read a list without e, which u appends *)
| JOrder (t : positive) (k : key) (e1 : elem) (w1 : positive) (e2 : elem) (w2 : positive).
  (* e1 before e2 in t's list *)

Inductive step :=
| Cycle (edges : list just)
| Source (t : positive) (k : key) (ws : list positive)
| Total (t u : positive) (k : key)
| Once (t : positive) (k : key) (w w' : option positive)
| Takes (a : atom) (t : positive)
| Rup (cl : clause) (hints : list positive).

(** A point of a transaction: its commit (true) or its begin (false) *)
Definition point := (bool * positive)%type.

Record edge := { from : point; into : point; needs : list atom }.

Section Kernel.
  Variables (L : level) (H : history) (ids : PM.t (N * txn)) (ws : PM.t (list txn)).

  Definition txn_of (i : positive) : option txn := option_map snd (PM.find i ids).

  Definition participates (t : txn) : list atom := if committed t then [] else [Counts (id t)].

  Definition must (x y : N * txn) : bool :=
    let t := snd x in let u := snd y in
    committed t && negb (Pos.eqb (id t) (id u)) &&
    (sessions L && Pos.eqb (session t) (session u) && N.ltb (fst x) (fst y) ||
     realtime L && match ended t with Some e => N.ltb e (began u) | None => false end).

  Definition appended (k : key) (t : txn) : option cell :=
    match sym_effect k (ops t) (Keep []) with Keep p => Some p | Const _ => None end.

  (** Every writer of the key appends to it, and no other transaction than i appends e, which is not there at first.
    *)
  Definition sole (k : key) (e : elem) (i : positive) : bool :=
    negb (mem e (initial H k)) &&
    forallb (fun t => match appended k t with
                      | Some p => Pos.eqb (id t) i || negb (mem e p)
                      | None => false
                      end) (writers_of ws k).

  Definition list_key (k : key) : bool :=
    forallb (fun t => match appended k t with Some _ => true | None => false end) (writers_of ws k).

  Fixpoint newer (x : cell) (a b : elem) : bool :=
    match x with
    | [] => false
    | e :: r => (Pos.eqb e a && mem b r) || newer r a b
    end.

  Definition guard {A} (x : bool) (y : option A) : option A := if x then y else None.

  Definition edge_of (j : just) : option edge :=
    match j with
    | JMust i j =>
        match PM.find i ids, PM.find j ids with
        | Some x, Some y =>
            guard (must x y) (Some {| from := (true, i); into := (false, j);
                                      needs := participates (snd x) ++ participates (snd y) |})
        | _, _ => None
        end
    | JBefore i j => Some {| from := (true, i); into := (false, j); needs := [Before i j] |}
    | JRead i k w => Some {| from := (true, w); into := (false, i); needs := [Reads i k (Some w)] |}
    | JAnti i k w j =>
        match txn_of i, txn_of j with
        | Some t, Some u =>
            guard (writes k (ops u) && negb (Pos.eqb i j) && negb (opt_eqb w (Some j)))
              (Some {| from := (writes k (ops t), i); into := (negb (writes k (ops t)), j);
                       needs := Reads i k w :: participates u ++
                                match w with Some w => [Before w j] | None => [] end |})
        | _, _ => None
        end
    | JElem i k e w =>
        match txn_of i, txn_of w with
        | Some t, Some _ =>
            match observed k (ops t) [] with
            | Some x => guard (mem e x && list_key k && sole k e w)
                          (Some {| from := (true, w); into := (false, i); needs := participates t |})
            | None => None
            end
        | _, _ => None
        end
    | JMiss i k e j =>
        match txn_of i, txn_of j with
        | Some t, Some u =>
            match observed k (ops t) [], appended k u with
            | Some x, Some p =>
                guard (negb (mem e x) && mem e p && list_key k && negb (Pos.eqb i j))
                  (Some {| from := (writes k (ops t), i); into := (negb (writes k (ops t)), j);
                           needs := participates t ++ participates u |})
            | _, _ => None
            end
        | _, _ => None
        end
    | JOrder i k e1 w1 e2 w2 =>
        match txn_of i, txn_of w1, txn_of w2 with
        | Some t, Some _, Some _ =>
            match observed k (ops t) [] with
            | Some x => guard (newer x e2 e1 && list_key k && sole k e1 w1 && sole k e2 w2 && negb (Pos.eqb w1 w2))
                          (Some {| from := (true, w1); into := (false, w2); needs := participates t |})
            | None => None
            end
        | _, _, _ => None
        end
    end.

  (** From the end of an edge to the beginning of the next: the same point, or a later one. *)
  Definition joins (p q : point) : bool :=
    Pos.eqb (snd p) (snd q) && (serial L || Bool.eqb (fst p) (fst q) || negb (fst p)).

  Fixpoint path (first : point) (es : list just) (last : point) (ns : list atom) : option (list atom) :=
    match es with
    | [] => guard (joins last first) (Some ns)
    | j :: r =>
        match edge_of j with
        | Some e => guard (joins last (from e)) (path first r (into e) (needs e ++ ns))
        | None => None
        end
    end.

  Definition deny (ns : list atom) : clause := map (fun a => (false, a)) ns.

  Definition cycle (es : list just) : option clause :=
    match es with
    | [] => None
    | j :: r =>
        match edge_of j with
        | Some e => option_map deny (path (from e) r (into e) (needs e))
        | None => None
        end
    end.

  (** Whose version of the key i may have seen, of whom the operations os tell *)
  Definition candidates (k : key) (i : positive) (os : list op) : list (option positive) :=
    fold_left (fun l u => if Pos.eqb (id u) i || contradicts k os (sym_effect k (ops u) (Keep [])) then l
                          else Some (id u) :: l)
      (writers_of ws k) (if contradicts k os (Const (initial H k)) then [] else [None]).

  (** Whose version of the key t sees; or, if it sees that of the first of vs, who appended to it, whose that one sees,
      which is what is left without those elements; and so on. *)
  Fixpoint source (k : key) (t : txn) (os : list op) (vs : list positive) : option clause :=
    match vs with
    | [] => Some (map (fun w => (true, Reads (id t) k w)) (candidates k (id t) os))
    | w :: r =>
        match txn_of w, observed k os [] with
        | Some u, Some x =>
            match appended k u with
            | Some p =>
                match strip p x with
                | Some y => option_map (cons (false, Reads (id t) k (Some w))) (source k u (Read k y :: ops u) r)
                | None => None
                end
            | None => None
            end
        | _, _ => None
        end
    end.

  Definition clause_of (db : PM.t clause) (s : step) : option clause :=
    match s with
    | Cycle es => cycle es
    | Source i k vs =>
        match txn_of i with
        | Some t => option_map (app (deny (participates t))) (source k t (ops t) vs)
        | None => None
        end
    | Total i j k =>
        match txn_of i, txn_of j with
        | Some t, Some u =>
            guard (negb (Pos.eqb i j) && writes k (ops t) && writes k (ops u))
              (Some (deny (participates t ++ participates u) ++ [(true, Before i j); (true, Before j i)]))
        | _, _ => None
        end
    | Once i k w w' => guard (negb (opt_eqb w w')) (Some (deny [Reads i k w; Reads i k w']))
    | Takes a i =>
        guard (match a with
               | Counts t => Pos.eqb t i
               | Before t u => Pos.eqb t i || Pos.eqb u i
               | Reads t _ w => Pos.eqb t i || opt_eqb w (Some i)
               end) (Some [(false, a); (true, Counts i)])
    | Rup cl hints => guard (follows db cl hints) (Some cl)
    end.

  (** The steps are numbered from n on. *)
  Fixpoint refutes (db : PM.t clause) (n : positive) (steps : list step) : answer :=
    match steps with
    | [] => Fails_at (Npos n)
    | s :: r =>
        match clause_of db s with
        | None => Fails_at (Npos n)
        | Some [] => Proved
        | Some cl => refutes (PM.add n cl db) (Pos.succ n) r
        end
    end.
End Kernel.

(** The kernel's answer about a "no": [Proved] only if the level does not hold. *)
Definition check_violation (L : level) (H : history) (steps : list step) : answer :=
  match by_id H with
  | None => Ill_formed
  | Some ids => refutes L H ids (writers H) (PM.empty _) 1 steps
  end.
