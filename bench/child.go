package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"time"

	"isovet/check"
	"isovet/check/mechanism"
	"isovet/check/papers"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/room"
	"isovet/internal/safego"
	"isovet/level"
)

// ChildCommand is the hidden command that runs [Child]. Its only argument is a [Run] as JSON.
const ChildCommand = "__run"

// Run is one measurement: a checker with a solver on a history.
type Run struct {
	Checker   string        `json:"checker"`
	Solver    string        `json:"solver,omitempty"`
	Level     level.Level   `json:"level"`
	History   string        `json:"history"` // path
	Timeout   time.Duration `json:"timeout,omitempty"`
	ClockSkew time.Duration `json:"clock_skew,omitempty"`
	// Memory bounds the process, in bytes; 0 means no bound. If the system tells how much a process has, the process
	// is ended above the bound; otherwise it only collects its garbage from there on.
	Memory int64 `json:"memory,omitempty"`
	// IgnorePredicates is check.Options.IgnorePredicates.
	IgnorePredicates bool `json:"ignore_predicates,omitempty"`
	// MechanismsOnly is check.Options.MechanismsOnly.
	MechanismsOnly bool `json:"mechanisms_only,omitempty"`
	// Profile is leopard's, by name (mechanism.LookupProfile) or as JSON (mechanism.ReadProfile). "" means that the
	// history's header names it.
	Profile string `json:"profile,omitempty"`
	// Round is the least number of transactions that a round of cobra-rounds adds; 0 means the checker's default.
	Round int `json:"round,omitempty"`
	// Pipeline has the choices for the checker vbox.
	Pipeline check.Pipeline `json:"pipeline,omitzero"`
	// StageMemory measures how much heap each stage uses, with a garbage collection after each, so that times are
	// meaningless.
	StageMemory bool `json:"stage_memory,omitempty"`

	// tell, if set, is called with the progress of the run.
	tell func(progress)
}

// progress is a line that a child writes before its answer. If the child is killed, the parent knows how far it came.
type progress struct {
	Begun bool   `json:"begun,omitempty"` // the history is loaded, and the check begins
	Round *Round `json:"round,omitempty"` // cobra-rounds has come to the end of a round
}

// Measured has the measurements of a run.
type Measured struct {
	Verdict evidence.Verdict `json:"verdict"`
	Reason  string           `json:"reason,omitempty"`
	Solver  string           `json:"solver,omitempty"` // the one used
	// DecidedBy is evidence.Result.DecidedBy.
	DecidedBy string `json:"decided_by,omitempty"`
	// Items says that predicates were ignored (evidence.Result.Items).
	Items bool `json:"items,omitempty"`
	// Fault is a fault of isovet: a wrong certificate, a panic, a process that died.
	Fault string `json:"fault,omitempty"`
	// BadInput says that the history cannot be read.
	BadInput string         `json:"bad_input,omitempty"`
	Stats    evidence.Stats `json:"stats"`
	// Mechanisms is evidence.Result.Mechanisms.
	Mechanisms *evidence.Mechanisms `json:"mechanisms,omitempty"`
	// Rounds are the rounds of cobra-rounds, in order, without the last.
	Rounds []Round `json:"rounds,omitempty"`
	// StageMemory has the memory of the run's stages in order, after that of the loaded history, if it was requested.
	StageMemory []StageMemory `json:"stage_memory,omitempty"`
	// WallMS and CPUMS are for the whole process, from its start to its end. On a busy machine they differ.
	WallMS float64 `json:"wall_ms,omitempty"`
	CPUMS  float64 `json:"cpu_ms,omitempty"`
	// Runs are all runs, if this is the middle one of several, otherwise nil.
	Runs []Measured `json:"runs,omitempty"`
}

// Round is the state of a checker that follows a growing history, after a round.
type Round struct {
	Txns int     `json:"txns"` // verified so far
	MS   float64 `json:"ms"`   // since the check began
	// The problem that the round examined: check.CobraRound.
	Window  int `json:"window,omitempty"`
	Choices int `json:"choices,omitempty"`
	Left    int `json:"left,omitempty"`
}

