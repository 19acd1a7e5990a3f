(** * Weak levels: read committed, read atomic, causal

    By the axioms of Biswas and Enea, as docs/levels.md has them: there is an order of the transactions that keeps
    sessions and has each after those that it read from, such that where t reads a key from w, every other writer of the
    key that is visible to that read is before w.  The levels differ in what is visible.  They are defined here for
    registers: histories of reads and writes. *)

Require Import List PArith NArith Bool Lia FMapPositive.
From Isovet Require Import History Table Answer Symbolic Refutation.
Import ListNotations.

Inductive weak_level := ReadCommitted | ReadAtomic | Causal.

Definition registers (H : history) : bool :=
  forallb (fun t => forallb (fun o => match o with Read _ _ | Write _ _ => true | _ => false end) (ops t)) (txns H).

(** The reads of what others wrote, in order; and whether those of what the transaction wrote itself show that. *)
Fixpoint external (os : list op) (mine : PM.t cell) : list (key * cell) :=
  match os with
  | Read k x :: r => if PM.mem k mine then external r mine else (k, x) :: external r mine
  | Write k x :: r => external r (PM.add k x mine)
  | _ :: r => external r mine
  | [] => []
  end.

Fixpoint own_reads (os : list op) (mine : PM.t cell) : bool :=
  match os with
  | Read k x :: r => match PM.find k mine with Some y => cell_eqb x y | None => true end && own_reads r mine
  | Write k x :: r => own_reads r (PM.add k x mine)
  | _ :: r => own_reads r mine
  | [] => true
  end.

Fixpoint nth_from {A} (n : positive) (l : list A) (i : positive) : option A :=
  match l with
  | [] => None
  | x :: r => if Pos.eqb n i then Some x else nth_from (Pos.succ n) r i
  end.

