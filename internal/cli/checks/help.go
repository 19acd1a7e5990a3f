package checks

import "isovet/internal/cli/console"

const checkHelp = `check reads each history ("-" is standard input), decides whether it satisfies the level, and certifies the answer
before printing it. A "valid" is certified by replaying its order of the transactions, a "violation" by deriving each
edge of its cycle again. Every level holds of a history of which nothing was committed, or nothing read: that is no
"valid" but unknown, "inconclusive", unless --empty-ok is set.

--level all decides every level. It names the strongest levels that the history satisfies, the weakest levels that it
violates, and one anomaly for each violated level. With --checker all levels are that checker's, and those that follow
from them; bc answers its six by one graph.

--report, --dot, --certificate and --proof each write one file. With several histories the number of each stands before the
extension: v.html becomes v-1.html, v-2.html, …

A folder of files, or a quoted pattern, is one history in parts; --together makes one of several arguments.

Related: isovet checkers (what --checker takes), isovet formats (what --format takes), isovet verify (replays a
certificate).

` + console.ExitHelp + `
With several histories the worst counts: 255, 254, 1, 2, 0.`

const checkExamples = `  isovet check h.jsonl
  isovet check --level strict-serializable --clock-skew 1ms h.jsonl.zst
  isovet check --level all h.jsonl
  isovet check --json --timeout 1m --memory 4GiB *.jsonl > verdicts.jsonl
  isovet check --report h.html --dot h.dot --certificate h.cert h.jsonl
  zstdcat h.jsonl.zst | isovet check -` + startSpill

const verifyHelp = `verify reads a certificate, as isovet check --certificate writes it, and replays it against the history: the order of a
valid history read by read, the cycles of a violation edge by edge. It shares no code with the checkers but the
truth of predicates. One of the two files may be "-", standard input. The order of the two files does not matter.

--kernel has the kernel judge it too: its rules are those of a development in Coq, with theorems that what they accept is
so. --proof FILE writes what it judges, for the program isovet-kernel, extracted from that development. What the kernel
has no words for is unknown (docs/trust.md).

Exit status: 0 the certificate proves its verdict; 1 it does not; 2 verify could not decide that (a time-out, a memory
bound, a proof of a kind that verify has no rules for), or the certificate says "unknown", which proves nothing; 254 the
certificate cannot be read, or belongs to another history.`