// Child is the child's side of a run. It loads the history, checks it once and writes a line, and before that lines
// about its progress. It ends early when stdin ends, which means that its parent is gone. It returns an error only if
// it cannot write a line.
func Child(ctx context.Context, r Run, stdin io.Reader, stdout io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if stdin != nil {
		go func() {
			_, _ = io.Copy(io.Discard, stdin) // any end of it is the parent's
			cancel()
		}()
	}
	if r.Memory > 0 {
		debug.SetMemoryLimit(r.Memory - r.Memory/8)
	}
	lines := json.NewEncoder(stdout)
	var untold error
	r.tell = func(p progress) { untold = errors.Join(untold, lines.Encode(p)) }
	m, _ := measure(ctx, r, nil)
	m.Stats.PeakMB = room.PeakMB()
	return errors.Join(untold, lines.Encode(m))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

func timeoutReason(d time.Duration) string { return fmt.Sprintf("timeout after %v", d) }

// measure loads the history, unless h has it, and checks it within the run's time-out.
func measure(ctx context.Context, r Run, h *history.History) (Measured, *history.History) {
	if r.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, r.Timeout)
		defer stop()
	}
	start := time.Now()
	m := Measured{}
	if h == nil {
		var err error
		if h, err = split.Read(ctx, split.Paths(r.History), format.Options{}); err != nil {
			m.BadInput = err.Error()
		}
	}
	begun := m.BadInput == ""
	if begun {
		if r.tell != nil {
			r.tell(progress{Begun: true})
		}
		m = checked(ctx, r, h, milliseconds(time.Since(start)))
	}
	if m.Verdict == evidence.Unknown && ctx.Err() != nil {
		m.Reason = "interrupted"
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			m.Reason = timeoutReason(r.Timeout)
			if begun {
				m.Stats.CheckMS = max(m.Stats.CheckMS, milliseconds(time.Since(start))-m.Stats.LoadMS)
			}
		}
		m.Fault, m.BadInput = "", ""
	}
	return m, h
}

func checked(ctx context.Context, r Run, h *history.History, loaded float64) Measured {
	sizes := evidence.Stats{Sizes: evidence.SizesOf(h), LoadMS: loaded}
	c, err := r.checker(h)
	if err != nil {
		return Measured{Fault: err.Error(), Stats: sizes}
	}
	var profile *mechanism.Profile
	if r.Profile != "" {
		if strings.HasPrefix(r.Profile, "{") {
			profile, err = mechanism.ReadProfile(strings.NewReader(r.Profile))
		} else {
			profile, err = mechanism.LookupProfile(r.Profile)
		}
		if err != nil {
			return Measured{Fault: err.Error(), Stats: sizes}
		}
	}
	o := check.Options{Level: r.Level, Solver: r.Solver, ClockSkew: r.ClockSkew.Nanoseconds(),
		IgnorePredicates: r.IgnorePredicates, MechanismsOnly: r.MechanismsOnly, Profile: profile, Pipeline: r.Pipeline}
	var rounds []Round
	if r.Round > 0 {
		start := time.Now()
		o.Rounds = func(c check.CobraRound) { // one follows another
			rounds = append(rounds, Round{c.Verified, milliseconds(time.Since(start)), c.Window, c.Choices, c.Left})
			if r.tell != nil {
				r.tell(progress{Round: &rounds[len(rounds)-1]})
			}
		}
	}
	var stages stageMeter
	if r.StageMemory {
		o.Progress = stages.mark
		stages.mark(theHistory, 1, 1)
	}
	res, err := check.Run(ctx, c, h, o)
	if err != nil {
		return Measured{Fault: err.Error(), Stats: sizes, Rounds: rounds}
	}
	s := res.Stats
	s.LoadMS = loaded
	return Measured{Verdict: res.Verdict, Items: res.Items, Reason: res.Reason, Solver: res.Solver,
		DecidedBy: res.DecidedBy, Stats: s, Mechanisms: res.Mechanisms, Rounds: rounds, StageMemory: stages.stages}
}

// checker returns the named checker or, for auto, the one chosen for the history.
func (r *Run) checker(h *history.History) (check.Checker, error) {
	c, err := check.ByName(r.Checker)
	switch {
	case r.Round > 0 && err == nil && c.Info().Name == "cobra-rounds":
		return papers.CobraRounds(r.Round), nil
	case r.Round > 0:
		return nil, fmt.Errorf("checker %s has no rounds", r.Checker)
	case r.Checker != check.AutoName:
		return c, err
	}
	c, ok := check.Auto(h, r.Level)
	if !ok {
		return nil, fmt.Errorf("no checker decides %s", r.Level)
	}
	return c, nil
}

// killAfter is how long after its time-out, which includes its start, a child that does not stop is killed. drainAfter
// is how long its output is then awaited.
const (
	killAfter  = 250 * time.Millisecond
	drainAfter = 2 * time.Second
)

