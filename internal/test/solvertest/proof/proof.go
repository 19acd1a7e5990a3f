// Package proof writes and checks the proofs of package solver.
//
// The text form is DRUP with two more kinds of line, one clause a line, literals as in DIMACS:
//
//	i 1 -2 0    input: the caller's clause
//	t 1 -2 0    theory lemma: the theory vouches for it
//	1 -2 0      learned: follows by reverse unit propagation from the clauses present
//	d 1 -2 0    deleted
//
// A proof of unsatisfiability ends by learning the empty clause, "0". Without t lines and with the i
// lines taken out as a CNF file it is a DRUP proof.
//
// writer.go writes the text, checker.go checks a proof as it comes or from text.
//
// Source: A. Van Gelder, Verifying RUP proofs of propositional unsatisfiability, ISAIM 2008; M. Heule,
// W. Hunt, N. Wetzler, Trimming while checking clausal proofs, FMCAD 2013.
package proof
