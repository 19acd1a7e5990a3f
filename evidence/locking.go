package evidence

import (
	"fmt"
	"strings"

	"isovet/history"
)

// maxLocking bounds the locking reads that a text names.
const maxLocking = 8

// lockingReads names the reads of an anomaly's transactions that took locks. A database may let such a read see more
// than the transaction's snapshot; whether that breaks its promise is a different question than for a plain read.
func lockingReads(a *Anomaly, h *history.History) string {
	if h.Txns.Locking == nil {
		return ""
	}
	d := describer{h: h}
	var named []string
	for _, t := range a.Txns {
		for op := range h.EachOp(t) {
			if h.Locking(op) && h.Ops.Kind[op] == history.Read && len(named) <= maxLocking {
				named = append(named, fmt.Sprintf("T%d of %s", h.Txns.ID[t], d.key(h.OpKey(op))))
			}
		}
	}
	if len(named) == 0 {
		return ""
	}
	if len(named) > maxLocking {
		named[maxLocking] = "…"
	}
	return "\nReads that take locks (SELECT … FOR UPDATE), not plain ones: " + strings.Join(named, ", ") + "."
}
