package bench

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"testing"

	"isovet/evidence"
	"isovet/level"

	"github.com/parquet-go/parquet-go"
)

// TestTidy: a line for each run, with the choices that were asked for and those that were used; Parquet says the same
// as CSV.
func TestTidy(t *testing.T) {
	run := func(ms float64) Measured {
		return Measured{Verdict: evidence.Holds, WallMS: 3 * ms, Stats: evidence.Stats{CheckMS: ms, Conflicts: 7,
			Theory: "order", Encoding: "cobra", Stages: map[string]float64{"solving": ms / 2}}}
	}
	rows := []Row{newRow(Source{Workload: "w", Variant: "v", Txns: 5}, Contender{"vbox", "cdcl", "encoding=cobra"},
		level.Serializable, []Measured{run(1), run(2)}),
		newRow(Source{File: "a,b.jsonl"}, Contender{Checker: "replay"}, level.Serializable, []Measured{run(4)})}
	runs := Observations(rows)
	if len(runs) != 3 || runs[1].Run != 2 || runs[1].CheckMS != 2 || runs[1].Encoding != "cobra" ||
		runs[1].UsedTheory != "order" || runs[1].SolvingMS != 1 || runs[2].History != "a,b.jsonl" {
		t.Fatalf("%+v", runs)
	}
	var text, binary bytes.Buffer
	if err := WriteTidy(&text, "x.csv", runs); err != nil {
		t.Fatal(err)
	}
	if err := WriteTidy(&binary, "x.parquet", runs); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&text).ReadAll()
	if err != nil || len(lines) != 4 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	at := slices.Index(lines[0], "check_ms")
	back, err := parquet.Read[Observation](bytes.NewReader(binary.Bytes()), int64(binary.Len()))
	if err != nil || !slices.Equal(back, runs) {
		t.Fatalf("%+v, %v; want %+v", back, err, runs)
	}
	for i, o := range back {
		if ms, err := strconv.ParseFloat(lines[i+1][at], 64); err != nil || ms != o.CheckMS {
			t.Errorf("run %d: %v ms, %v; want %v", i, ms, err, o.CheckMS)
		}
	}
	cell := AblateRow{Cell: Cell{Closure: "purdom", Phase: "time", Technique: "no-vsids"}, Row: rows[0]}
	if got := AblationObservations([]AblateRow{cell}); len(got) != 2 || got[0].Technique != "no-vsids" ||
		got[0].Closure != "purdom" {
		t.Errorf("%+v", got)
	}
}
