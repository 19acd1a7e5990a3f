(** * Histories, and what an isolation level asks of them

    A history is what clients asked a database for and what they got.  This file says what a history is, what it means
    that an order of its transactions explains it, and what the six levels are.  Everything that the kernel claims is
    said in these words; nothing else needs to be read to know what is claimed.
      The names are those of docs/levels.md. *)

Require Import List PArith NArith Bool FMapPositive.
Import ListNotations.

Module PM := PositiveMap.

(** ** Keys and what they hold

    A key holds a list of elements, the newest first.  A key that is absent holds the empty list, and a register that
    holds the value v holds [[v]].  Keys, elements and transactions are numbers; equal values have equal numbers. *)
Definition key := positive.
Definition elem := positive.
Definition cell := list elem.
Definition absent : cell := [].

Fixpoint cell_eqb (x y : cell) : bool :=
  match x, y with
  | [], [] => true
  | a :: x', b :: y' => Pos.eqb a b && cell_eqb x' y'
  | _, _ => false
  end.

(** A predicate is given by what it is true of: for each key, the cells that match (true), and those of which nobody
    knows whether they do (false). *)
Definition pred := PM.t (list (bool * cell)).

Definition certain_of (x : cell) (y : bool * cell) : bool := fst y && cell_eqb x (snd y).
Definition possible_of (x : cell) (y : bool * cell) : bool := cell_eqb x (snd y).

(** Whether a key that holds x matches for certain, or perhaps *)
Definition matches (like : cell -> bool * cell -> bool) (p : pred) (k : key) (x : cell) : bool :=
  match PM.find k p with
  | Some ys => existsb (like x) ys
  | None => false
  end.

