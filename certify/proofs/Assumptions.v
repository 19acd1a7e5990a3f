(** * The theorems, and what they rest on

    Each of these prints "Closed under the global context": no axiom, and nothing that was left unproven. *)

From Isovet Require Import History Levels Answer Replay ReplaySound Refutation RefutationSound GraphsAgree
  Weak WeakSound WeakOrder WeakOrderSound Stamps StampsSound.

Check check_serial_sound : forall L H order, check_serial L H order = Proved -> holds L H.
Check check_snapshot_sound : forall L H order, check_snapshot L H order = Proved -> holds L H.
Check check_violation_sound : forall L H steps, check_violation L H steps = Proved -> ~ holds L H.
Check check_weak_sound : forall V H order saw, check_weak V H order saw = Proved -> holds_weak V H.
Check check_weak_violation_sound : forall V H steps, check_weak_violation V H steps = Proved -> ~ holds_weak V H.
Check timestamped_holds : forall S L H, timestamped S L H -> holds L H.
Check check_stamps_sound : forall S L H order, check_stamps S L H order = Proved -> timestamped S L H.
Check check_stamps_violation_sound : forall S L H order w,
  check_stamps_violation S L H order w = Proved -> ~ timestamped S L H.

Print Assumptions check_serial_sound.
Print Assumptions check_snapshot_sound.
Print Assumptions check_violation_sound.
Print Assumptions check_weak_sound.
Print Assumptions check_weak_violation_sound.
Print Assumptions timestamped_holds.
Print Assumptions check_stamps_sound.
Print Assumptions check_stamps_violation_sound.
Print Assumptions strict_session.
Print Assumptions session_plain.
Print Assumptions strict_session_si.
Print Assumptions session_plain_si.
Print Assumptions serializable_si.
Print Assumptions session_serializable_si.
Print Assumptions strict_serializable_si.
Print Assumptions serializable_graph.
Print Assumptions snapshot_graph.
Print Assumptions snapshot_cycles.
Print Assumptions holds_graph.
