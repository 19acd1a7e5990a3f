package seen

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/level"
	"isovet/watch"
)

// TestShards: where the work is divided each shard's figures are for Prometheus and on the page, and which part of the
// stream is judged; where it is not there are none.
func TestShards(t *testing.T) {
	var in strings.Builder
	for i := range 400 {
		fmt.Fprintf(&in, `{"id":%d,"session":%d,"start_ts":%d,"commit_ts":%d,"ops":[["w",%d,%d]]}`+"\n", i, i%5, 2*i+1,
			2*i+2, i%40, i)
	}
	for _, divided := range []bool{true, false} {
		d := watch.Division{}
		if divided {
			d = watch.Division{Shards: 3, Shard: 1, Of: 2}
		}
		j, err := watch.NewAion(watch.AionOptions{Options: timestamp.Options{Level: level.SessionSnapshotIsolation},
			Lateness: 10, Division: d})
		if err != nil {
			t.Fatal(err)
		}
		var m watch.Metrics
		if err := run(t, t.TempDir(), &m, strings.NewReader(in.String()), func(c *watch.Config) {
			c.Judge = j
		}); err != nil {
			t.Fatal(err)
		}
		s := m.Get()
		if divided != (len(s.Shards) == 3) || divided != (s.Parts == 2) {
			t.Fatalf("%d shards, part %d of %d", len(s.Shards), s.Part, s.Parts)
		}
		h := Handler(Options{Metrics: &m, Local: true})
		_, figures := get(t, h, "/metrics")
		page := body(t, ask(t, h, http.MethodGet, "/", nil))
		wants := map[string]string{"isovet_watch_part 2\n": figures, "isovet_watch_parts 2\n": figures,
			`<section aria-labelledby="shards">`: page, `<tr id="shard-3"><th scope="row">3</th>`: page}
		total := int64(0)
		for i, c := range s.Shards {
			if total += c.Ops; c.Busy <= 0 || c.Busy > time.Minute {
				t.Errorf("shard %d worked for %v", i, c.Busy)
			}
			wants[fmt.Sprintf(`isovet_watch_shard_operations_total{shard="%d"} %d`+"\n", i+1, c.Ops)] = figures
			wants[fmt.Sprintf(`isovet_watch_shard_keys{shard="%d"} %d`+"\n", i+1, c.Keys)] = figures
			wants[fmt.Sprintf(`isovet_watch_shard_busy_seconds_total{shard="%d"} `, i+1)] = figures
			wants[fmt.Sprintf(`<td class="n">%d</td>`, c.Ops)] = page
		}
		if divided && (total < 100 || total > 300) {
			t.Errorf("%d of 400 operations", total)
		}
		for want, in := range wants {
			if strings.Contains(in, want) != divided {
				t.Errorf("divided %v: %q in\n%s", divided, want, in)
			}
		}
	}
}
