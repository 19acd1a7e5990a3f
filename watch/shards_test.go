package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/internal/keystore"
	"isovet/internal/test/histtest"
)

// TestShards: among however many goroutines the keys are divided, an aion finds what one finds that does it alone, line
// by line and in the same order: in streams of registers and lists, valid and wrong, with lines that come late, again,
// ahead or broken, from the midst, with what is idle on disk, and with restarts.
func TestShards(t *testing.T) {
	found, spilled := 0, int64(0)
	classes := map[string]int{}
	levels := timestamp.Levels()
	dir := t.TempDir()
	for seed := range uint64(histtest.Long(24, 1000)) {
		rng := rand.New(rand.NewPCG(seed, 23))
		lines := drawnStream(rng, 40+rng.IntN(300))
		if seed%5 == 0 {
			leaping(rng, lines)
		}
		o := AionOptions{Options: timestamp.Options{Level: levels[rng.IntN(len(levels))],
			ReadOnlyAtStart: rng.IntN(4) == 0}, Lateness: rng.Int64N(300), Attach: Attach(rng.IntN(3)),
			Gate: GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute}}
		if rng.IntN(4) == 0 {
			o.Lateness, o.Wait = 0, 5*time.Second // by the clock
		}
		most := []int{3, 20, 200}[rng.IntN(3)]
		want := told(t, aionWith(t, o), lines, most, rand.New(rand.NewPCG(seed, 1)), nil)
		for _, f := range want {
			classes[axiomOf(f)]++
		}
		for _, shards := range []int{2, 4, 7} {
			o.Shards = shards
			tight := seed%12 == 1 && shards == 4
			if o.Bounds = (Bounds{}); tight {
				o.Bounds = Bounds{Memory: 1 << 20, Dir: filepath.Join(dir, fmt.Sprint(seed, "-", shards))}
			}
			judge := func() *aion {
				j := aionWith(t, o)
				if tight {
					j.room = shares{0, 1 << 62}
					for _, s := range j.team.shards {
						s.room = 0
					}
				}
				return j
			}
			var j *aion
			at := 0
			j = judge()
			got := told(t, j, lines, most, rand.New(rand.NewPCG(seed, 1)), func(was Judge) Judge {
				if at++; at%9 != 8 || tight && at > 9 {
					return was
				}
				cp := t.TempDir()
				if err := checkpointTo(was, cp); err != nil {
					t.Fatal(err)
				}
				closeAion(t, was.(*aion))
				j = judge()
				j.Begin(nil)
				if err := j.Restore(cp); err != nil {
					t.Fatal(err)
				}
				return j
			})
			sameFindings(t, seed, got, want)
			found += len(want)
			for _, s := range j.team.shards {
				spilled += s.p.keys.Stored()
			}
			closeAion(t, j)
		}
	}
	if found < 500 || spilled < 1 {
		t.Errorf("%d findings, %d keys on disk", found, spilled)
	}
	for _, c := range []string{"SESSION", "INT", "EXT", "NOCONFLICT", "LATE", "GAP", "JUMP"} {
		if classes[c] == 0 {
			t.Errorf("no %s among %v", c, classes)
		}
	}
	t.Log(found, classes)
}

// axiomOf is the axiom of a finding; "": it is a line that is not understood.
func axiomOf(line string) string {
	var v Violation
	if json.Unmarshal([]byte(line), &v) != nil {
		return ""
	}
	return v.Axiom
}

// leaping makes lines jump ahead for a while.
func leaping(rng *rand.Rand, lines [][]byte) {
	from := len(lines) / 3
	for i := from; i < from+1+rng.IntN(30); i++ {
		lines[i] = bytes.Replace(lines[i], []byte(`"commit_ts":`), []byte(`"commit_ts":77000000`), 1)
	}
}

func aionWith(t *testing.T, o AionOptions) *aion {
	t.Helper()
	j, err := NewAion(o)
	if err != nil {
		t.Fatal(err)
	}
	return j.(*aion)
}

