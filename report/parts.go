package report

import (
	"isovet/evidence"
	"isovet/history"
)

// TxnName names a transaction as pages do: T7 has the id 7 in the file.
func TxnName(h *history.History, t uint32) string {
	if t == history.None {
		return "the initial state"
	}
	return txnName(h, t)
}

// KeyName returns a key in the form of pages: JSON, without quotes if it looks like a name.
func KeyName(h *history.History, k uint32) string { return keyName(h, k) }

// OpText returns an operation in the short form of pages: kind, key, value.
func OpText(h *history.History, op uint32) string { return opText(h, op) }

// SessionName names a session by its number in the file.
func SessionName(h *history.History, s uint32) string { return sessionName(h, s) }

// Sentence says why an edge holds, as the argument of a page does, and what it rests on: the operations with their
// places in the file, and what is taken for granted; of an edge of an anomaly, a, also by what that is settled. Cost:
// that of the two transactions, and of the anomaly.
func Sentence(r *evidence.Result, a *evidence.Anomaly, e evidence.Edge) (text string, rests []string) {
	one := evidence.Anomaly{Cycle: []evidence.Edge{e}}
	s := newScene(r.H, []evidence.Anomaly{one}, MaxNodes)
	if a == nil {
		a = &one
	}
	return why(r.H, e), restsOn(r, a, s, e)
}