(** ** Operations *)
Inductive op :=
| Read (k : key) (x : cell)               (* the key was read, and held x *)
| Match (p : pred) (ks : list key)        (* exactly the keys ks were found to match the predicate *)
| Write (k : key) (x : cell)              (* the key was set to x; a delete sets it to absent *)
| Append (k : key) (e : elem).            (* e was put at the end of the key's list *)

Definition state := key -> cell.

Definition put (k : key) (x : cell) (s : state) : state := fun j => if Pos.eqb j k then x else s j.

(** What an operation makes of a state, and whether what its client saw is what that state holds: who looks for a
    predicate finds every key that matches for certain, and none that cannot match. *)
Definition effect1 (o : op) (s : state) : state :=
  match o with
  | Write k x => put k x s
  | Append k e => put k (e :: s k) s
  | Read _ _ | Match _ _ => s
  end.

Definition seen (o : op) (s : state) : Prop :=
  match o with
  | Read k x => s k = x
  | Match p ks => forall k, (matches certain_of p k (s k) = true -> In k ks) /\
                            (In k ks -> matches possible_of p k (s k) = true)
  | Write _ _ | Append _ _ => True
  end.

(** The same of the operations of a transaction, one after the other, on a state of its own. *)
Fixpoint effect (os : list op) (s : state) : state :=
  match os with
  | [] => s
  | o :: rest => effect rest (effect1 o s)
  end.

Fixpoint explained (os : list op) (s : state) : Prop :=
  match os with
  | [] => True
  | o :: rest => seen o s /\ explained rest (effect1 o s)
  end.

Definition writes1 (k : key) (o : op) : bool :=
  match o with
  | Write j _ | Append j _ => Pos.eqb j k
  | Read _ _ | Match _ _ => false
  end.

Definition writes (k : key) (os : list op) : bool := existsb (writes1 k) os.

(** ** Transactions

    [committed] is false of a transaction of unknown outcome.  Aborted transactions are not part of a history: nothing
    that they wrote may be seen.  [ended] is when the commit had been acknowledged, [None] if that was never. *)
Record txn := {
  id : positive;
  committed : bool;
  session : positive;
  began : N;
  ended : option N;
  ops : list op
}.

(** The transactions of a session stand in the order in which the session made them. *)
Record history := {
  init : PM.t cell;
  txns : list txn
}.

Definition initial (H : history) : state :=
  fun k => match PM.find k (init H) with Some x => x | None => absent end.

(** ** Orders *)
Definition before {A} (l : list A) (x y : A) : Prop := exists l1 l2, l = l1 ++ l2 /\ In x l1 /\ In y l2.

(** The transactions that take part: all committed ones, and any of those of unknown outcome, each once. *)
Definition take_part (H : history) (ts : list txn) : Prop :=
  NoDup ts /\
  (forall t, In t ts -> In t (txns H)) /\
  (forall t, In t (txns H) -> committed t = true -> In t ts).

(** ** Levels *)
Record level := {
  serial : bool;      (* an order of transactions; else one of their begins and commits *)
  sessions : bool;    (* it keeps the order of each session *)
  realtime : bool     (* it keeps the order in real time *)
}.

Definition serializable := {| serial := true; sessions := false; realtime := false |}.
Definition session_serializable := {| serial := true; sessions := true; realtime := false |}.
Definition strict_serializable := {| serial := true; sessions := true; realtime := true |}.
Definition snapshot_isolation := {| serial := false; sessions := false; realtime := false |}.
Definition session_snapshot_isolation := {| serial := false; sessions := true; realtime := false |}.
Definition strict_snapshot_isolation := {| serial := false; sessions := true; realtime := true |}.

(** What must precede what.  A transaction of unknown outcome may take effect at any time after its begin, so nothing
    has to come after it. *)
Definition must_precede (L : level) (H : history) (a b : txn) : Prop :=
  a <> b /\ committed a = true /\
  ((sessions L = true /\ session a = session b /\ before (txns H) a b) \/
   (realtime L = true /\ exists e, ended a = Some e /\ (e < began b)%N)).

(** A serial order explains every operation if each transaction, in its turn, saw what those before it had left. *)
Fixpoint runs (s : state) (order : list txn) : Prop :=
  match order with
  | [] => True
  | t :: rest => explained (ops t) s /\ runs (effect (ops t) s) rest
  end.

Definition serial_order (L : level) (H : history) (order : list txn) : Prop :=
  take_part H order /\
  runs (initial H) order /\
  (forall a b, In a order -> In b order -> must_precede L H a b -> before order a b).

Definition is_serializable (L : level) (H : history) : Prop := exists order, serial_order L H order.

(** Under snapshot isolation a transaction reads the state as it was when it began, and what it wrote is there for
    those that begin after its commit. *)
Inductive event := Begin (t : txn) | Commit (t : txn).

Fixpoint runs_si (s : state) (order : list event) : Prop :=
  match order with
  | [] => True
  | Begin t :: rest => explained (ops t) s /\ runs_si s rest
  | Commit t :: rest => runs_si (effect (ops t) s) rest
  end.

Definition snapshot_order (L : level) (H : history) (ts : list txn) (order : list event) : Prop :=
  take_part H ts /\
  NoDup order /\
  (forall t, In (Begin t) order <-> In t ts) /\
  (forall t, In (Commit t) order <-> In t ts) /\
  (forall t, In t ts -> before order (Begin t) (Commit t)) /\
  runs_si (initial H) order /\
  (* of two writers of a key one commits before the other begins *)
  (forall a b k, In a ts -> In b ts -> a <> b -> writes k (ops a) = true -> writes k (ops b) = true ->
     before order (Commit a) (Begin b) \/ before order (Commit b) (Begin a)) /\
  (forall a b, In a ts -> In b ts -> must_precede L H a b -> before order (Commit a) (Begin b)).

Definition is_snapshot_isolated (L : level) (H : history) : Prop := exists ts order, snapshot_order L H ts order.

Definition holds (L : level) (H : history) : Prop :=
  if serial L then is_serializable L H else is_snapshot_isolated L H.

(** Files name transactions by numbers; each number is of one transaction. *)
Definition well_formed (H : history) : Prop := NoDup (map id (txns H)).
