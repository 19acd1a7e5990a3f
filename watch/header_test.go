package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"isovet/history/format"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestHeaderAgain: files that follow one another begin with a header each, and so do processes that send one after the
// other. The same header says nothing new, also after a restart, and to who reads the log; another one is a mistake.
func TestHeaderAgain(t *testing.T) {
	const header = `{"format":"isovet-history","version":1,"initial":0,` +
		`"db":"PostgreSQL 15.20","isolation":"repeatable read"}`
	line := func(n int) string {
		return fmt.Sprintf(`{"id":%d,"session":1,"start":%d,"end":%d,"start_ts":%d,"commit_ts":%d,`+
			`"ops":[["r","x",%d],["w","x",%d]]}`,
			n, 10*n, 10*n+5, 2*n+1, 2*n+2, n, n+1)
	}
	judges := map[string]func() (Judge, error){
		"aion":    func() (Judge, error) { return aionOf(si, 100), nil },
		"leopard": func() (Judge, error) { return leopardOf(t, LeopardOptions{Lateness: 100}), nil },
		"replay": func() (Judge, error) {
			return NewReplay(ReplayOptions{Level: level.StrictSerializable, Lateness: 100})
		},
	}
	for name, judge := range judges {
		for _, other := range []bool{false, true} {
			dir, last := t.TempDir(), header
			if other {
				last = strings.Replace(header, `"initial":0`, `"initial":1`, 1)
			}
			bad := int64(0)
			for _, text := range []string{header + "\n" + line(0) + "\n" + header + "\n" + line(1) + "\n",
				last + " \n" + line(2) + "\n"} {
				j := must.Get(judge())(t)
				var m Metrics
				err := Run(t.Context(), Config{Dir: dir, Judge: j, Metrics: &m, Checkpoint: time.Hour,
					Open: pipeOf(strings.NewReader(text))})
				s := m.Get()
				if bad = s.Bad; err != nil || len(s.Violations) > 0 {
					t.Fatalf("%s: %v, %+v", name, err, s)
				}
			}
			h, err := format.Read(t.Context(), dir, format.Options{})
			if other != (bad == 1) || other == (err == nil) || !other && h.NumTxns() != 3 {
				t.Errorf("%s, another header %v: %d bad lines; as a history: %v", name, other, bad, err)
			}
		}
	}
}
