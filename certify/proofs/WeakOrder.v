(** * Valid at a weak level: an order of the transactions, and from whom each read

    One pass over the order, which keeps of each key its writers so far, the newest first.  A read from w looks at
    those that are newer than w, and none of them may be visible.  At causal, clocks say who is: a number for each
    session, one more than the last place in the order that has been heard of. *)

Require Import List PArith NArith Bool FMapPositive.
From Isovet Require Import History Table Answer Symbolic Refutation Replay Weak.
Import ListNotations.

Definition clock := PM.t N.
Definition at_session (c : clock) (s : positive) : N := match PM.find s c with Some n => n | None => 0%N end.
Definition advance (c : clock) (s : positive) (n : N) : clock := PM.add s (N.max n (at_session c s)) c.
Definition join (c d : clock) : clock := fold_left (fun c x => advance c (fst x) (snd x)) (PM.elements d) c.

Definition older (c d : clock) := forall s, (at_session c s <= at_session d s)%N.

Record pass := {
  places : PM.t N;
  newest : PM.t (list txn);       (* of each key, its writers *)
  clocks : PM.t clock;            (* of each transaction *)
  heard : PM.t clock              (* of each session *)
}.

Definition clock_of (m : PM.t clock) (i : positive) : clock :=
  match PM.find i m with Some c => c | None => PM.empty _ end.

Section Pass.
  Variables (V : weak_level) (H : history) (ids : PM.t (N * txn)) (saw : PM.t (list (option positive))).

  Definition saw_of (i : positive) : list (option positive) := match PM.find i saw with Some l => l | None => [] end.

  (** The clock of a transaction hears of its session and of those that it read from. *)
  Definition hear (p : pass) (c : clock) (s : option positive) : clock :=
    match s with
    | None => c
    | Some i =>
        match PM.find i ids, PM.find i (places p) with
        | Some (_, u), Some n => advance (join c (clock_of (clocks p) i)) (session u) (N.succ n)
        | _, _ => c
        end
    end.

  Definition may_see (p : pass) (c : clock) (t : N * txn) (all earlier : list (option positive)) (u : txn) : bool :=
    match V with
    | ReadCommitted => existsb (opt_eqb (Some (id u))) earlier
    | ReadAtomic => existsb (opt_eqb (Some (id u))) all ||
        match PM.find (id u) ids with Some x => must session_serializable x t | None => true end
    | Causal =>
        match PM.find (id u) (places p) with Some n => N.ltb n (at_session c (session u)) | None => true end
    end.

  (** No writer that is newer than the one that was read may be seen. *)
  Fixpoint unseen (see : txn -> bool) (w : option positive) (us : list txn) : bool :=
    match us with
    | [] => match w with None => true | Some _ => false end
    | u :: r => opt_eqb w (Some (id u)) || negb (see u) && unseen see w r
    end.

  Definition explains_read (p : pass) (see : txn -> bool) (k : key) (x : cell) (w : option positive) : bool :=
    match w with
    | None => cell_eqb (initial H k) x
    | Some i => PM.mem i (places p) && match txn_of ids i with Some u => leaves k x u | None => false end
    end && unseen see w (writers_of (newest p) k).

  Fixpoint explains_reads (p : pass) (see : list (option positive) -> txn -> bool) (earlier : list (option positive))
    (rs : list (key * cell)) (ws : list (option positive)) : bool :=
    match rs, ws with
    | [], [] => true
    | (k, x) :: rs, w :: ws => explains_read p (see earlier) k x w && explains_reads p see (w :: earlier) rs ws
    | _, _ => false
    end.

  Definition turn (n : N) (p : pass) (i : positive) : option pass :=
    match PM.find i ids with
    | None => None
    | Some (m, t) =>
        let ws := saw_of i in
        let c := match V with Causal => fold_left (hear p) ws (clock_of (heard p) (session t)) | _ => PM.empty _ end in
        if negb (PM.mem i (places p)) && own_reads (ops t) (PM.empty _) &&
           explains_reads p (may_see p c (m, t) ws) [] (external (ops t) (PM.empty _)) ws
        then Some {| places := PM.add i n (places p);
                     newest := add_writer t (ops t) (PM.empty _) (newest p);
                     clocks := match V with Causal => PM.add i c (clocks p) | _ => clocks p end;
                     heard := match V with Causal => PM.add (session t) (advance c (session t) (N.succ n)) (heard p)
                              | _ => heard p end |}
        else None
    end.

  Fixpoint turns (n : N) (p : pass) (order : list positive) : pass + N :=
    match order with
    | [] => inl p
    | i :: rest => match turn n p i with None => inr n | Some p' => turns (N.succ n) p' rest end
    end.
End Pass.

Definition at_rest : pass :=
  {| places := PM.empty _; newest := PM.empty _; clocks := PM.empty _; heard := PM.empty _ |}.

(** The kernel's answer about a "yes" at a weak level: an order, and for each transaction from whom its reads are *)
Definition check_weak (V : weak_level) (H : history) (order : list positive) (saw : PM.t (list (option positive))) :
  answer :=
  match by_id H with
  | None => Ill_formed
  | Some ids =>
      if registers H then
        match turns V H ids saw 0 at_rest order with
        | inr n => Fails_at n
        | inl p => match complete session_serializable (places p) (places p) (txns H) (PM.empty _) with
                   | None => Proved
                   | Some i => Fails_for i
                   end
        end
      else Ill_formed
  end.
