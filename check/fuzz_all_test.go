package check_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/certify"
	"isovet/check"
	"isovet/check/mechanism"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
	"isovet/report"
)

// printedOne: of one answer in so many the output is made too, which costs more than the answer.
const printedOne = 16

// patience is what a run may take: histories as small as these take milliseconds.
const patience = 20 * time.Second

// judge runs every checker at every level it takes on one history, as isovet check does, and holds the answers against
// brute force and against one another.
type judge struct {
	options check.Options // the header's: clock_skew, read_only_at_start
	h       *history.History
	want    map[level.Level]evidence.Verdict // unknown where brute force does not say
	by      map[level.Level]string           // who said so, where it was not brute force
	got     map[string]evidence.Verdict      // checkers that trust timestamps, by name and level
	turn    int                              // which solver, profile, … it is the turn of
	runs    int                              // so far
	// what the command prints and writes is made of every answer, not of one in printedOne
	printed bool
}

// tally counts what was run and answered, by checker and verdict.
type tally struct {
	runs, rejected, histories int
	said                      map[string]int
}

var counted = tally{said: map[string]int{}}

// known are the failures that were reported: what else is wrong with a history that has one of them is reported too.
var known = map[string]bool{}

// judgeAll is what histtest.Search asks of a history.
func judgeAll(text []byte) error { return judgeWith(text, nil) }

// judgeWith judges by the runs that only says, by checker and level; nil: by all.
func judgeWith(text []byte, only func(checker string, l level.Level) bool) error {
	h, err := histtest.Read(text)
	if err != nil {
		counted.rejected++
		return nil
	}
	counted.histories++
	j := &judge{h: h, want: map[level.Level]evidence.Verdict{}, by: map[level.Level]string{},
		got: map[string]evidence.Verdict{}}
	j.options, j.turn = optionsOf(text)
	j.runs, j.printed = j.turn+len(text), only != nil
	for _, l := range level.All() {
		j.want[l] = j.bruteForce(l, text)
	}
	if err := j.implied(j.want, "brute force"); err != nil {
		return err
	}
	for _, c := range check.All() {
		in := c.Info()
		for _, l := range in.Levels {
			if only != nil && !only(in.Name, l) {
				continue
			}
			if err := j.run(c, l); err != nil {
				f := failure(in.Name, l, err)
				if only == nil && known[f.Class] {
					continue // the next may be another
				}
				known[f.Class] = true
				return f
			}
		}
	}
	if only == nil || only("all", level.Serializable) {
		if err := j.lattice(); err != nil {
			f := failure("all", level.Serializable, err)
			if only != nil || !known[f.Class] {
				known[f.Class] = true
				return f
			}
		}
	}
	return nil
}

// failure is what fails at a checker and level. It is the same in another history where its text is, but for numbers
// and names.
func failure(checker string, l level.Level, bad *wrong) *histtest.Failure {
	class := func(w *wrong) string {
		text, _, _ := strings.Cut(w.err.Error(), "\n")
		return checker + " " + w.class + " " + variable.ReplaceAllString(text, "_")
	}
	is := class(bad)
	return &histtest.Failure{Class: is, Err: fmt.Errorf("at %s: %w", l, bad.err), Again: func(text []byte) bool {
		err := judgeWith(text, func(name string, at level.Level) bool {
			return at == l && (name == checker || bad.class == "verdict" || bad.class == "twins")
		})
		f, ok := errors.AsType[*histtest.Failure](err)
		return ok && f.Class == is
	}}
}

// variable is what differs between two reports of one failure: numbers, strings, which level.
var variable = regexp.MustCompile(`-?[0-9]+|"[^"]*"|:[a-z-]+|(session-|strict-)?(serializable|snapshot-isolation)`)

