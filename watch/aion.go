package watch

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"isovet/check/timestamp"
	"isovet/history"
)

// AionOptions are the parameters of NewAion.
type AionOptions struct {
	timestamp.Options
	// Lateness is how far, in the database's timestamps, a transaction may start before the latest start seen and not
	// be late.
	Lateness int64
}

// AllLate is a lateness at which nothing is final before the stream ends.
const AllLate = 1 << 60

// aion judges by the database's timestamps.
type aion struct {
	a         *timestamp.Aion
	p         *parser
	o         AionOptions
	begun     bool
	max       int64 // latest start, or commit at the serializable levels
	watermark int64
}

// NewAion returns a judge by the database's timestamps. Errors: options that cannot be.
func NewAion(o AionOptions) (Judge, error) {
	if o.Lateness < 0 {
		return nil, fmt.Errorf("lateness %d is negative", o.Lateness)
	}
	a, err := timestamp.NewAion(o.Options)
	if err != nil {
		return nil, err
	}
	return &aion{a: a, p: newParser(a), o: o}, nil
}

func (j *aion) Settings() []Setting {
	s := []Setting{{"checker", "aion"}, {"level", j.o.Level.String()}, {"lateness", strconv.FormatInt(j.o.Lateness,
		10)}}
	if j.o.Level.Serial() {
		s = append(s, Setting{"read-only-at-start", strconv.FormatBool(j.o.ReadOnlyAtStart)})
	}
	return s
}

func (j *aion) Begin(func(n int64) ([]byte, error)) {}

func (j *aion) Take(b *Batch, bad func(place int64, err error)) error {
	j.p.begin(b)
	for i := range b.Lines {
		t, err := j.p.line(b, i)
		if err != nil {
			bad(b.Lines[i].Place, err)
		}
		if t != nil {
			j.add(t)
		}
	}
	return nil
}

func (j *aion) add(t *timestamp.Arrival) {
	j.a.Add(t)
	if t.NoPart {
		return
	}
	at := t.Start
	if j.o.Level.Serial() && !j.o.ReadOnlyAtStart {
		at = t.Commit
	}
	if !j.begun || at > j.max {
		j.begun, j.max = true, at
	}
	if j.o.Lateness < AllLate {
		// there is nothing before the first timestamp of all
		j.Advance(max(j.max, math.MinInt64+j.o.Lateness) - j.o.Lateness)
	}
}

func (j *aion) Quiet() (int64, bool) { return j.max, j.begun }

func (j *aion) Advance(mark int64) {
	if !j.begun {
		return
	}
	j.a.Advance(mark)
	j.watermark = mark
}

func (j *aion) End() { j.a.Close() }

func (j *aion) Findings(each func(class string, line func(n int64) ([]byte, error)) error) error {
	for _, f := range j.a.Take() {
		if j.p.doubtful(&f) {
			continue
		}
		axiom := f.Axiom.String()
		err := each(axiom, func(n int64) ([]byte, error) {
			v := Violation{N: n, Axiom: axiom, Why: f.Kind.String(), Txn: f.Txn}
			if f.Other != timestamp.NoID {
				v.Other = &f.Other
			}
			if f.Key != history.None {
				v.Key = json.RawMessage(j.p.names[f.Key])
			}
			if f.Op != history.None {
				v.Op = &f.Op
			}
			return json.Marshal(&v)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (j *aion) Stats(s *Snapshot) {
	a := j.a.Stats()
	s.Txns, s.Late, s.Window, s.Keys, s.Watermark, s.Label = a.Txns, a.Late, a.Window, len(j.p.names), j.watermark,
		"axiom"
	s.More = []Count{{"flips_total", "counter", "Tentative verdicts of reads that changed.", "flips", a.Flips}}
}
