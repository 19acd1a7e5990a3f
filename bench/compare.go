package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"isovet/check"
	"isovet/encode"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// Options are the parameters of Compare. The zero value means serializable, one run each, no time-out.
type Options struct {
	Level      level.Level
	Contenders []Contender
	// Repeat is the number of runs for each. A contender without a verdict does not run again.
	Repeat    int
	Timeout   time.Duration
	ClockSkew time.Duration
	// IgnorePredicates is check.Options.IgnorePredicates.
	IgnorePredicates bool
	// Programs are other checkers, run after the contenders.
	Programs []Program
	// Self is the program and the arguments after which it accepts ChildCommand. If it is nil, every run is in this
	// process, and its peak memory is not known.
	Self []string
	// Extra are encodings besides encode.Encodings. They can only be measured in this process.
	Extra []encode.Encoding
	// Progress, if set, is called before each run with its name and the number of runs done.
	Progress func(what string, done, total int)
}

// Input is the history to check, and the level.
type Input struct {
	Workload string      `json:"workload"`
	Variant  string      `json:"variant"`
	Level    level.Level `json:"level"`
	History  string      `json:"history,omitempty"`
	Txns     int         `json:"txns"` // as asked for, else all of the file
	Ops      int         `json:"ops"`
	Sessions int         `json:"sessions"`
	Keys     int         `json:"keys"`
}

// Cost has the cost of a check: medians over the runs, in milliseconds and megabytes.
type Cost struct {
	LoadMS   float64 `json:"load_ms"`
	CheckMS  float64 `json:"check_ms"`
	CheckMin float64 `json:"check_ms_min"`
	CheckMax float64 `json:"check_ms_max"`
	// CheckLow and CheckHigh are the ends of CheckMS's interval by the bootstrap, or 0 if there are fewer than three
	// runs.
	CheckLow  float64 `json:"check_ms_low,omitempty"`
	CheckHigh float64 `json:"check_ms_high,omitempty"`
	CPUMS     float64 `json:"cpu_ms,omitempty"` // the whole process's
	CertifyMS float64 `json:"certify_ms"`
	PeakMB    float64 `json:"peak_mb"`
}

// Effort has the sizes of the checker's problem and its solver's work, if it has one.
type Effort struct {
	KnownEdges int   `json:"known_edges" parquet:"known_edges"`
	Before     int   `json:"constraints" parquet:"constraints"`
	Left       int   `json:"constraints_left" parquet:"constraints_left"`
	Variables  int   `json:"variables" parquet:"variables"`
	Clauses    int   `json:"clauses" parquet:"clauses"`
	Decisions  int64 `json:"decisions" parquet:"decisions"`
	Conflicts  int64 `json:"conflicts" parquet:"conflicts"`
	Propagated int64 `json:"propagations" parquet:"propagations"`
	Restarts   int64 `json:"restarts" parquet:"restarts"`
	Rounds     int   `json:"rounds" parquet:"rounds"`
}

func effortOf(s *evidence.Stats) Effort {
	return Effort{KnownEdges: s.KnownEdges, Before: s.Constraints, Left: s.Left, Variables: s.Variables,
		Clauses: s.Clauses, Decisions: s.Decisions, Conflicts: s.Conflicts, Propagated: s.Propagated,
		Restarts: s.Restarts, Rounds: s.Rounds}
}

// Row is a row of the comparison: one contender on one history. Times are medians over the runs, memory is the maximum.
type Row struct {
	Checker    string `json:"checker"`
	Timestamps bool   `json:"timestamps,omitempty"` // the verdict is about database timestamps ("ts:")
	Items      bool   `json:"items,omitempty"`      // the verdict ignores predicates ("items:")
	Solver     string `json:"solver"`
	// DecidedBy is the checker that decided, if this one used another.
	DecidedBy string `json:"decided_by,omitempty"`
	Input
	Verdict evidence.Verdict `json:"verdict"`
	Reason  string           `json:"reason,omitempty"`
	Fault   string           `json:"fault,omitempty"`
	Cost
	Effort
	Stages     map[string]float64 `json:"stages_ms,omitempty"`
	Violations map[string]int     `json:"violations,omitempty"` // of timestamps, by axiom
	BadTxns    int                `json:"violating_txns,omitempty"`
	BadPairs   int                `json:"violating_txn_keys,omitempty"`
	Repeat     int                `json:"repeat"`
	// Settings are the contender's. UsedClosure and the like are what the run used, if the checker has such choices.
	Settings     string `json:"settings,omitempty"`
	UsedClosure  string `json:"closure,omitempty"`
	UsedEncoding string `json:"encoding,omitempty"`
	UsedTheory   string `json:"theory,omitempty"`
	// WallMS is the median time of the whole process. A Program has no other time.
	WallMS  float64 `json:"wall_ms,omitempty"`
	Program bool    `json:"program,omitempty"`
	// Runs are the raw measurements, for results files only.
	Runs []Measured `json:"-"`
}