// optionsOf reads the options that a random or found history carries in its header.
func optionsOf(text []byte) (o check.Options, turn int) {
	var head struct {
		Turn    int
		Skew    int64 `json:"clock_skew"`
		AtStart bool  `json:"read_only_at_start"`
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	if json.Unmarshal(line, &head) == nil {
		o.ClockSkew, o.ReadOnlyAtStart, turn = head.Skew, head.AtStart, head.Turn
	}
	return o, turn
}

// wrong is a failure and its class.
type wrong struct {
	class string
	err   error
}

func wrongf(class, format string, args ...any) *wrong {
	return &wrong{class, fmt.Errorf(format, args...)}
}

// bruteForce is the verdict by definition, unknown where it is not decided so.
func (j *judge) bruteForce(l level.Level, text []byte) evidence.Verdict {
	switch {
	case l == level.Linearizable:
		return j.linear(text)
	case l == level.RepeatableRead && j.h.HasPredicates():
		return evidence.Unknown
	case l == level.RepeatableRead:
		l = level.Serializable
	}
	r := must.Have(oracle.Check(j.h, oracle.Options{Level: l, ClockSkew: j.options.ClockSkew, VerdictOnly: true}))
	return r.Verdict
}

// linear decides linearizability by strict serializability of each key's transactions, each in a session of its own.
func (j *judge) linear(text []byte) evidence.Verdict {
	h := j.h
	keyOf := make([]uint32, h.NumTxns())
	for t := range keyOf {
		keyOf[t] = history.None
		lo, hi := h.TxnOps(uint32(t))
		for op := lo; op < hi; op++ {
			switch k := h.OpKey(op); {
			case k == history.None && h.NumKeys() > 1:
				return evidence.Unknown
			case k == history.None:
				keyOf[t] = 0
			case uint32(t) == h.Init:
			case keyOf[t] == history.None:
				keyOf[t] = k
			case keyOf[t] != k:
				return evidence.Unknown
			}
		}
	}
	verdict := evidence.Holds
	for k := range uint32(max(h.NumKeys(), 1)) {
		var part []byte
		i := 0
		for line := range bytes.Lines(text) {
			var m map[string]any
			in := json.NewDecoder(bytes.NewReader(line))
			in.UseNumber()
			if err := in.Decode(&m); err != nil {
				panic(err)
			}
			if _, header := m["format"]; header {
				part = append(part, line...)
				continue
			}
			if t := uint32(i); keyOf[t] == k || keyOf[t] == history.None {
				delete(m, "session")
				delete(m, "seq")
				var b bytes.Buffer
				e := json.NewEncoder(&b)
				e.SetEscapeHTML(false)
				_ = e.Encode(m)
				part = append(part, b.Bytes()...)
			}
			i++
		}
		sub, err := histtest.Read(part)
		if err != nil {
			return evidence.Unknown // an id that is the ordinal, and occurs twice now
		}
		r, err := oracle.Check(sub, oracle.Options{Level: level.StrictSerializable, ClockSkew: j.options.ClockSkew,
			VerdictOnly: true})
		switch {
		case err != nil:
			panic(err)
		case r.Verdict == evidence.Unknown:
			return evidence.Unknown
		case r.Verdict == evidence.Violated:
			verdict = evidence.Violated
		}
	}
	return verdict
}

// implied holds verdicts to the lattice: what a level implies holds where it holds.
func (j *judge) implied(said map[level.Level]evidence.Verdict, who string) error {
	for l, v := range said {
		for m, w := range said {
			if l.Implies(m) && v == evidence.Holds && w == evidence.Violated {
				return &histtest.Failure{Class: who + " contradicts itself", Err: fmt.Errorf("%s holds, and %s, "+
					"which it implies, is violated", l, m)}
			}
		}
	}
	return nil
}

// run runs one checker at one level, with the solver that is its turn.
func (j *judge) run(c check.Checker, l level.Level) (bad *wrong) {
	in := c.Info()
	o := j.options
	o.Level = l
	if len(in.Solvers) > 0 {
		o.Solver = in.Solvers[j.turn%len(in.Solvers)]
	}
	if in.Name == "leopard" {
		ps := mechanism.Profiles()
		o.Profile = &ps[j.turn%len(ps)]
	}
	if !in.TakesPredicates(l) {
		o.IgnorePredicates = j.turn%2 == 0
	}
	who := in.Name
	if o.Solver != "" {
		who += ":" + o.Solver
	}
	r, bad := guarded(func(ctx context.Context) (*evidence.Result, error) { return check.Run(ctx, c, j.h, o) })
	counted.runs++
	if bad != nil || r == nil {
		if bad != nil {
			bad.err = fmt.Errorf("%s: %w", who, bad.err)
		}
		return bad
	}
	counted.said[in.Name+" "+r.Verdict.String()]++
	if j.runs++; j.printed || j.runs%printedOne == 0 {
		if bad := output(r, o); bad != nil {
			bad.err = fmt.Errorf("%s: %w", who, bad.err)
			return bad
		}
	}
	want := j.want[l]
	switch {
	case r.Verdict == evidence.Unknown && r.Reason == "":
		return wrongf("reason", "%s: unknown without a reason", who)
	case r.Verdict == evidence.Unknown && strings.HasPrefix(r.Reason, "timeout"):
		return wrongf("slow", "%s takes longer than %v", who, patience)
	case r.Verdict == evidence.Unknown:
	case r.Timestamps && r.Verdict == evidence.Violated: // of what the timestamps promise
	case r.Items && r.Verdict == evidence.Holds: // phantoms are lost
	case want == evidence.Unknown: // then the first that decides is what the others are held against
		j.want[l], j.by[l] = r.Verdict, who
	case r.Verdict != want:
		return wrongf("verdict", "%s says %s, %s %s", who, r.Verdict, cmp.Or(j.by[l], "brute force"), want)
	}
	for _, a := range r.Anomalies {
		if !r.Timestamps && !l.Forbids(a.Kind) && !l.ForbidsSome(a.Kind) {
			return wrongf("name", "%s names %s, which %s allows", who, a.Kind, l)
		}
	}
	if (in.Name == "chronos" || in.Name == "aion") && !r.Items { // else one is asked of the whole
		j.got[in.Name+l.String()] = r.Verdict
		a, b := j.got["aion"+l.String()], j.got["chronos"+l.String()]
		if a != b && a != evidence.Unknown && b != evidence.Unknown {
			return wrongf("twins", "aion says %s, chronos %s", a, b)
		}
	}
	return nil
}

// guarded runs a check as the command does: what it panics with is a fault.
func guarded(f func(ctx context.Context) (*evidence.Result, error)) (r *evidence.Result, bad *wrong) {
	defer func() {
		if p := recover(); p != nil {
			bad = wrongf("panic", "panic: %v\n%s", p, debug.Stack())
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := f(ctx)
	var fault *check.Fault
	var input *history.InputError
	switch {
	case errors.As(err, &input): // the command says that, and ends with 254
		return nil, nil
	case errors.As(err, &fault):
		class := "fault"
		if strings.HasPrefix(fault.Err.Error(), "panic") {
			class = "panic"
		}
		return nil, &wrong{class, err}
	case err != nil:
		return nil, &wrong{"error", err}
	}
	return r, nil
}

// output makes what the command prints and writes: nothing of that may fail, and the certificate must be one.
func output(r *evidence.Result, o check.Options) (bad *wrong) {
	defer func() {
		if p := recover(); p != nil {
			bad = wrongf("output", "panic: %v\n%s", p, debug.Stack())
		}
	}()
	if _, err := evidence.JSON(r, "h.jsonl"); err != nil {
		return wrongf("json", "%v", err)
	}
	var b bytes.Buffer
	if err := report.Text(&b, "h.jsonl", r, report.TextOptions{}); err != nil {
		return wrongf("text", "%v", err)
	}
	if r.Items || r.Verdict == evidence.Unknown {
		return nil
	}
	b.Reset()
	if err := evidence.WriteCertificate(&b, r); err != nil {
		return wrongf("certificate", "%v", err)
	}
	again, err := evidence.ReadCertificate(&b, r.H)
	if err != nil {
		return wrongf("certificate", "its own certificate: %v", err)
	}
	if err := certify.Check(again, certify.Options{ClockSkew: o.ClockSkew}); err != nil {
		return wrongf("certificate", "its own certificate is refuted: %v", err)
	}
	return nil
}

// lattice checks every level at once.
func (j *judge) lattice() *wrong {
	var all *check.Lattice
	_, bad := guarded(func(ctx context.Context) (_ *evidence.Result, err error) {
		all, err = check.RunLattice(ctx, j.h, j.options, nil)
		return nil, err
	})
	if bad != nil || all == nil {
		return bad
	}
	counted.runs++
	said := map[level.Level]evidence.Verdict{}
	for _, r := range all.Results {
		said[r.Level] = r.Verdict
		if want := j.want[r.Level]; r.Verdict != evidence.Unknown && want != evidence.Unknown && r.Verdict != want {
			return wrongf("verdict", "%s says at %s %s, brute force %s", r.Checker, r.Level, r.Verdict, want)
		}
		if j.runs++; j.printed || j.runs%printedOne == 0 {
			if bad := output(r, j.options); bad != nil {
				return bad
			}
		}
	}
	if err := j.implied(said, "the lattice"); err != nil {
		return &wrong{"implied", err}
	}
	return nil
}

// TestFuzzAll: random histories of every kind, every checker at every level: no fault of ours, no wrong verdict, and
// certificates that hold. -seed and -histories choose them. ISOVET_FOUND is another folder for those that fail,
// ISOVET_MOST how many different failures end it. ISOVET_MIXED=1 leaves mixed
// histories only.
func TestFuzzAll(t *testing.T) {
	most := 1
	if m := os.Getenv("ISOVET_MOST"); m != "" {
		fmt.Sscan(m, &most)
	}
	n := histtest.Search{
		N: 225, Long: 200_000, Most: most, Dir: os.Getenv("ISOVET_FOUND"),
		Make: func(seed uint64) []byte {
			if os.Getenv("ISOVET_MIXED") != "" {
				return histtest.Random(seed, histtest.Shape{Txns: 6, Kinds: []histtest.Kind{histtest.Mixed}})
			}
			switch seed % 16 {
			case 0:
				// too many for brute force: the checkers against one another
				return histtest.Random(seed, histtest.Shape{Txns: 14, Keys: 4, Ops: 5})
			case 1, 2:
				return histtest.Random(seed, histtest.Shape{Txns: 8, Keys: 2, Ops: 3})
			case 3, 4:
				return histtest.Random(seed, histtest.Shape{Txns: 4, Keys: 1})
			case 5:
				return histtest.Random(seed, histtest.Shape{Txns: 7, Keys: 3, Kinds: []histtest.Kind{histtest.Lists}})
			case 7, 8:
				return histtest.Random(seed, histtest.Shape{Txns: 6, Kinds: []histtest.Kind{histtest.Mixed}})
			case 6:
				return histtest.Random(seed, histtest.Shape{Txns: 6, Keys: 1, Ops: 2,
					Kinds: []histtest.Kind{histtest.Single, histtest.Predicates}})
			}
			return histtest.Random(seed, histtest.Shape{})
		},
		Judge: judgeAll,
	}.Run(t)
	t.Logf("%d histories, %d not legal, %d runs", counted.histories, counted.rejected, counted.runs)
	var names []string
	for name := range counted.said {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.Logf("%s %d", name, counted.said[name])
	}
	if n >= 1000 && !t.Failed() && os.Getenv("ISOVET_MIXED") == "" {
		must.Be(t, counted.rejected <= int(n)/10, "%d of %d histories are not legal", counted.rejected, n)
		for _, name := range []string{"replay valid", "replay violation", "vbox valid", "vbox violation", "elle valid",
			"elle violation", "weak valid", "weak violation",
			"lwt valid", "lwt violation", "chronos valid", "chronos violation", "aion violation", "be valid",
			"viper violation"} {
			if counted.said[name] < int(n)/50 {
				t.Errorf("%s: only %d times", name, counted.said[name])
			}
		}
	}
}
