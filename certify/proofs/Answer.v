(** * What the kernel answers *)

Require Import PArith NArith.

Inductive answer :=
| Proved
| Fails_at (n : N)             (* the n-th event of the order or step of the refutation, from 0, fails *)
| Fails_for (t : positive)     (* transaction t is missing, or stands before what it must follow *)
| Ill_formed.                  (* a number of two transactions, or an order of the wrong kind *)
