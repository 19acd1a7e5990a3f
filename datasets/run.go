package datasets

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"isovet/datasets/store"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/plural"
)

// run is a checked spec, with the settings that follow from it.
type run struct {
	spec   Spec
	info   *workload.Info
	params workload.Params
	cfg    store.Config
	faults []*Anomaly // of each script
}

// prepare checks a spec and makes the store's configuration from it.
func prepare(spec Spec) (*run, error) {
	spec.Workload = cmp.Or(spec.Workload, "blindw")
	spec.Txns = cmp.Or(spec.Txns, 10000)
	spec.Sessions = cmp.Or(spec.Sessions, 24)
	info, err := workload.Lookup(spec.Workload)
	if err != nil {
		return nil, err
	}
	iso, err := store.ParseIsolation(spec.Isolation)
	if err != nil {
		return nil, err
	}
	if spec.Skew < 0 {
		return nil, fmt.Errorf("clock skew %d; expected none or a positive number of nanoseconds", spec.Skew)
	}
	w, params, err := info.New(workload.Params{Variant: spec.Variant, Keys: spec.Keys, Ops: spec.Ops, Zipf: spec.Zipf,
		Sessions: spec.Sessions, Values: spec.Values, Shape: spec.Shape})
	if err != nil {
		return nil, err
	}
	if info.ForSQL(params.Variant) {
		return nil, fmt.Errorf("workload %s, variant %s: the store in memory cannot run it; expected another variant, "+
			"or an SQL database (isovet collect)", info.Name, params.Variant)
	}
	if params.Values > 0 && spec.Fault != "" {
		return nil, fmt.Errorf("a planted fault is ambiguous if values are written more than once; expected a fault " +
			"or repeated values, not both")
	}
	if spec.FenceEvery < 0 {
		return nil, fmt.Errorf("fences every %d transactions; expected none or a positive number", spec.FenceEvery)
	}
	if spec.FenceEvery > 0 {
		w = workload.Fenced(w, spec.FenceEvery)
	}
	if !(spec.UnknownOld >= 0 && spec.UnknownOld <= 1) {
		return nil, fmt.Errorf("share of unknown old versions %v; expected it from 0 to 1", spec.UnknownOld)
	}
	p := &run{spec: spec, info: &info, params: params, cfg: store.Config{
		Workload: w, Sessions: spec.Sessions, Txns: spec.Txns, Isolation: iso, Seed: spec.Seed,
		AbortRate: spec.AbortRate, UnknownRate: spec.UnknownRate, LongTxn: spec.LongTxn,
	}}
	if p.cfg.Break, err = store.ParseBreak(spec.Break); err != nil {
		return nil, err
	}
	p.cfg.BreakAt = cmp.Or(spec.FaultAt, spec.Txns/2)
	return p, p.plant()
}

