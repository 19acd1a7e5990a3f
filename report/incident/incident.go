// Package incident describes a violation in a folder for the maintainers of the database. The folder has a report for
// their tracker, the server's version and the sessions' settings, the SQL of the transactions side by side, the
// smallest history with its certificate and page, and a schedule that repeats the violation on a fresh database.
//
// Experimental: this package may still change.
package incident

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"isovet/check/shrink"
	"isovet/collect"
	"isovet/collect/driver"
	"isovet/docs"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/level"
)

// Incident is the content of the folder. Its JSON is the file incident.json.
type Incident struct {
	Format   string `json:"format"` // "isovet-incident"
	Version  int    `json:"version"`
	Made     string `json:"made_by,omitempty"`
	Recorded string `json:"recorded"` // the day, UTC: 2006-01-02
	Database struct {
		Name      string           `json:"name"`
		Version   string           `json:"server_says,omitempty"`
		Asked     string           `json:"isolation_asked_for,omitempty"`
		Isolation string           `json:"isolation"`
		Nodes     []string         `json:"nodes,omitempty"`
		URLs      []string         `json:"urls,omitempty"`       // without users and passwords
		Started   string           `json:"started_as,omitempty"` // isovet's command that started it
		Settings  []driver.Setting `json:"settings,omitempty"`
		Setup     []string         `json:"setup_sql,omitempty"`
		Session   []string         `json:"session_sql,omitempty"`
		Tables    []string         `json:"tables,omitempty"`
		After     []string         `json:"after_load,omitempty"`    // statements
		OtherPlan string           `json:"other_plan,omitempty"`    // as in collect.Summary
		Promise   string           `json:"documentation,omitempty"` // its promise, and where
	} `json:"database"`
	Workload string  `json:"workload,omitempty"`
	Level    string  `json:"level"`
	Anomaly  string  `json:"anomaly"`
	Command  string  `json:"command,omitempty"`
	Seed     uint64  `json:"seed,omitempty"`
	Hunt     string  `json:"hunt,omitempty"` // how long it took to find
	Replay   *Replay `json:"replay,omitempty"`
	// Known lists public reports of this violation, from known.tsv.
	Known []Known                 `json:"known,omitempty"`
	Plans []collect.StatementPlan `json:"plans,omitempty"`
	Files []string                `json:"files"`

	about   string // the anomaly
	implied bool   // the documentation promises the level, not only that the anomaly does not occur
	// The next fields describe how it was found: the size of the whole history, the verdict on the smallest history,
	// and the events of its transactions.
	whole  string
	answer *evidence.Result // for the smallest
	found  []collect.Event
	// The next fields describe how the schedule repeats it.
	repro  *collect.Reproduction
	events []collect.Event
	rows   []string // the statements that load the initial rows
	// order has the events for the sessions' SQL files: events, or found if no schedule repeats the violation.
	order []collect.Event
}

// Replay counts runs on fresh tables of the same server: those of the schedule, with the number that violated the
// level, and those that executed the transactions one after the other.
type Replay struct {
	Runs            int `json:"runs"`
	Violated        int `json:"violated"`
	Sessions        int `json:"sessions"`
	Steps           int `json:"steps"`
	ControlRuns     int `json:"control_runs,omitempty"`
	ControlViolated int `json:"control_violated,omitempty"`
}

// Options are the options of Make.
type Options struct {
	Command string // by which it was found
	Seed    uint64
	Hunt    string // how long it took to find
	Made    string // which isovet
	// Small is the smallest history, if the caller has it. Otherwise Make shrinks the history to an anomaly of Kinds.
	Small *shrink.Result
	Kinds []level.Anomaly
	collect.ReproduceOptions
	// NoReplay leaves the schedule out.
	NoReplay bool
}

// shrinks is the longest time for shrinking a history.
const shrinks = 20 * time.Second