// Compare runs every contender on every history. If ctx ends, it returns the measurements so far and ctx's error.
// Different verdicts in repeats are a fault.
func Compare(ctx context.Context, sources []Source, o Options) ([]Row, error) {
	repeat := max(o.Repeat, 1)
	total := len(sources) * (len(o.Contenders) + len(o.Programs)) * repeat
	var rows []Row
	done := 0
	for _, src := range sources {
		var h *history.History
		for _, c := range o.Contenders {
			var runs []Measured
			for i := range repeat {
				if o.Progress != nil {
					what := c.String() + " on " + src.Name()
					if repeat > 1 {
						what += fmt.Sprintf(", run %d of %d", i+1, repeat)
					}
					o.Progress(what, done, total)
				}
				r := Run{Checker: c.Checker, Solver: c.Solver, Level: o.Level, History: src.Path, Timeout: o.Timeout,
					ClockSkew: o.ClockSkew, IgnorePredicates: o.IgnorePredicates, Pipeline: c.Pipeline()}
				r.Pipeline.Extra = o.Extra
				var m Measured
				var err error
				if o.Self == nil {
					m, h = measure(ctx, r, h)
					err = ctx.Err()
				} else {
					m, err = runChild(ctx, o.Self, r)
				}
				if err != nil {
					if len(runs) > 0 {
						rows = append(rows, newRow(src, c, o.Level, runs))
					}
					return rows, err
				}
				if m.BadInput != "" {
					return rows, &BadHistory{m.BadInput}
				}
				runs = append(runs, m)
				if done++; m.Verdict == evidence.Unknown {
					done += repeat - i - 1
					break
				}
			}
			rows = append(rows, newRow(src, c, o.Level, runs))
		}
	}
	more, err := o.programs(ctx, sources, func(what string, n int) {
		if o.Progress != nil {
			o.Progress(what, done+n, total)
		}
	})
	for i := range more { // a program does not say what is in the history
		m := &more[i]
		for _, r := range rows {
			if r.History == m.History && r.Workload == m.Workload && r.Variant == m.Variant {
				m.Txns, m.Ops, m.Sessions, m.Keys = r.Txns, r.Ops, r.Sessions, r.Keys
				break
			}
		}
	}
	if rows = append(rows, more...); err != nil {
		return rows, err
	}
	if o.Progress != nil {
		o.Progress("", total, total)
	}
	return rows, nil
}

// BadHistory is a history that cannot be read.
type BadHistory struct{ Msg string }

func (b *BadHistory) Error() string { return b.Msg }

func newRow(src Source, c Contender, l level.Level, runs []Measured) Row {
	best := runs[0] // counts are those of the first run that decided
	for _, m := range runs {
		if m.Verdict != evidence.Unknown {
			best = m
			break
		}
	}
	s := &best.Stats
	r := Row{Checker: c.Checker, Timestamps: check.TrustsTimestamps(c.Checker), Items: best.Items, Solver: c.Solver,
		Settings: c.Settings, UsedClosure: s.Closure, UsedEncoding: s.Encoding, UsedTheory: s.Theory,
		DecidedBy: best.DecidedBy, Verdict: best.Verdict, Reason: best.Reason,
		Input: Input{Workload: src.Workload, Variant: src.Variant, Level: l, History: src.File,
			Txns: cmp.Or(src.Txns, s.Txns), Ops: s.Ops, Sessions: s.Sessions, Keys: s.Keys},
		Effort: effortOf(s),
		Stages: s.Stages, Violations: s.Violations, BadTxns: s.BadTxns, BadPairs: s.BadPairs, Repeat: len(runs),
		Runs: runs}
	var load, chk, cert, wall, cpu []float64
	for _, m := range runs {
		if m.Fault != "" {
			r.Verdict, r.Fault = evidence.Unknown, m.Fault
		}
		if m.Verdict != evidence.Unknown && best.Verdict != evidence.Unknown && m.Verdict != best.Verdict {
			r.Fault = fmt.Sprintf("one run says %s, another %s", best.Verdict, m.Verdict)
		}
		load, wall, cpu = append(load, m.Stats.LoadMS), append(wall, m.WallMS), append(cpu, m.CPUMS)
		chk = append(chk, m.Stats.CheckMS)
		cert = append(cert, m.Stats.CertifyMS)
		r.PeakMB = max(r.PeakMB, m.Stats.PeakMB)
	}
	if r.Fault != "" {
		r.Verdict = evidence.Unknown
		r.Reason, _, _ = strings.Cut(r.Fault, "\n")
	}
	r.LoadMS, r.CheckMS, r.CertifyMS, r.WallMS = median(load), median(chk), median(cert), median(wall)
	r.CheckMin, r.CheckMax, r.CPUMS = slices.Min(chk), slices.Max(chk), median(cpu)
	r.CheckLow, r.CheckHigh, _ = interval95(chk)
	return r
}

