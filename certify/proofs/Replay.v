(** * Valid: an order that explains a history is replayed

    The order is one of begins and commits; a serial order has each commit right after its begin.  One pass replays it
    on a table of what each key holds. *)

Require Import List PArith NArith Bool Lia Arith FMapPositive.
From Isovet Require Import History Table Answer.
Import ListNotations.

(** ** Replaying the operations of a transaction *)
Definition cell_of (m : PM.t cell) (k : key) : cell := match PM.find k m with Some x => x | None => absent end.

Definition key_set (ks : list key) : PM.t unit := fold_left (fun m k => PM.add k tt m) ks (PM.empty _).

Definition matched (m : PM.t cell) (p : pred) (ks : list key) : bool :=
  forallb (fun k => matches possible_of p k (cell_of m k)) ks &&
  let set := key_set ks in
  forallb (fun ky => negb (existsb (certain_of (cell_of m (fst ky))) (snd ky)) || PM.mem (fst ky) set)
    (PM.elements p).

Fixpoint run_ops (m : PM.t cell) (os : list op) : bool :=
  match os with
  | [] => true
  | Read k x :: r => cell_eqb (cell_of m k) x && run_ops m r
  | Match p ks :: r => matched m p ks && run_ops m r
  | Write k x :: r => match r with [] => true | _ => run_ops (PM.add k x m) r end
  | Append k e :: r => match r with [] => true | _ => run_ops (PM.add k (e :: cell_of m k) m) r end
  end.

Fixpoint apply_ops (m : PM.t cell) (os : list op) : PM.t cell :=
  match os with
  | [] => m
  | Write k x :: r => apply_ops (PM.add k x m) r
  | Append k e :: r => apply_ops (PM.add k (e :: cell_of m k) m) r
  | _ :: r => apply_ops m r
  end.

(** Both at once, for an order in which nothing comes between begin and commit. *)
Fixpoint exec (m : PM.t cell) (os : list op) : option (PM.t cell) :=
  match os with
  | [] => Some m
  | Read k x :: r => if cell_eqb (cell_of m k) x then exec m r else None
  | Match p ks :: r => if matched m p ks then exec m r else None
  | Write k x :: r => exec (PM.add k x m) r
  | Append k e :: r => exec (PM.add k (e :: cell_of m k) m) r
  end.

(** Has every key that is written been free since place b?  [last] has one more than the place of the last commit. *)
Fixpoint free (last : PM.t N) (b : N) (os : list op) : bool :=
  match os with
  | [] => true
  | Write k _ :: r | Append k _ :: r =>
      match PM.find k last with Some n => N.leb n b | None => true end && free last b r
  | _ :: r => free last b r
  end.

Fixpoint mark (last : PM.t N) (n : N) (os : list op) : PM.t N :=
  match os with
  | [] => last
  | Write k _ :: r | Append k _ :: r => mark (PM.add k n last) n r
  | _ :: r => mark last n r
  end.

(** ** Replaying an order: an event is given by whether it is a commit, and the transaction's number *)
Definition event_of (commit : bool) (t : txn) : event := if commit then Commit t else Begin t.
Definition named (e : event) : bool * positive := match e with Begin t => (false, id t) | Commit t => (true, id t) end.

Record run := {
  held : PM.t cell;
  last : PM.t N;          (* of each key, one more than the place of the last commit that wrote it *)
  begins : PM.t N;        (* places of begins and commits *)
  commits : PM.t N;
  latest : N              (* the latest begin in real time so far *)
}.

Section Replay.
  Variables (L : level) (H : history) (ids : PM.t (N * txn)).

  Definition late (t : txn) (latest : N) : bool :=
    realtime L && committed t && match ended t with Some e => N.ltb e latest | None => false end.

  Definition next (n : N) (r : run) (commit : bool) (i : positive) : option run :=
    match PM.find i ids with
    | None => None
    | Some (_, t) =>
        if commit then
          match PM.find i (begins r) with
          | None => None
          | Some b =>
              if PM.mem i (commits r) || late t (latest r) || negb (free (last r) b (ops t)) then None
              else Some {| held := apply_ops (held r) (ops t); last := mark (last r) (N.succ n) (ops t);
                           begins := begins r; commits := PM.add i n (commits r); latest := latest r |}
          end
        else
          if PM.mem i (begins r) || negb (run_ops (held r) (ops t)) then None
          else Some {| held := held r; last := last r; begins := PM.add i n (begins r); commits := commits r;
                       latest := N.max (latest r) (began t) |}
    end.

  Fixpoint replay (n : N) (r : run) (order : list (bool * positive)) : run + N :=
    match order with
    | [] => inl r
    | (commit, i) :: rest =>
        match next n r commit i with
        | None => inr n
        | Some r' => replay (N.succ n) r' rest
        end
    end.

  Definition start : run :=
    {| held := init H; last := PM.empty _; begins := PM.empty _; commits := PM.empty _; latest := 0 |}.

  (** Every committed transaction takes part, and the sessions' orders are kept.
    [after] has for each session one more
      than the place of the last commit that has to be waited for. *)
  Fixpoint complete (begins commits : PM.t N) (ts : list txn) (after : PM.t N) : option positive :=
    match ts with
    | [] => None
    | t :: r =>
        match PM.find (id t) begins, PM.find (id t) commits with
        | None, None => if committed t then Some (id t) else complete begins commits r after
        | Some b, Some c =>
            let a := match PM.find (session t) after with Some a => a | None => 0%N end in
            if negb (sessions L) || N.leb a b then
              complete begins commits r (if committed t then PM.add (session t) (N.max a (N.succ c)) after else after)
            else Some (id t)
        | _, _ => Some (id t)
        end
    end.

  (** A serial order: places are of transactions, and nothing can come between begin and commit. *)
  Fixpoint replay_serial (n : N) (m : PM.t cell) (places : PM.t N) (latest : N) (order : list positive) : PM.t N + N
    :=
    match order with
    | [] => inl places
    | i :: rest =>
        match PM.find i ids with
        | None => inr n
        | Some (_, t) =>
            if PM.mem i places || late t (N.max latest (began t)) then inr n
            else match exec m (ops t) with
                 | None => inr n
                 | Some m' => replay_serial (N.succ n) m' (PM.add i n places) (N.max latest (began t)) rest
                 end
        end
    end.

  Definition finish (x : run + N) : answer :=
    match x with
    | inr n => Fails_at n
    | inl r =>
        match complete (begins r) (commits r) (txns H) (PM.empty _) with
        | None => Proved
        | Some i => Fails_for i
        end
    end.

  Definition finish_serial (x : PM.t N + N) : answer :=
    match x with
    | inr n => Fails_at n
    | inl places =>
        match complete places places (txns H) (PM.empty _) with
        | None => Proved
        | Some i => Fails_for i
        end
    end.
End Replay.

(** The kernel's answer about a "yes": [Proved] only if the level holds.  At the serial levels the order is one of
    transactions, and at the others one of begins (false) and commits (true). *)
Definition check_serial (L : level) (H : history) (order : list positive) : answer :=
  match by_id H with
  | None => Ill_formed
  | Some ids => if serial L then finish_serial L H (replay_serial L ids 0 (init H) (PM.empty _) 0 order) else
    Ill_formed
  end.

Definition check_snapshot (L : level) (H : history) (order : list (bool * positive)) : answer :=
  match by_id H with
  | None => Ill_formed
  | Some ids => if serial L then Ill_formed else finish L H (replay L ids 0 (start H) order)
  end.