// Make makes the incident of a violation whose database is still open. It plays schedules there, on new tables.
func Make(ctx context.Context, f *collect.Found, o Options) (*Incident, error) {
	x := &Incident{Format: "isovet-incident", Version: 1, Made: o.Made, Recorded: today(), Level: f.Level.String(),
		Command: o.Command, Seed: o.Seed, Hunt: o.Hunt}
	x.database(f)
	small := o.Small
	if small == nil {
		limited, cancel := context.WithTimeout(ctx, shrinks)
		s, err := shrink.History(limited, f.Answer.H, f.Level, shrink.Options{First: f.Answer, Kinds: o.Kinds})
		cancel()
		if err != nil {
			return nil, err
		}
		small = s
	}
	x.tell(f.Answer, small)
	x.promise(f, small.Answer)
	ids := ids(small.H)
	switch {
	case f.Result != nil:
		x.found, x.Database.OtherPlan = f.Result.Events(ids), f.Result.Summary.OtherPlan
	case f.Played != nil:
		x.found = f.Played.Events()
	}
	x.order = x.found
	if len(x.found) == 0 {
		return x, nil
	}
	if o.NoReplay {
		o.For, o.Runs = 1, -1 // the script without a play
	}
	r, err := f.Reproduce(ctx, ids, o.ReproduceOptions)
	if err != nil {
		return x, nil // the run did not record its statements
	}
	if r.Runs > 0 { // not without replay, nor interrupted before it
		x.repro = r
		r.Script.Note = fmt.Sprintf("%s, %s: %s", x.Database.Name, x.Database.Isolation, x.Anomaly)
		x.Replay = &Replay{Runs: r.Runs, Violated: r.Violated, Steps: len(r.Script.Steps),
			ControlRuns: r.Control.Runs, ControlViolated: r.Control.Violated}
		for _, st := range r.Script.Steps {
			x.Replay.Sessions = max(x.Replay.Sessions, st.Session)
		}
	}
	if r.Played != nil {
		x.events = r.Played.Events()
		x.order = x.events
	}
	setup, err := f.Setup(ctx, r.Script, x.order)
	if err != nil { // rows that dirty reads show may break a unique index
		bare := *r.Script
		bare.Tables = slices.Clone(bare.Tables)
		for i := range bare.Tables {
			bare.Tables[i].Rows = nil
		}
		setup, err = f.Setup(ctx, &bare, x.order)
	}
	if err != nil { // such as an interrupt: the rest is worth its folder
		return x, nil
	}
	x.Database.Tables, x.Database.After, x.rows, x.Plans = setup.Tables, setup.After, setup.Rows, setup.Plans
	return x, nil
}

func today() string { return time.Now().UTC().Format(time.DateOnly) }

// Of makes the incident of a violation from its history alone, such as one from a log, without SQL, settings and
// no schedule.
func Of(small *shrink.Result, made string) *Incident {
	r := small.Answer
	x := &Incident{Format: "isovet-incident", Version: 1, Made: made, Recorded: today(), Level: r.Level.String()}
	x.Database.Name, x.Database.Isolation = r.H.Meta.DB, r.H.Meta.Isolation
	x.tell(r, small)
	x.found = eventsOf(r.H, ids(r.H))
	return x
}

func (x *Incident) tell(whole *evidence.Result, small *shrink.Result) {
	x.whole, x.answer = small.From.String(), small.Answer
	x.Workload = whole.H.Meta.Workload
	x.Anomaly = "violation of " + whole.Label()
	if len(small.Answer.Anomalies) > 0 {
		x.Anomaly = string(small.Answer.Anomalies[0].Kind)
		x.about = docs.AboutAnomaly(x.Anomaly)
	}
	x.Known = knownOf(x.Database.Name, x.Database.Isolation, x.Anomaly)
}

func (x *Incident) database(f *collect.Found) {
	in, d := f.Target.Info(), &x.Database
	d.Name, d.Version, d.Isolation, d.Settings = in.Name, in.Version, in.Isolation, in.Settings
	d.Asked = f.Config.Isolation
	for _, n := range in.Nodes {
		d.Nodes = append(d.Nodes, n.Name)
	}
	for _, u := range f.Config.DB {
		d.URLs = append(d.URLs, collect.Sent(driver.Redact(u), f.Config.Send))
	}
	d.Started = f.Started()
	d.Setup, d.Session = f.Config.SetupSQL, f.Config.SessionSQL
}

