package jsonl

import (
	"testing"

	"isovet/history"
)

// TestPiece: lines from the midst of sessions are read, by the scanner and by the tolerant reader, without their
// sessions.
func TestPiece(t *testing.T) {
	text := `{"format":"isovet-history","version":1,"initial":0}
{"id":7,"session":3,"seq":17,"start":1,"end":2,"ops":[["w","x",1]]}
{"id": 8, "session": 3, "seq": 18, "start": 3, "end": 4, "ops": [["r", "x", 1]]}
`
	if _, err := Read([]byte(text), "f"); err == nil {
		t.Error("a session without its beginning is read as whole")
	}
	h, err := ReadPiece([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if h.NumTxns() != 2 || h.NumSessions() != 2 || h.SessName[0] != history.NoTime || h.Txns.ID[1] != 8 ||
		h.Txns.Line[1] != 3 {
		t.Errorf("%d transactions, %d sessions, line %d", h.NumTxns(), h.NumSessions(), h.Txns.Line)
	}
}