// runChild is the parent's side of a run. self is the program with its first arguments; if it is nil, the run is in
// this process. It returns an error only if its context ends.
func runChild(ctx context.Context, self []string, r Run) (Measured, error) {
	if self == nil {
		m, _ := measure(ctx, r, nil)
		return m, ctx.Err()
	}
	arg, err := json.Marshal(r)
	if err != nil {
		return Measured{}, err
	}
	kill := ctx
	if r.Timeout > 0 {
		var stop context.CancelFunc
		kill, stop = context.WithTimeout(ctx, r.Timeout+killAfter)
		defer stop()
	}
	cmd := exec.CommandContext(kill, self[0], append(append([]string(nil), self[1:]...), ChildCommand, string(arg))...)
	cmd.WaitDelay = drainAfter
	var out childLines
	var errs tail
	cmd.Stdout, cmd.Stderr = &out, &errs
	parent, err := cmd.StdinPipe() // open as long as we live
	if err != nil {
		return Measured{}, err
	}
	defer parent.Close()
	if err := cmd.Start(); err != nil {
		return Measured{}, fmt.Errorf("cannot start a run: %w", err)
	}
	began := time.Now()
	full := bound(cmd.Process, r.Memory)
	err = cmd.Wait()
	over := full()
	if ctx.Err() != nil {
		return Measured{}, ctx.Err()
	}
	m, answered := out.answer()
	m.WallMS = milliseconds(time.Since(began))
	if cmd.ProcessState != nil {
		m.CPUMS = milliseconds(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
	}
	if answered {
		return m, nil
	}
	if cmd.ProcessState != nil {
		m.Stats.PeakMB = room.ChildPeakMB(cmd.ProcessState)
	}
	switch {
	case over:
		m.Reason = "memory bound: " + room.Size(float64(r.Memory)) + " reached"
	case kill.Err() != nil:
		m.Reason = timeoutReason(r.Timeout)
		if end, ok := kill.Deadline(); ok && !out.begun.IsZero() {
			m.Stats.CheckMS = milliseconds(end.Sub(out.begun)) // a lower bound
		}
	case killed(err):
		m.Reason = "the process was killed, perhaps for lack of memory"
	case strings.Contains(errs.String(), "out of memory") || strings.Contains(errs.String(), "cannot allocate memory"):
		m.Reason = "the process ran out of memory"
	default:
		m.Fault = fmt.Sprintf("the process died: %v\n%s", err, strings.TrimSpace(errs.String()))
	}
	return m, nil
}

// childLines has the lines that a child wrote, and the time when its check began.
type childLines struct {
	b     []byte
	begun time.Time // zero: not that one knows
}

func (c *childLines) Write(b []byte) (int, error) {
	if c.begun.IsZero() {
		c.begun = time.Now() // it writes nothing before
	}
	c.b = append(c.b, b...)
	return len(b), nil
}

// answer returns a child's answer or, without one, its rounds.
func (c *childLines) answer() (m Measured, answered bool) {
	var rounds []Round
	for line := range bytes.Lines(c.b) {
		var p progress
		switch err := json.Unmarshal(line, &p); {
		case err != nil: // a torn line
		case p.Round != nil:
			rounds = append(rounds, *p.Round)
		case !p.Begun:
			answered = json.Unmarshal(line, &m) == nil
		}
	}
	if !answered {
		m = Measured{Rounds: rounds}
	}
	return m, answered
}

// bound kills a process when it has more than so many bytes, if the system tells. The returned function ends the
// supervision, and reports whether the process was killed.
func bound(p *os.Process, bytes int64) func() bool {
	if bytes <= 0 {
		return func() bool { return false }
	}
	over, stop := false, make(chan struct{})
	var g safego.Group
	g.Go(func() {
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-stop:
				tick.Stop()
				return
			case <-tick.C:
			}
			text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Pid))
			var size, held int64
			if _, e := fmt.Sscan(string(text), &size, &held); err != nil || e != nil {
				continue
			}
			if held*int64(os.Getpagesize()) > bytes {
				over = p.Kill() == nil
				return
			}
		}
	})
	return func() bool {
		close(stop)
		g.Wait()
		return over
	}
}

// killed reports whether a process ended by a signal that it cannot have sent itself, such as the system's when memory
// is exhausted.
func killed(err error) bool {
	e, ok := errors.AsType[*exec.ExitError](err)
	return ok && !e.Exited() && e.ProcessState.String() == "signal: "+os.Kill.String()
}

// tail stores the beginning and the end of a process's output.
type tail struct{ b []byte }

const tailKeep = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if len(t.b) > 4*tailKeep {
		t.b = append(t.b[:tailKeep], t.b[len(t.b)-tailKeep:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return string(t.b) }