// plant makes the scripts of the faults to plant.
func (p *run) plant() error {
	spec := &p.spec
	switch {
	case spec.Faults < 0:
		return fmt.Errorf("%d faults; expected none or a positive number", spec.Faults)
	case spec.Fault == "" && spec.Faults > 0:
		return fmt.Errorf("the number of faults is %d, but no fault is named; expected one of %s", spec.Faults,
			strings.Join(FaultNames(), ", "))
	case spec.Fault == "":
		return nil
	}
	var kinds []*Anomaly
	for name := range strings.SplitSeq(spec.Fault, ",") {
		a, err := LookupFault(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		spec.DBTimes = spec.DBTimes || a.Timestamps
		kinds = append(kinds, a)
	}
	n := cmp.Or(spec.Faults, len(kinds))
	from, step := cmp.Or(spec.FaultAt, spec.Txns/2), 0
	if n > 1 {
		if spec.FaultAt == 0 {
			from = spec.Txns / (2 * n)
		}
		step = max(0, spec.Txns-from) / n
	}
	for i := range n {
		a := kinds[i%len(kinds)]
		p.faults = append(p.faults, a)
		p.cfg.Scripts = append(p.cfg.Scripts, store.Planting{Script: &a.parse().Script, At: from + i*step})
	}
	return nil
}

// planted returns, for each planted fault, the ids of its transactions.
func (p *run) planted(scripts [][]int64) []Planted {
	out := make([]Planted, len(p.faults))
	for i, a := range p.faults {
		out[i] = Planted{Fault: a.Name, Violates: a.Violates, Timestamps: a.Timestamps}
		if i < len(scripts) {
			out[i].Txns = scripts[i]
		}
	}
	return out
}

func (p *run) meta(tables []workload.Table) history.Meta {
	return history.Meta{
		Lists:     slices.ContainsFunc(tables, func(t workload.Table) bool { return t.List }),
		Name:      fmt.Sprintf("%s-%s-%d", p.info.Name, p.params.Variant, p.spec.Seed),
		DB:        "in-memory store",
		Isolation: p.cfg.Isolation.String(),
		Workload:  p.info.Name + "/" + p.params.Variant,
	}
}

// note returns the header's text: how the history was made, and where the faults are. planted has the ids of their
// transactions, or is nil if they are not known yet.
func (p *run) note(planted []int64) string {
	var s strings.Builder
	spec := &p.spec
	fmt.Fprintf(&s, "seed %d, %s, %s, %s", spec.Seed, plural.Of(spec.Txns, "committed transaction"),
		plural.Of(spec.Sessions, "session"), plural.Of(p.params.Keys, "key"))
	for _, x := range []struct {
		on   bool
		text string
	}{
		{spec.FenceEvery > 0, fmt.Sprintf("fences every %d transactions of a session", spec.FenceEvery)},
		{spec.Shape != "", "shapes " + spec.Shape},
		{spec.Zipf > 0, fmt.Sprintf("Zipf exponent %g", spec.Zipf)},
		{p.params.Values > 0, plural.Phrase(p.params.Values, "value a key", "values a key")},
		{spec.Skew > 0, fmt.Sprintf("clock skew %d ns", spec.Skew)},
		{spec.AbortRate > 0, fmt.Sprintf("rollbacks %g", spec.AbortRate)},
		{spec.UnknownRate > 0, fmt.Sprintf("unknown outcomes %g", spec.UnknownRate)},
		{spec.UnknownOld > 0, fmt.Sprintf("unknown old versions %g", spec.UnknownOld)},
		{spec.LongTxn, "one transaction open through the whole run"},
		{spec.Hint == ReversedTimes, "times reversed"},
		{spec.Hint == RandomTimes, "times shuffled"},
	} {
		if x.on {
			s.WriteString(", " + x.text)
		}
	}
	if spec.Break != "" {
		fmt.Fprintf(&s, "; broken once: %s", spec.Break)
		if planted != nil {
			fmt.Fprintf(&s, ", for transactions %v", planted)
		}
	}
	if len(p.faults) > 0 {
		p.faultsNote(&s, planted)
	}
	return s.String()
}

// faultsNote writes the part of the note about planted anomalies.
func (p *run) faultsNote(s *strings.Builder, planted []int64) {
	kinds := p.faults[:1]
	for _, a := range p.faults[1:] {
		if !slices.ContainsFunc(kinds, func(b *Anomaly) bool { return b.Name == a.Name }) {
			kinds = append(kinds[:len(kinds):len(kinds)], a)
		}
	}
	s.WriteString("; planted ")
	for i, a := range kinds {
		if i > 0 {
			s.WriteString(", ")
		}
		s.WriteString(a.Name)
	}
	if n := len(p.faults); n > 1 {
		fmt.Fprintf(s, ", %d in all", n)
	}
	if planted != nil && len(planted) <= 64 {
		s.WriteString(": transactions")
		for i, id := range planted {
			if i > 0 {
				s.WriteByte(',')
			}
			s.WriteString(" " + strconv.FormatInt(id, 10))
		}
	}
	for _, a := range kinds {
		s.WriteString("; ")
		if len(kinds) > 1 {
			s.WriteString(a.Name + " ")
		}
		s.WriteString("violates")
		for i, l := range a.Violates {
			if i > 0 {
				s.WriteByte(',')
			}
			s.WriteString(" " + a.label(l))
		}
	}
}
