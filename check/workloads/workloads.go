// Package workloads judges histories of tests that have a workload of their own: banks, sets, counters, queues and ids,
// as Jepsen's checkers of these names do, and objects that must be linearizable ([linear]). Its messages name what a
// published checker leaves open, such as a queue that is never drained.
//
// Experimental: this package may still change.
package workloads

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"isovet/check/linear"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/operations"
	"isovet/internal/slice"
)

// Finding is an anomaly that the history shows.
type Finding struct {
	Kind string
	Text string
	Ops  []int // of the history
}

// Stat is a number or text about the history, with the name that the published checker gives it.
type Stat struct {
	Name  string
	Value any
}

// Answer says whether a workload allows a history.
type Answer struct {
	Workload string
	Verdict  evidence.Verdict
	Reason   string    // of Unknown
	Findings []Finding // violations, up to Options.Examples of a kind
	Counts   map[string]int
	Stats    []Stat
	// Order is, for linearizable objects, a linearization: the operations that took effect in an order that explains
	// all.
	Order []int
}

// Options say how to judge. The zero value is the default.
type Options struct {
	Examples int // findings of a kind; 0: ten
	Limits   linear.Options
	// Settings are the workload's settings by name: total, accounts, negative, permits, linearizable, … Missing ones
	// are taken from the test map.
	Settings map[string]string
}

// Workload is a kind of test with the function that judges its histories.
type Workload struct {
	Name, About string
	// Operations are the names of its operations (:f in Jepsen).
	Operations []string
	// Settings are the names that Options.Settings may have.
	Settings []string
	check    func(ctx context.Context, j *judge) error
}

