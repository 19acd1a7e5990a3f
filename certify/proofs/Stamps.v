(** * By the database's timestamps

    The database says of each transaction when it started and when it committed, and is believed: the order of begins
    and commits is that of these stamps.  This is what CHRONOS asks (Definitions 4 to 6): its SESSION, INT, EXT and
    NOCONFLICT are what a snapshot level asks of that one order.  At the serializable levels a transaction takes place
    at its commit. *)

Require Import List PArith NArith Bool FMapPositive.
From Isovet Require Import History Table Answer Replay Refutation.
Import ListNotations.

(** Of each transaction its start's and its commit's stamp *)
Definition stamps := PM.t (N * N).

Definition writes_any (t : txn) : bool :=
  existsb (fun o => match o with Write _ _ | Append _ _ => true | Read _ _ | Match _ _ => false end) (ops t).

Section Stamps.
  Variables (S : stamps) (L : level) (H : history).

  Definition stamp_of (t : txn) : N * N := match PM.find (id t) S with Some x => x | None => (0, 0)%N end.

  (** At equal stamps the commits of those who write come first, and then all that only looks. *)
  Definition commits_at (t : txn) : N :=
    let c := snd (stamp_of t) in if writes_any t then N.double c else N.succ_double c.

  Definition moment (e : event) : N :=
    match e with
    | Begin t => if serial L then commits_at t else N.succ_double (fst (stamp_of t))
    | Commit t => commits_at t
    end.

  (** An order in which nothing stands before what has an earlier moment *)
  Definition ascending (E : list event) : Prop := forall x y, before E x y -> (moment x <= moment y)%N.

  (** The level holds by the stamps: some order explains the history, as the level asks, and is that of the stamps. *)
  Definition timestamped : Prop :=
    if serial L then exists order, serial_order L H order /\ ascending (map Commit order)
    else exists ts order, snapshot_order L H ts order /\ ascending order.

  (** ** What the kernel does *)
  Variable ids : PM.t (N * txn).

  (** A stamp says that a transaction committed; so each has to be committed, and to have stamps. *)
  Definition stamped : bool := forallb (fun t => committed t && PM.mem (id t) S) (txns H).

  (** The first place of an order, numbered from n on, that stands behind a later moment *)
  Fixpoint descends (n last : N) (order : list (bool * positive)) : option N :=
    match order with
    | [] => None
    | (commit, i) :: r =>
        match txn_of ids i with
        | None => Some n
        | Some t => let m := moment (event_of commit t) in
                    if N.ltb m last then Some n else descends (N.succ n) m r
        end
    end.

  (** What is wrong, by the stamps *)
  Inductive wrong :=
  | Early (t : positive)                  (* it commits before it starts *)
  | Overlaps (t u : positive)             (* t must precede u, which starts before t has committed *)
  | Conflicts (t u : positive) (k : key)  (* both write k, and neither had committed when the other started *)
  | Unexplained (t : positive).           (* its operations saw something else than there was when it started *)

  (** What those who write have left when t begins, at the moment [start]; [None] unless the order is that of their
      commits, each once. *)
  Fixpoint left_before (t : positive) (start last : N) (m : PM.t cell) (order : list positive) : option (PM.t cell) :=
    match order with
    | [] => Some m
    | i :: r =>
        match txn_of ids i with
        | None => None
        | Some u =>
            let c := commits_at u in
            if N.ltb c last || N.eqb c start && negb (Pos.eqb i t) then None
            else left_before t start (N.succ c) (if N.ltb c start then apply_ops m (ops u) else m) r
        end
    end.

  Definition all_writers (order : list positive) : bool :=
    let set := key_set order in forallb (fun t => negb (writes_any t) || PM.mem (id t) set) (txns H).

  Definition is_wrong (order : list positive) (w : wrong) : bool :=
    match w with
    | Early i => match txn_of ids i with Some t => N.ltb (moment (Commit t)) (moment (Begin t)) | None => false end
    | Overlaps i j =>
        match PM.find i ids, PM.find j ids with
        | Some x, Some y => must L x y && N.ltb (moment (Begin (snd y))) (moment (Commit (snd x)))
        | _, _ => false
        end
    | Conflicts i j k =>
        match txn_of ids i, txn_of ids j with
        | Some t, Some u =>
            negb (Pos.eqb i j) && writes k (ops t) && writes k (ops u) &&
            N.ltb (moment (Begin u)) (moment (Commit t)) && N.ltb (moment (Begin t)) (moment (Commit u))
        | _, _ => false
        end
    | Unexplained i =>
        match txn_of ids i with
        | None => false
        | Some t => match left_before i (moment (Begin t)) 0 (init H) order with
                    | Some m => all_writers order && negb (run_ops m (ops t))
                    | None => false
                    end
        end
    end.
End Stamps.

(** The kernel's answer about a "yes": an order as for the level itself (its begins are ignored if it is serial). *)
Definition check_stamps (S : stamps) (L : level) (H : history) (order : list (bool * positive)) : answer :=
  match by_id H with
  | None => Ill_formed
  | Some ids =>
      let order := if serial L then map (fun x => (true, snd x)) order else order in
      if stamped S H then
        match descends S L ids 0 0 order with
        | Some n => Fails_at n
        | None => if serial L then check_serial L H (map snd order) else check_snapshot L H order
        end
      else Ill_formed
  end.

(** And about a "no": what is wrong, and who writes, in the order of their commits *)
Definition check_stamps_violation (S : stamps) (L : level) (H : history) (order : list positive) (w : wrong) : answer :=
  match by_id H with
  | None => Ill_formed
  | Some ids => if stamped S H then if is_wrong S L H ids order w then Proved else Fails_at 1 else Ill_formed
  end.
