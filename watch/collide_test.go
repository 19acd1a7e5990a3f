package watch

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/check"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history/format/jsonl"
	"isovet/internal/keyed"
	"isovet/internal/slice"
	"isovet/internal/test/histtest/collide"
	"isovet/internal/test/must"
	"isovet/level"
)

// collisionJudges are the three judges, of a stream that begins with nothing.
func collisionJudges(t *testing.T, lists bool) map[string]Judge {
	t.Helper()
	p, gate := profileOf(t, "postgresql:serializable"), GateOptions{Once: true}
	made := map[string]Judge{
		"aion": aionWith(t, AionOptions{Options: timestamp.Options{Level: level.SnapshotIsolation}, Lateness: AllLate,
			Gate: gate}),
		"leopard": leopardOf(t, LeopardOptions{Profile: p, Lateness: AllLate, Gate: gate})}
	if !lists {
		made["replay"] = replayOf(t, ReplayOptions{Level: level.Serializable, Lateness: AllLate, Gate: gate})
	}
	return made
}

// TestCollisions: watch finds that a value was read which nobody wrote, as check does, though a value that somebody
// wrote had the same hash before hashes had a key; and passes over no line that says another than one before with its
// id.
func TestCollisions(t *testing.T) {
	const line = `{"id":%d,"session":%d,"start":%d,"end":%d,"start_ts":%[3]d,"commit_ts":%[4]d,` +
		`"ops":[["%[5]s","x",%[6]s]]}`
	const list = `{"format":"isovet-history","version":1,"model":"list"}`
	check1 := func(stream []string, wrong, lists bool) {
		t.Helper()
		text := strings.Join(stream, "\n")
		h := must.Get(jsonl.ReadPiece([]byte(text)))(t)
		c, known := check.Auto(h, level.Serializable)
		must.Hold(t, known, "no checker")
		r, err := check.Run(t.Context(), c, h, check.Options{Level: level.Serializable})
		if err != nil || (r.Verdict == evidence.Violated) != wrong {
			t.Fatalf("check: %v, %v\n%s", r.Verdict, err, text)
		}
		lines := slice.Map(stream, func(l string) []byte { return []byte(l) })
		for name, j := range collisionJudges(t, lists) {
			n, bad := 0, 0
			j.Begin(func(n int64) ([]byte, error) { return lines[n], nil })
			if err := j.Take(NewBatch(0, lines), func(_ int64, err error) { bad++ }); err != nil || bad > 0 {
				t.Fatalf("%s: %d bad lines, %v\n%s", name, bad, err, text)
			}
			j.End()
			must.OK(t, j.Findings(func(f *Finding) error { n++; return nil }))
			must.Equal(t, n > 0, wrong, "%s finds %d violations; check says %s of\n%s", name, n, r.Verdict, text)
			again := bytes.Replace(lines[len(lines)-2], []byte(`"session":0`), []byte(`"session": 0`), 1)
			other := bytes.Replace(lines[len(lines)-1], []byte(`"id":2`), []byte(`"id":1`), 1)
			err := j.Take(NewBatch(9, [][]byte{again, other}), func(int64, error) { bad++ })
			if err != nil || bad != 1 {
				t.Errorf("%s: %d bad lines, %v; expected the one with another's id", name, bad, err)
			}
		}
	}
	n := 0
	for _, p := range collide.Pairs() {
		for _, of := range [][2]collide.Value{p, {p[1], p[0]}, {p[0], p[0]}, {p[1], p[1]}} {
			check1([]string{fmt.Sprintf(line, 1, 0, 1, 2, "w", of[0]), fmt.Sprintf(line, 2, 1, 3, 4, "r", of[1])},
				of[0] != of[1], false)
			n++
		}
	}
	for _, p := range collide.Lists() {
		for _, of := range [][2][]collide.Value{p, {p[1], p[0]}, {p[0], p[0]}, {p[1], p[1]}} {
			stream := []string{list}
			var read []string
			for i, v := range of[0] {
				stream = append(stream, fmt.Sprintf(line, 10+i, 0, 4*i+1, 4*i+2, "a", v))
				read = append(read, of[1][i].String())
			}
			stream[len(stream)-1] = strings.Replace(stream[len(stream)-1], fmt.Sprintf(`"id":%d`, 9+len(of[0])),
				`"id":1`, 1)
			stream = append(stream, fmt.Sprintf(line, 2, 1, 90, 91, "r", "["+strings.Join(read, ",")+"]"))
			check1(stream, fmt.Sprint(of[0]) != fmt.Sprint(of[1]), true)
			n++
		}
	}
	must.Equal(t, n < 60, false, "%d histories", n)
}

// TestHashKey: a folder has one key for good, which nobody else may read; one that is damaged is told.
func TestHashKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, hashKeyFile)
	first, second, other := &keyed.Key{}, &keyed.Key{}, &keyed.Key{}
	for _, k := range []*keyed.Key{first, second, nil} {
		must.OK(t, keepKey(dir, k))
	}
	if err := keepKey(t.TempDir(), other); err != nil || *first != *second || *first == *other {
		t.Errorf("%v, %v, of another folder %v, %v", first, second, other, err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	must.OK(t, os.WriteFile(path, []byte("00ff\n"), 0o600))
	if err := keepKey(dir, first); err == nil || !strings.Contains(err.Error(), "hexadecimal") {
		t.Error(err)
	}
}
