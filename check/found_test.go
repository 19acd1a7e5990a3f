package check_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestFound: histories on which some checker once failed; the note in each says at what. Every checker agrees with
// brute force on them, at each of its levels and with each of its solvers, or says unknown; its answers are certified,
// and what it names the level forbids.
func TestFound(t *testing.T) {
	histtest.Found(t, filepath.Join("testdata", "found"), func(t *testing.T, text []byte) {
		for turn := range histtest.Long(1, 8) {
			if err := judgeAll(withTurn(t, text, turn)); err != nil {
				t.Errorf("turn %d: %v", turn, err)
			}
		}
	})
}

// withTurn is a history with another "turn" in its header.
func withTurn(t *testing.T, text []byte, turn int) []byte {
	t.Helper()
	head, rest, _ := strings.Cut(string(text), "\n")
	m := map[string]json.RawMessage{}
	must.OK(t, json.Unmarshal([]byte(head), &m))
	if _, ok := m["format"]; !ok {
		m, rest = map[string]json.RawMessage{"format": json.RawMessage(`"isovet-history"`),
			"version": json.RawMessage("1")}, string(text)
	}
	m["turn"] = json.RawMessage(fmt.Sprint(turn))
	line := must.Get(json.Marshal(m))(t)
	return append(append(line, '\n'), rest...)
}
