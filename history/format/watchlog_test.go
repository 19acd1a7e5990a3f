package format

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/history/format/logline"
)

// TestWatchedStream: a folder of watch is read whose stream begins in the midst of sessions, has gaps there, and says
// some transactions again; it once was bad input. One whose transaction has another's id is bad input.
func TestWatchedStream(t *testing.T) {
	text, err := os.ReadFile("testdata/stream-from-the-midst-with-lines-twice.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	folder := func(more ...string) string {
		dir := t.TempDir()
		var log []byte
		for i, line := range append(strings.Split(strings.TrimSpace(string(text)), "\n"), more...) {
			log = logline.Append(log, int64(i)+1, "", line)
		}
		if err := os.WriteFile(filepath.Join(dir, "segment-00000001.log"), log, 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	h, err := Read(t.Context(), folder(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ids []int64
	for _, x := range h.SessTxn {
		ids = append(ids, h.Txns.ID[x])
	}
	if want := []int64{70, 72, 73, 71}; !slices.Equal(ids, want) {
		t.Errorf("in sessions: %v; want %v", ids, want)
	}
	if h.Meta.Name != "from the midst" || string(h.Texts.Text(uint32(h.Initial.N))) != "zero" {
		t.Errorf("%+v, at first %v", h.Meta, h.Initial)
	}
	if len(h.Notes) != 1 || h.Notes[0].Count != 2 {
		t.Errorf("notes: %v", h.Notes)
	}
	_, err = Read(t.Context(), folder(`{"id":71,"session":2,"seq":4,"ops":[["r","x",3]]}`), Options{})
	if err == nil || !strings.Contains(err.Error(), "id 71 occurs twice, first in line 3") {
		t.Error(err)
	}
}