// All returns the workloads, by name.
func All() []Workload {
	all := []Workload{
		{"bank", "transfers between accounts: every read has the same total", fs("transfer", "read"),
			fs("total", "accounts", "negative"), bank},
		{"set", "elements are added, and the last read returns all of them", fs("add", "read"), nil, set},
		{"set-full", "elements added stay in all later reads", fs("add", "broadcast", "read"), fs("linearizable"),
			setFull},
		{"counter", "reads lie between the acknowledged and the attempted sum", fs("add", "read"), nil, counter},
		{"total-queue", "every value enqueued is dequeued", fs("enqueue", "dequeue", "drain"), nil, totalQueue},
		{"unique-ids", "no id is given twice", fs("generate"), nil, uniqueIDs},
		{"kafka", "logs: polls return the values that were sent, in order", fs("send", "poll", "txn", "subscribe",
			"assign", "crash", "debug-topic-partitions"), fs("sub-via", "ww-deps"), kafka},
	}
	all = append(all, transactional()...)
	all = append(all, Workload{"etcd", "reports of etcd's robustness tests: linearizable, with revisions",
		fs("range", "txn", "leaseGrant", "leaseRevoke", "defragment", "compact", "watch"), nil, etcd})
	for _, o := range linear.Objects() {
		all = append(all, Workload{o.Name, "linearizable: " + o.About, objectFs[o.Name], objectSettings[o.Name],
			linearizable(o)})
	}
	slices.SortFunc(all, func(a, b Workload) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func fs(names ...string) []string { return names }

// Names returns the names of all workloads.
func Names() []string { return slice.Map(All(), func(w Workload) string { return w.Name }) }

// Lookup returns a workload by name; settings may follow the name, as in bank:total=100,negative=yes.
func Lookup(name string) (w Workload, settings map[string]string, err error) {
	name, list, _ := strings.Cut(name, ":")
	all := All()
	i := slices.IndexFunc(all, func(w Workload) bool { return w.Name == name })
	if i < 0 {
		return w, nil, fmt.Errorf("workload %q is unknown; expected one of %s", name, strings.Join(Names(), ", "))
	}
	w, settings = all[i], map[string]string{}
	for _, s := range strings.Split(list, ",") {
		if s == "" {
			continue
		}
		k, v, is := strings.Cut(s, "=")
		if !slices.Contains(w.Settings, k) || !is {
			takes := "none"
			if len(w.Settings) > 0 {
				takes = strings.Join(w.Settings, "=…, ") + "=…"
			}
			return w, nil, fmt.Errorf("workload %s: setting %q is unknown; expected %s", name, s, takes)
		}
		if err := checkSetting(k, v); err != nil {
			return w, nil, fmt.Errorf("workload %s: %w", name, err)
		}
		settings[k] = v
	}
	return w, settings, nil
}

// checkSetting returns an error if a setting cannot have this value.
func checkSetting(name, value string) (err error) {
	switch name {
	case "initial":
	case "accounts":
		_, err = accountsOf(value)
	case "total":
		if _, is := strconv.ParseInt(value, 10, 64); is != nil {
			err = fmt.Errorf("total is %q; expected an integer", value)
		}
	case "permits", "group":
		if n, is := strconv.Atoi(value); is != nil || n < 1 {
			err = fmt.Errorf("%s is %q; expected a positive integer", name, value)
		}
	case "sub-via":
		if value != "assign" && value != "subscribe" {
			err = fmt.Errorf("sub-via is %q; expected assign or subscribe", value)
		}
	default: // negative, linearizable, ww-deps
		if !slices.Contains([]string{"yes", "true", "1", "no", "false", "0"}, value) {
			err = fmt.Errorf("%s is %q; expected yes or no", name, value)
		}
	}
	return err
}

// Check judges a history. One of independent keys (values [k v], of Jepsen's independent tests) is judged key by key.
// Operations that do not belong to the workload give a *history.InputError.
func (w *Workload) Check(ctx context.Context, h *operations.History, o Options) (*Answer, error) {
	o.Examples = cmp.Or(o.Examples, 10)
	if h.Go {
		h = w.fromGo(h)
	}
	for i := range h.Ops {
		if op := &h.Ops[i]; !slices.Contains(w.Operations, op.F) {
			j := judge{h: h}
			return nil, j.bad(op, "f", op.F, "one of "+strings.Join(w.Operations, ", "))
		}
	}
	settings, err := w.settings(h, o.Settings)
	if err != nil {
		return nil, err
	}
	o.Settings = settings
	parts, err := independent(h)
	if err != nil {
		return nil, err
	}
	if parts == nil {
		return w.part(ctx, h, o)
	}
	all := &Answer{Workload: w.Name, Verdict: evidence.Holds, Counts: map[string]int{},
		Stats: []Stat{{"keys", len(parts)}}}
	quiet := 0
	for _, p := range parts {
		a, err := w.part(ctx, p.h, o)
		switch {
		case err != nil:
			return nil, err
		case a.Reason == nothing:
			quiet++
		default:
			all.add(a, p, o.Examples)
		}
	}
	if quiet == len(parts) {
		all.Verdict, all.Reason = evidence.Unknown, nothing
	}
	return all, nil
}

// nothing is the reason when a history, or the part of a key, shows nothing.
const nothing = "inconclusive: no operation is known to have taken effect"

// inTest maps names in a test map to settings.
var inTest = map[string]string{"accounts": "accounts", "total-amount": "total", "negative-balances?": "negative",
	"sub-via": "sub-via", "ww-deps": "ww-deps"}

// settings returns the given settings, and those of the test map for the rest.
func (w *Workload) settings(h *operations.History, given map[string]string) (map[string]string, error) {
	all := maps.Clone(given)
	for _, p := range h.Test {
		key, _ := p.Key.(string)
		name := inTest[key]
		if _, is := given[name]; is || p.Value == nil || !slices.Contains(w.Settings, name) {
			continue
		}
		text := operations.Text(p.Value)
		if items, is := operations.Items(p.Value); is {
			names := slice.Map(items, account)
			text = strings.Join(names, "|")
			if name == "sub-via" && slices.Contains(names, "subscribe") {
				text = "subscribe" // prefer it to the other ways listed
			}
		}
		if err := checkSetting(name, text); err != nil {
			return nil, &history.InputError{File: h.File, Off: -1, Field: key, Msg: "in the test's map, " + err.Error()}
		}
		slice.MakeMap(&all)
		all[name] = text
	}
	return all, nil
}

// part judges a history of one object.
func (w *Workload) part(ctx context.Context, h *operations.History, o Options) (*Answer, error) {
	j := &judge{h: h, o: o, a: &Answer{Workload: w.Name, Verdict: evidence.Holds, Counts: map[string]int{}}}
	for range j.each("", operations.OK) {
		j.ok++
	}
	if err := w.check(ctx, j); err != nil {
		return nil, err
	}
	if j.ok == 0 && j.a.Verdict != evidence.Violated {
		j.unknown("%s", nothing)
	}
	return j.a, nil
}

// keyPart is the part of a history that is about one key.
type keyPart struct {
	key string
	h   *operations.History
	at  []int // indexes of its operations in the whole history
}

// valueless are the functions that are invoked without a value of their own.
var valueless = fs("read", "dequeue", "pop", "acquire", "release", "drain", "generate", "read-init")

// independent splits a history of independent keys, in which each value is [key value], or [key nil] for invocations
// without a value; nil if the history is of one object.
func independent(h *operations.History) (parts []keyPart, err error) {
	pair := func(v any) []any {
		if p, is := v.([]any); is && len(p) == 2 {
			return p
		}
		return nil
	}
	var told, cas, other *operations.Op
	var found any
	for _, op := range slice.Refs(h.Ops) {
		p := pair(op.In)
		none := slices.Contains(valueless, op.F)
		wrong := op.Status == operations.OK && op.Out != nil && pair(op.Out) == nil // else Out may say why it failed
		if p == nil || wrong || none && p[1] != nil {
			if other, found = op, op.In; wrong {
				found = op.Out
			}
		} else if none {
			told = op
		} else if _, list := operations.Items(p[0]); op.F == "cas" && pair(p[1]) != nil && p[0] != nil && !list {
			cas = op
		}
	}
	if told == nil && other == nil { // without reads, [key [old new]] tells it
		told = cas
	}
	if told == nil {
		return nil, nil
	}
	if other != nil {
		return nil, &history.InputError{File: h.File, Line: other.Line, Off: -1, Field: "value",
			Msg: fmt.Sprintf("found %.60s; expected a key and a value, as in line %d", operations.Text(found),
				told.Line)}
	}
	at := map[string]int{}
	for i, op := range h.Ops {
		p := op.In.([]any)
		k := operations.Text(p[0])
		n, is := at[k]
		if !is {
			n = len(parts)
			at[k], parts = n, append(parts, keyPart{k, &operations.History{File: h.File, Times: h.Times}, nil})
		}
		op.In = p[1]
		if out := pair(op.Out); out != nil {
			op.Out = out[1]
		} else {
			op.Out = nil
		}
		parts[n].h.Ops = append(parts[n].h.Ops, op)
		parts[n].at = append(parts[n].at, i)
	}
	return parts, nil
}

// add merges the answer of a part: a violation outweighs unknown, and unknown outweighs holds. At most most findings of
// a kind are kept.
func (a *Answer) add(b *Answer, p keyPart, most int) {
	switch {
	case b.Verdict == evidence.Violated:
		a.Verdict, a.Reason = evidence.Violated, ""
	case b.Verdict == evidence.Unknown && a.Verdict == evidence.Holds:
		a.Verdict, a.Reason = evidence.Unknown, "key "+p.key+": "+b.Reason
	}
	whole := func(ops []int) []int {
		for i, n := range ops {
			ops[i] = p.at[n]
		}
		return ops
	}
	seen := map[string]int{}
	for _, f := range b.Findings {
		if seen[f.Kind]++; a.Counts[f.Kind]+seen[f.Kind] <= most {
			a.Findings = append(a.Findings, Finding{f.Kind, "key " + p.key + ": " + f.Text, whole(f.Ops)})
		}
	}
	for kind, n := range b.Counts {
		a.Counts[kind] += n
	}
	a.Order = append(a.Order, whole(b.Order)...)
}

// judge collects what the checker of a workload finds.
type judge struct {
	h  *operations.History
	o  Options
	a  *Answer
	ok int // operations that took effect
	// holdsEmpty: "empty" is a value in the queue or stack, not the answer that it is empty.
	holdsEmpty bool
	given      string // what a refutation takes for granted
}

// bad returns an error for an operation that does not belong to the workload.
func (j *judge) bad(op *operations.Op, field string, found any, expected string) error {
	line := op.Line
	if op.Lines > 0 && field == "value" {
		line = op.Lines
	}
	return &history.InputError{File: cmp.Or(op.File, j.h.File), Line: line, Off: -1, Field: field,
		Msg: fmt.Sprintf("found %s; expected %s", operations.Text(found), expected)}
}

// unknown leaves the verdict open, with a reason.
func (j *judge) unknown(format string, args ...any) {
	j.a.Verdict, j.a.Reason = evidence.Unknown, fmt.Sprintf(format, args...)
}

// found counts a violation of a kind, and keeps the first few of each.
func (j *judge) found(kind string, ops []int, format string, args ...any) {
	j.a.Verdict = evidence.Violated
	if j.a.Counts[kind]++; j.a.Counts[kind] <= j.o.Examples {
		j.a.Findings = append(j.a.Findings, Finding{kind, fmt.Sprintf(format, args...), ops})
	}
}

func (j *judge) stat(name string, value any) { j.stats(Stat{name, value}) }

func (j *judge) stats(list ...Stat) { j.a.Stats = append(j.a.Stats, list...) }

// each returns the operations of a function, "" meaning any, with one of some outcomes, none meaning any.
func (j *judge) each(name string, of ...operations.Status) iter.Seq2[int, *operations.Op] {
	return func(yield func(int, *operations.Op) bool) {
		for i, op := range slice.Refs(j.h.Ops) {
			if (name == "" || name == op.F) && (of == nil || slices.Contains(of, op.Status)) && !yield(i, op) {
				return
			}
		}
	}
}

// set reports whether a setting is switched on.
func (j *judge) set(name string) bool {
	v := j.o.Settings[name]
	return v == "yes" || v == "true" || v == "1"
}
