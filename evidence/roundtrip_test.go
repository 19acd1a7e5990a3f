package evidence_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"isovet/certify"
	checkers "isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/level"
)

// decided checks a history at a level with one of the checkers that take it: an error of a checker that does not is no
// answer to look at, nil.
func decided(h *history.History, l level.Level, turn int) *evidence.Result {
	c, ok := checkers.Auto(h, l)
	if all := checkers.All(); turn < len(all) {
		c, ok = all[turn], slices.Contains(all[turn].Info().Levels, l)
	}
	if !ok {
		return nil
	}
	r, err := checkers.Run(context.Background(), c, h, checkers.Options{Level: l, ReadOnlyAtStart: turn%2 == 0})
	if err != nil {
		return nil
	}
	return r
}

// readsBack tells whether a result is the same after its certificate and its report were written and read.
func readsBack(r *evidence.Result) error {
	var b bytes.Buffer
	if err := evidence.WriteCertificate(&b, r); err != nil {
		return err
	}
	back, err := evidence.ReadCertificate(bytes.NewReader(b.Bytes()), r.H)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, b.Bytes())
	}
	var again bytes.Buffer
	if err := evidence.WriteCertificate(&again, back); err != nil {
		return err
	}
	if !bytes.Equal(again.Bytes(), b.Bytes()) {
		return fmt.Errorf("the certificate\n%s\nwritten anew is\n%s", b.Bytes(), again.Bytes())
	}
	same := back.Verdict == r.Verdict && back.Level == r.Level && back.Timestamps == r.Timestamps &&
		back.Reason == r.Reason && slices.Equal(back.Order, r.Order) && slices.Equal(back.Sources, r.Sources) &&
		fmt.Sprint(back.Anomalies) == fmt.Sprint(r.Anomalies)
	if !same {
		return fmt.Errorf("%+v\nread back is\n%+v", r, back)
	}
	if r.Verdict != evidence.Unknown {
		if err := certify.Check(back, certify.Options{}); err != nil {
			return fmt.Errorf("read back it is refused: %w\n%s", err, b.Bytes())
		}
	}
	line, err := evidence.JSON(r, "a")
	if err != nil {
		return err
	}
	var report evidence.Report
	if err := json.Unmarshal(line, &report); err != nil {
		return fmt.Errorf("%w: %s", err, line)
	}
	var copied bytes.Buffer
	enc := json.NewEncoder(&copied)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(&report); err != nil || !bytes.Equal(bytes.TrimSpace(copied.Bytes()), line) {
		return fmt.Errorf("%v: the report %s\nread back is\n%s", err, line, &copied)
	}
	return nil
}

// namesStay tells whether the name of a proof is the one that it has without a name, alone and among others.
func namesStay(r *evidence.Result) error {
	for i := range r.Anomalies {
		a := r.Anomalies[i]
		if len(a.Cycle)+len(a.Cycles) == 0 || r.Timestamps {
			continue
		}
		if kind := a.Named(r.H, r.Level.Needs(a.Kind), 0); kind != a.Kind {
			return fmt.Errorf("%s, but its proof shows %s\n%s", a.Kind, kind, a.Text)
		}
		if text := evidence.Describe(&a, r.H); text != a.Text && r.Level != level.Linearizable {
			return fmt.Errorf("the text of %s is\n%s\nand described anew\n%s", a.Kind, a.Text, text)
		}
	}
	return nil
}

// Of every kind of answer, the certificate and the report read back as what they were written from, and proofs have
// the names that they show.
func TestRoundTrips(t *testing.T) {
	kinds, deps := map[level.Anomaly]int{}, map[evidence.Dep]int{}
	sources, initial := 0, 0
	levels := level.All()
	tried := histtest.Search{N: 750, Long: 200_000,
		Make: func(seed uint64) []byte { return histtest.Random(seed, histtest.Shape{Txns: 6}) },
		Judge: func(text []byte) error {
			if len(text) == 0 {
				return nil
			}
			h, err := histtest.Read(text)
			if err != nil {
				return nil // a shrunk text may be none
			}
			for turn, l := range levels {
				if (turn+len(text))%3 > 0 {
					continue
				}
				r := decided(h, l, (turn*31+len(text))%(2*len(checkers.All())))
				if r == nil {
					continue
				}
				if err := readsBack(r); err != nil {
					return &histtest.Failure{Class: "round trip", Err: err}
				}
				if err := namesStay(r); err != nil {
					return &histtest.Failure{Class: "name", Err: err}
				}
				sources += len(r.Sources)
				for _, a := range r.Anomalies {
					kinds[a.Kind.Base()]++
					for _, e := range slices.Concat(append(a.Cycles, a.Cycle)...) {
						deps[e.Dep]++
						if e.Dep == evidence.RW && e.Writer == history.None {
							initial++
						}
					}
				}
			}
			return nil
		}}.Run(t)
	if t.Failed() {
		return
	}
	if tried < 1500 {
		return // a few, by flag
	}
	if len(kinds) < 18 || len(deps) < 6 || min(sources, initial) == 0 {
		t.Errorf("of all this too little was seen: kinds %v, dependencies %v, %d sources, %d reads of initial versions",
			kinds, deps, sources, initial)
	}
}