(** The i-th read of others' versions, from 1 on *)
Definition read_at (t : txn) (i : positive) : option (key * cell) := nth_from 1 (external (ops t) (PM.empty _)) i.

(** What a transaction leaves in a key that it writes *)
Definition final (k : key) (t : txn) : option cell :=
  match sym_effect k (ops t) (Keep []) with Const x => Some x | Keep _ => None end.

Section Levels.
  Variables (V : weak_level) (H : history).

  Definition in_session (a b : txn) := must_precede session_serializable H a b.

  Section Sources.
    Variables (co : list txn) (src : txn -> positive -> option txn).

    Definition read_from (t : txn) (i : positive) (u : txn) := read_at t i <> None /\ src t i = Some u.

    Definition linked (u t : txn) := In u co /\ In t co /\ ((exists i, read_from t i u) \/ in_session u t).

    Inductive visible : txn -> positive -> txn -> Prop :=
    | by_earlier_read t i u j : V = ReadCommitted -> (j < i)%positive -> read_from t j u -> visible t i u
    | by_read_or_session t i u : V = ReadAtomic -> linked u t -> visible t i u
    | by_link t i u : V = Causal -> linked u t -> visible t i u
    | by_links t i u v j : V = Causal -> linked v t -> visible v j u -> visible t i u.

    Definition explains :=
      take_part H co /\ registers H = true /\
      (forall t, In t co -> own_reads (ops t) (PM.empty _) = true) /\
      (forall t i k x, In t co -> read_at t i = Some (k, x) ->
         match src t i with
         | None => initial H k = x
         | Some u => before co u t /\ final k u = Some x
         end) /\
      (forall a b, In a co -> In b co -> in_session a b -> before co a b) /\
      (forall t i k x u, In t co -> read_at t i = Some (k, x) -> In u co -> writes k (ops u) = true ->
         visible t i u -> src t i <> Some u -> exists w, src t i = Some w /\ before co u w).
  End Sources.

  Definition holds_weak := exists co src, explains co src.
End Levels.

(** ** Refutations

    As in Refutation.v; [Before t u] says that both take part and t is first, and [Reads t i w] that the i-th read of t
    is from w. *)
Inductive link :=
| LSession (t u : positive)
| LRead (t i w : positive).

Inductive wedge :=
| WSession (t u : positive)
| WBefore (t u : positive)                                    (* assumed *)
| WRead (t i w : positive)                                    (* w before t, which reads from it *)
| WSeen (t i w u : positive) (ls : list link).                (* u before w: t reads from w, and u is visible *)

Inductive wstep :=
| WCycle (edges : list wedge)
| WSource (t i : positive)
| WTotal (t u : positive)
| WInitial (t i u : positive) (ls : list link)                (* u is visible, so t does not read the initial version *)
| WOwn (t : positive)                                         (* a read of what t itself wrote shows something else *)
| WOnce (t i : positive) (w w' : option positive)
| WTakes (a : atom) (t : positive)
| WRup (cl : clause) (hints : list positive).

Section Kernel.
  Variables (V : weak_level) (H : history) (ids : PM.t (N * txn)) (ws : PM.t (list txn)).

  Record tie := { t_from : positive; t_into : positive; t_needs : list atom }.

  Definition session_tie (i j : positive) : option tie :=
    match PM.find i ids, PM.find j ids with
    | Some x, Some y =>
        guard (must session_serializable x y)
          (Some {| t_from := i; t_into := j; t_needs := participates (snd x) ++ participates (snd y) |})
    | _, _ => None
    end.

  Definition read_tie (t i w : positive) : option tie :=
    match txn_of ids t with
    | Some x => match read_at x i with
                | Some _ => Some {| t_from := w; t_into := t; t_needs := [Reads t i (Some w)] |}
                | None => None
                end
    | None => None
    end.

  Definition link_of (l : link) : option tie :=
    match l with
    | LSession t u => session_tie t u
    | LRead t i w => read_tie t i w
    end.

  (** What has to be true for u to be visible to the i-th read of t. *)
  Fixpoint chain (u : positive) (ls : list link) (t : positive) : option (list atom) :=
    match ls with
    | [] => None
    | l :: r =>
        match link_of l with
        | Some e =>
            guard (Pos.eqb (t_from e) u)
              (match r with
               | [] => guard (Pos.eqb (t_into e) t) (Some (t_needs e))
               | _ => option_map (app (t_needs e)) (chain (t_into e) r t)
               end)
        | None => None
        end
    end.

  Definition sight (t i u : positive) (ls : list link) : option (list atom) :=
    match V, ls with
    | ReadCommitted, [LRead t' j w] => guard (Pos.eqb t' t && Pos.eqb w u && Pos.ltb j i) (chain u ls t)
    | ReadAtomic, [_] => chain u ls t
    | Causal, _ => chain u ls t
    | _, _ => None
    end.

  (** The other writer, what has to be true for it to be visible *)
  Definition seen_by_read (t i u : positive) (ls : list link) : option (list atom) :=
    match txn_of ids t, txn_of ids u with
    | Some x, Some y =>
        match read_at x i, sight t i u ls with
        | Some (k, _), Some ns => guard (writes k (ops y)) (Some ns)
        | _, _ => None
        end
    | _, _ => None
    end.

  Definition wedge_of (e : wedge) : option tie :=
    match e with
    | WSession t u => session_tie t u
    | WBefore t u => Some {| t_from := t; t_into := u; t_needs := [Before t u] |}
    | WRead t i w => read_tie t i w
    | WSeen t i w u ls =>
        match seen_by_read t i u ls with
        | Some ns => guard (negb (Pos.eqb u w))
                       (Some {| t_from := u; t_into := w; t_needs := Reads t i (Some w) :: ns |})
        | None => None
        end
    end.

  Fixpoint round (first : positive) (es : list wedge) (last : positive) (ns : list atom) : option (list atom) :=
    match es with
    | [] => guard (Pos.eqb last first) (Some ns)
    | e :: r =>
        match wedge_of e with
        | Some x => guard (Pos.eqb last (t_from x)) (round first r (t_into x) (t_needs x ++ ns))
        | None => None
        end
    end.

  Definition wcycle (es : list wedge) : option clause :=
    match es with
    | [] => None
    | e :: r =>
        match wedge_of e with
        | Some x => option_map deny (round (t_from x) r (t_into x) (t_needs x))
        | None => None
        end
    end.

  Definition leaves (k : key) (x : cell) (u : txn) : bool :=
    match final k u with Some y => cell_eqb x y | None => false end.

  Definition sources (t : txn) (k : key) (x : cell) : list (option positive) :=
    (if cell_eqb (initial H k) x then [None] else []) ++
    map (fun u => Some (id u)) (filter (fun u => negb (Pos.eqb (id u) (id t)) && leaves k x u) (writers_of ws k)).

  Definition wclause_of (db : PM.t clause) (s : wstep) : option clause :=
    match s with
    | WCycle es => wcycle es
    | WSource i n =>
        match txn_of ids i with
        | Some t => match read_at t n with
                    | Some (k, x) => Some (deny (participates t) ++ map (fun w => (true, Reads i n w)) (sources t k x))
                    | None => None
                    end
        | None => None
        end
    | WTotal i j =>
        match txn_of ids i, txn_of ids j with
        | Some t, Some u =>
            guard (negb (Pos.eqb i j))
              (Some (deny (participates t ++ participates u) ++ [(true, Before i j); (true, Before j i)]))
        | _, _ => None
        end
    | WInitial t i u ls => option_map (fun ns => deny (Reads t i None :: ns)) (seen_by_read t i u ls)
    | WOwn i =>
        match txn_of ids i with
        | Some t => guard (negb (own_reads (ops t) (PM.empty _))) (Some (deny (participates t)))
        | None => None
        end
    | WOnce i n w w' => guard (negb (opt_eqb w w')) (Some (deny [Reads i n w; Reads i n w']))
    | WTakes a i =>
        guard (match a with
               | Counts t => Pos.eqb t i
               | Before t u => Pos.eqb t i || Pos.eqb u i
               | Reads t _ w => Pos.eqb t i || opt_eqb w (Some i)
               end) (Some [(false, a); (true, Counts i)])
    | WRup cl hints => guard (follows db cl hints) (Some cl)
    end.

  Fixpoint wrefutes (db : PM.t clause) (n : positive) (steps : list wstep) : answer :=
    match steps with
    | [] => Fails_at (Npos n)
    | s :: r =>
        match wclause_of db s with
        | None => Fails_at (Npos n)
        | Some [] => Proved
        | Some cl => wrefutes (PM.add n cl db) (Pos.succ n) r
        end
    end.
End Kernel.

(** The kernel's answer about a "no" at a weak level *)
Definition check_weak_violation (V : weak_level) (H : history) (steps : list wstep) : answer :=
  match by_id H with
  | None => Ill_formed
  | Some ids => if registers H then wrefutes V H ids (writers H) (PM.empty _) 1 steps else Ill_formed
  end.
