(** * The theorems, and what they rest on

    Each of these prints "Closed under the global context": no axiom, and nothing that was left unproven. *)

From Isovet Require Import History Levels Answer Replay ReplaySound Refutation RefutationSound.

Check check_serial_sound : forall L H order, check_serial L H order = Proved -> holds L H.
Check check_snapshot_sound : forall L H order, check_snapshot L H order = Proved -> holds L H.
Check check_violation_sound : forall L H steps, check_violation L H steps = Proved -> ~ holds L H.

Print Assumptions check_serial_sound.
Print Assumptions check_snapshot_sound.
Print Assumptions check_violation_sound.
Print Assumptions strict_session.
Print Assumptions session_plain.
Print Assumptions strict_session_si.
Print Assumptions session_plain_si.
Print Assumptions serializable_si.
Print Assumptions session_serializable_si.
Print Assumptions strict_serializable_si.