// promise notes what the database's documentation says of the violation, if isovet knows it.
func (x *Incident) promise(f *collect.Found, r *evidence.Result) {
	p := f.Target.Promise(f.Config)
	x.implied = slices.ContainsFunc(p.Levels, func(l level.Level) bool { return l.Implies(f.Level) })
	switch p.Says(f.Level, r.Kinds()) {
	case driver.Forbidden:
		x.Database.Promise = "forbids it (" + p.Source + ")"
	case driver.Allowed:
		x.Database.Promise = "allows it (" + p.Source + ")"
	}
}

// ids returns the ids of a history's transactions without the initial one.
func ids(h *history.History) (out []int64) {
	for t := range uint32(h.NumTxns()) {
		if t != h.Init {
			out = append(out, h.Txns.ID[t])
		}
	}
	return out
}

// eventsOf makes events from transactions of a history, in the history's notation: in the order of their times or,
// without times, of the file.
func eventsOf(h *history.History, ids []int64) (out []collect.Event) {
	sessions := map[uint32]int{}
	for t := range uint32(h.NumTxns()) {
		if t == h.Init || !slices.Contains(ids, h.Txns.ID[t]) {
			continue
		}
		s, ok := sessions[h.Txns.Sess[t]]
		if !ok {
			s = len(sessions)
			sessions[h.Txns.Sess[t]] = s
		}
		last := h.Start(t)
		add := func(start, end int64, text string) {
			if start == history.NoTime || start < last {
				start = last
			}
			last = start
			out = append(out, collect.Event{Session: s, Txn: h.Txns.ID[t], Start: start, End: end,
				Statements: []string{text}})
		}
		add(h.Start(t), history.NoTime, "begin")
		for op := range h.EachOp(t) {
			add(h.OpStart(op), h.OpEnd(op), opText(h, op))
		}
		end := map[history.Status]string{history.Committed: "commit", history.Aborted: "rollback",
			history.Unknown: "commit, without an answer"}[h.Txns.Status[t]]
		add(h.Commit(t), h.End(t), end)
	}
	slices.SortStableFunc(out, func(a, b collect.Event) int { return cmp.Compare(a.Start, b.Start) })
	return out
}

// opText returns an operation in the history's notation.
func opText(h *history.History, op uint32) string {
	value := func(v uint32) string {
		if v == history.None {
			return "?"
		}
		return string(h.Texts.AppendValue(nil, h.VerValue(v)))
	}
	v := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.Read:
		return fmt.Sprintf("read %s: %s", h.KeyString(h.OpKey(op)), value(v))
	case history.Write:
		return fmt.Sprintf("write %s = %s", h.KeyString(h.OpKey(op)), value(v))
	case history.Append:
		return fmt.Sprintf("append %s to %s", value(v), h.KeyString(h.OpKey(op)))
	case history.ReadList:
		es := slice.Map(h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]], value)
		return fmt.Sprintf("read %s: [%s]", h.KeyString(h.OpKey(op)), strings.Join(es, ", "))
	}
	var rows []string
	for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
		k := h.Preds.Old[j]
		if k == history.None {
			k = h.Preds.New[j]
		}
		row := h.KeyString(h.VerKey[k]) + ": " + value(h.Preds.Old[j])
		if h.Ops.Kind[op] == history.PredWrite {
			row += " -> " + value(h.Preds.New[j])
		}
		rows = append(rows, row)
	}
	verb := "read where "
	if h.Ops.Kind[op] == history.PredWrite {
		verb = "write where "
	}
	return fmt.Sprintf("%s%s: %s %s", verb, h.Texts.Text(h.Preds.Pred[v]), plural.Of(len(rows), "row"),
		strings.Join(rows, ", "))
}

// ms returns the time from since to t in milliseconds.
func ms(t, since int64) string {
	if t == history.NoTime {
		return ""
	}
	return fmt.Sprintf("%.1f", float64(time.Duration(t-since))/1e6)
}