// Disagreement is a history that one contender finds valid and another finds violated. Unknown is no disagreement.
type Disagreement struct {
	On                string
	Level             level.Level
	Valid, Violations []Contender
}

func (d Disagreement) String() string {
	return fmt.Sprintf("checkers disagree on %s at %s: %s; %s", d.On, d.Level, say(d.Valid, "valid"), say(d.Violations,
		"violation"))
}

func say(cs []Contender, verdict string) string {
	return strings.Join(slice.Map(cs, Contender.String), ", ") + " says " + verdict
}

// Differences returns a sentence for each history that some order explains and the order of the timestamps does not.
// That is no disagreement: checkers that trust timestamps answer a stricter question (errata C8).
func Differences(rows []Row) []string {
	var out []string
	for _, t := range slice.Refs(rows) {
		if !t.Timestamps || t.Verdict != evidence.Violated {
			continue
		}
		for _, b := range slice.Refs(rows) {
			if b.Timestamps || b.Verdict != evidence.Holds || b.source() != t.source() || b.Level != t.Level {
				continue
			}
			out = append(out, fmt.Sprintf("%s: %s says valid at %s, %s says violation of ts:%s. Both can be right: "+
				"an order explains the reads, but the order of the database's timestamps does not, because in it "+
				"%s. Either the database did not run the transactions in the order of its timestamps, or it orders "+
				"them by other timestamps.", b.source().Name(), b.Contender(), b.Level, t.Checker, t.Level, t.what()))
			break
		}
	}
	return out
}

// Contender returns the contender of the row.
func (r *Row) Contender() Contender { return Contender{r.Checker, r.Solver, r.Settings} }

// what says how often axioms were violated.
func (r *Row) what() string {
	var parts []string
	for _, axiom := range []string{"TIMESTAMPS", "SESSION", "INT", "EXT", "NOCONFLICT"} {
		if n := r.Violations[axiom]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, axiom))
		}
	}
	if len(parts) == 0 {
		return "axioms are violated"
	}
	return fmt.Sprintf("there are violations: %s (%d transactions, %d pairs of transaction and key)",
		strings.Join(parts, ", "), r.BadTxns, r.BadPairs)
}

// Disagreements finds all disagreements. If a checker that trusts timestamps finds a violation, other checkers may
// find none. If it finds none, others must not find one, since the order of the timestamps is an order. A "valid" that
// ignores predicates never counts.
func Disagreements(rows []Row) []Disagreement {
	var out []Disagreement
	index := map[string]int{}
	trusted, trusting := map[int][]Contender{}, map[int][]Contender{} // of timestamps: valid, violation
	for _, r := range slice.Refs(rows) {
		on := r.source().Name()
		key := fmt.Sprintf("%s\x00%s\x00%d\x00%d", on, r.History, r.Level, r.Txns)
		j, ok := index[key]
		if !ok {
			j = len(out)
			index[key] = j
			out = append(out, Disagreement{On: on, Level: r.Level})
		}
		c := r.Contender()
		switch r.Verdict {
		case evidence.Holds:
			if r.Items {
				continue // phantoms would not have been seen
			}
			out[j].Valid = append(out[j].Valid, c)
			if r.Timestamps {
				trusted[j] = append(trusted[j], c)
			}
		case evidence.Violated:
			if r.Timestamps {
				trusting[j] = append(trusting[j], c)
				continue
			}
			out[j].Violations = append(out[j].Violations, c)
		}
	}
	for j, cs := range trusting { // among themselves they answer one question
		if len(trusted[j]) > 0 {
			out[j].Violations = append(out[j].Violations, cs...)
		}
	}
	return slices.DeleteFunc(out, func(d Disagreement) bool { return len(d.Valid) == 0 || len(d.Violations) == 0 })
}

func (r *Row) source() Source {
	return Source{Workload: r.Workload, Variant: r.Variant, File: r.History, Txns: r.Txns}
}
