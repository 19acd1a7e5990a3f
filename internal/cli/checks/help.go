package checks

import "isovet/internal/cli/console"

const checkHelp = `check decides whether each history satisfies an isolation level, and certifies the answer before it prints it.

"Valid" comes with an order of the transactions, "violation" with a cycle or with wrong reads. "-" means standard
input. A folder, or a quoted pattern, is one history in parts. Without --level, check uses the level that the
history's header names. Without such a header it judges Jepsen tests with real time as Jepsen does: transactions at
strict-serializable, registers at linearizable. It judges all other histories at serializable. --level all decides
every level. If a history is larger than memory, use --spill (docs/scale.md).

` + console.ExitHelp

const checkExamples = `  isovet check h.jsonl
  isovet check --report h.html --level snapshot-isolation h.jsonl.zst
  isovet check --level all h.jsonl
  isovet check --json --timeout 1m *.jsonl > verdicts.jsonl` + startSpill

const verifyHelp = `verify replays a certificate of isovet check against its history. It shares no code with the checkers, except the
code that evaluates predicates.

Give the certificate and the history in either order; one of them may be "-" (standard input). With --kernel, a small
certifier whose rules are proven in Coq also verifies the certificate (docs/trust.md).

Exit status: 0 the certificate proves its verdict, 1 it does not, 2 verify could not decide or the certificate says
"unknown", 254 the certificate is unreadable or belongs to another history.`