func closeAion(t *testing.T, j *aion) {
	t.Helper()
	var all []*keystore.Store
	all = append(all, j.store)
	if j.team != nil {
		for _, s := range j.team.shards {
			all = append(all, s.store)
		}
	}
	for _, s := range all {
		if s != nil {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestShardsOfProcesses: what processes find that each judge their part of the keys and sessions is, taken together,
// what one finds alone; what does not belong to a key or session all of them say.
func TestShardsOfProcesses(t *testing.T) {
	found := 0
	for seed := range uint64(histtest.Long(60, 3000)) {
		rng := rand.New(rand.NewPCG(seed, 29))
		lines := drawnStream(rng, 40+rng.IntN(300))
		if seed%5 == 0 {
			leaping(rng, lines)
		}
		o := AionOptions{Options: timestamp.Options{Level: timestamp.Levels()[seed%4]}, Lateness: rng.Int64N(300),
			Attach: Attach(rng.IntN(3)),
			Gate:   GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute}}
		play := func() (out []string) {
			for _, f := range told(t, aionWith(t, o), lines, 50, rand.New(rand.NewPCG(seed, 1)), nil) {
				out = append(out, numbered.ReplaceAllString(f, ""))
			}
			return out
		}
		want := play()
		slices.Sort(want)
		want = slices.Compact(want)
		var got []string
		for shard := range 4 {
			o.Shard, o.Of, o.Shards = shard, 4, 1+shard%2
			got = append(got, play()...)
		}
		slices.Sort(got)
		for i := 1; i < len(got); i++ {
			if a := axiomOf(got[i]); got[i] == got[i-1] && a != late && a != jumped && a != "TIMESTAMPS" && a != "" {
				t.Fatalf("seed %d: two processes found %s", seed, got[i])
			}
		}
		got = slices.Compact(got)
		sameFindings(t, seed, got, want)
		found += len(want)
	}
	if found < 500 {
		t.Errorf("only %d findings", found)
	}
}

// TestProcesses: four processes that read one subject of JetStream, one of them killed in the midst and started again,
// find together what one finds alone.
func TestProcesses(t *testing.T) {
	_, lines := arrivals(t, 2, 1200)
	for i := range lines {
		if !bytes.Contains(lines[i], []byte(`"id":`)) && bytes.Contains(lines[i], []byte(`"ops":`)) {
			t.Fatalf("%s has no id", lines[i])
		}
	}
	once := t.TempDir()
	err := Run(t.Context(), Config{Dir: once, Judge: aionOf(si, 400), Open: func(_ context.Context,
		after Places) (Source, error) {
		return Pipe(bytes.NewReader(join(lines)), after.Last()), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := unnumbered(t, once)
	for i := range want {
		want[i] = strings.TrimSpace(want[i])
	}
	url, js := natsServer(t)
	publish(t, js, lines)
	start := func(dir string, part int) (*exec.Cmd, *bytes.Buffer) {
		cmd, said := exec.Command(os.Args[0]), &bytes.Buffer{}
		cmd.Env = append(os.Environ(), fmt.Sprintf("ISOVET_WATCH_CHILD=%s|part %d 4 %d|400|40|nats %s", dir, part,
			len(lines), url))
		cmd.Stderr = said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, said
	}
	var dirs []string
	var running []*exec.Cmd
	var texts []*bytes.Buffer
	for part := range 4 {
		dirs = append(dirs, t.TempDir())
		cmd, said := start(dirs[part], part)
		running, texts = append(running, cmd), append(texts, said)
	}
	until := time.Now().Add(time.Minute)
	for found := 0; found < len(want)/20 && time.Now().Before(until); time.Sleep(time.Millisecond) {
		b, _ := os.ReadFile(filepath.Join(dirs[1], "violations.jsonl"))
		found = bytes.Count(b, []byte("\n"))
	}
	_ = running[1].Process.Kill()
	if running[1].Wait() == nil {
		t.Log("it had ended before it was killed: the machine is slow")
	}
	running[1], texts[1] = start(dirs[1], 1)
	for i, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v: %s", err, texts[i].Bytes())
		}
	}
	m, err := Merge(dirs)
	if err != nil || len(m.Missing) > 0 || !m.Known {
		t.Fatalf("%v, %+v", err, m)
	}
	var got []string
	for i := range m.Violations {
		b, err := json.Marshal(&m.Violations[i])
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, numbered.ReplaceAllString(string(b), ""))
	}
	slices.Sort(got)
	sameFindings(t, 0, got, want)
	if len(want) < 50 {
		t.Errorf("%d violations are too few", len(want))
	}
	if m, err = Merge(dirs[:3]); err != nil || !slices.Equal(m.Missing, []int{4}) || len(m.Violations) >= len(want) {
		t.Errorf("%v, %+v", err, m)
	}
	var foreign *MergeError
	if _, err = Merge([]string{dirs[0], dirs[0]}); !errors.As(err, &foreign) {
		t.Errorf("a part twice: %v", err)
	}
	if _, err = Merge([]string{dirs[0], once}); !errors.As(err, &foreign) {
		t.Errorf("a folder of another kind: %v", err)
	}
	if _, err = Merge([]string{dirs[0], t.TempDir()}); !errors.As(err, &foreign) {
		t.Errorf("an empty folder: %v", err)
	}
}
