(** * What a transaction makes of one key, whatever the key held *)

Require Import List PArith Bool.
From Isovet Require Import History.
Import ListNotations.

(** [Const x]: it holds x.  [Keep p]: it holds what it held, and p, the newest first, after it. *)
Inductive sym := Const (x : cell) | Keep (p : cell).

Definition push (e : elem) (y : sym) : sym := match y with Const x => Const (e :: x) | Keep p => Keep (e :: p) end.

Fixpoint sym_effect (k : key) (os : list op) (y : sym) : sym :=
  match os with
  | [] => y
  | Write j x :: r => sym_effect k r (if Pos.eqb j k then Const x else y)
  | Append j e :: r => sym_effect k r (if Pos.eqb j k then push e y else y)
  | _ :: r => sym_effect k r y
  end.

(** [x] is what [y] says, if the key held [z] at first *)
Definition is (y : sym) (z x : cell) : Prop := match y with Const c => x = c | Keep p => x = p ++ z end.

