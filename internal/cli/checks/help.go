package checks

import "isovet/internal/cli/console"

const checkHelp = `check says whether each history satisfies an isolation level, and certifies the answer before it prints it.

A "valid" comes with an order of the transactions, a "violation" with a cycle or wrong reads. "-" is standard input.
A folder, or a quoted pattern, is one history in parts. Without --level, the history's header names the level. Otherwise
a Jepsen test with real time is judged as by Jepsen: transactions at strict-serializable, registers at linearizable;
others at serializable. --level all decides every level. For a history larger than memory use --spill
(docs/scale.md).

` + console.ExitHelp

const checkExamples = `  isovet check h.jsonl
  isovet check --report h.html --level snapshot-isolation h.jsonl.zst
  isovet check --level all h.jsonl
  isovet check --json --timeout 1m *.jsonl > verdicts.jsonl` + startSpill

const verifyHelp = `verify replays a certificate of isovet check against its history. It shares no code with the
checkers, except for evaluating predicates.

Name the certificate and the history in either order; one may be "-", standard input. --kernel also asks a small
certifier whose rules are proven in Coq (docs/trust.md).

Exit status: 0 the certificate proves its verdict, 1 it does not, 2 verify could not decide it or the certificate
says "unknown", 254 the certificate is unreadable or of another history.`
