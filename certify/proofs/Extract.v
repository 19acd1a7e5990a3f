(** * The kernel in OCaml

    Numbers become OCaml's native integers.  That is trusted, and right as long as no number exceeds 2^61: the kernel
    only compares numbers, takes them apart bit by bit, adds one, and doubles what it took apart; the shell refuses
    larger ones. *)

Require Import List PArith NArith Bool FMapPositive.
From Isovet Require Import History Answer Replay Refutation Weak WeakOrder Stamps.
Require Extraction.
Require Import ExtrOcamlBasic.

Extract Inductive positive => int
  [ "(fun p -> 2 * p + 1)" "(fun p -> 2 * p)" "1" ]
  "(fun xi xo xh p -> if p = 1 then xh () else if p land 1 = 0 then xo (p lsr 1) else xi (p lsr 1))".
Extract Inductive N => int [ "0" "(fun p -> p)" ] "(fun z s n -> if n = 0 then z () else s n)".
Extract Constant Pos.succ => "(fun p -> p + 1)".
Extract Constant Pos.eqb => "(fun (a : int) b -> a = b)".
Extract Constant N.succ => "(fun n -> n + 1)".
Extract Constant N.ltb => "(fun (a : int) b -> a < b)".
Extract Constant Pos.ltb => "(fun (a : int) b -> a < b)".
Extract Constant N.leb => "(fun (a : int) b -> a <= b)".
Extract Constant N.max => "(fun (a : int) b -> if a < b then b else a)".

Extraction Language OCaml.
Extraction "kernel.ml" check_serial check_snapshot check_violation check_weak check_weak_violation
  check_stamps check_stamps_violation
  serializable session_serializable strict_serializable
  snapshot_isolation session_snapshot_isolation strict_snapshot_isolation.
