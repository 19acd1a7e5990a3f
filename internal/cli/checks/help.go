package checks

import "isovet/internal/cli/console"

const checkHelp = `check says whether each history satisfies an isolation level, and certifies the answer before it prints it.

A "valid" comes with an order of the transactions, a "violation" with a cycle or wrong reads. "-" is standard input.
A folder, or a quoted pattern, is one history in parts. Without --level, the history's header names the level. Else a
Jepsen test with real time is judged as Jepsen does: transactions at strict-serializable, registers at linearizable;
others at serializable. --level all decides every level. A history larger than memory goes through files
(docs/scale.md).

` + console.ExitHelp

const checkExamples = `  isovet check h.jsonl
  isovet check --report h.html --level snapshot-isolation h.jsonl.zst
  isovet check --level all h.jsonl
  isovet check --json --timeout 1m *.jsonl > verdicts.jsonl` + startSpill

const verifyHelp = `verify replays a certificate of isovet check against its history. It shares no code with the checkers but the
truth of predicates.

The certificate and the history may stand in either order; one may be "-", standard input. --kernel lets a
small certifier judge too, whose rules are proven in Coq (docs/trust.md).

Exit status: 0 the certificate proves its verdict, 1 it does not, 2 verify could not decide it or the certificate
says "unknown", 254 the certificate is unreadable or of another history.`
