package elaborate

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"isovet/certify/kernel"
	"isovet/certify/unsat"
	"isovet/evidence"
	"isovet/history"
)

// Options are the parameters of Prove. The zero value is the default.
type Options struct {
	ClockSkew int64       // as in certify.Options
	Stop      func() bool // if it returns true, Prove ends with ErrStopped
	// MaxConflicts bounds the search for a refutation; 0 means 20,000.
	MaxConflicts int
}

// ErrStopped is the error of a search that Options.Stop ended.
var ErrStopped = unsat.ErrStopped

// Refused is the error that the kernel does not accept an order.
type Refused struct{ Why string }

func (r *Refused) Error() string { return "the kernel refuses the proof: " + r.Why }

// Proof is a proof of an answer that the kernel has accepted.
type Proof struct {
	Level   string
	History kernel.Txns
	Order   []uint32        // of a valid history: transactions, each twice at the snapshot levels
	Steps   []kernel.Step   // of a violation
	Scene   *kernel.History // the part of the history that Steps refute, the same as History

	saw    func(t uint32) []uint32 // at a weak level: the writers of its reads, see kernel.WriteFile
	stamps kernel.Stamps           // at a level by timestamps; wrong is the fault in their order
	wrong  *kernel.Wrong
}

// Write writes the file for isovet-kernel (docs/kernel-format.md).
func (p *Proof) Write(w io.Writer) error {
	if p.stamps != nil {
		return kernel.WriteStamped(w, p.Level, p.History, p.stamps, p.Order, p.wrong)
	}
	return kernel.WriteFile(w, p.Level, p.History, p.Order, p.saw, p.Steps)
}

// Prove translates an answer into a proof and lets the kernel judge it. It returns *Unsupported if the kernel cannot
// express the answer or no proof was found, *Refused if the kernel rejects the proof, and ErrStopped. An order costs
// about 30 ns an operation; a violation costs some scans of the history, and the search in its scene.
func Prove(r *evidence.Result, o Options) (*Proof, error) {
	l, err := Level(r.Level)
	weak, isWeak := weakLevels[r.Level]
	switch {
	case err != nil && !isWeak:
		return nil, err
	case r.H == nil || r.Verdict == evidence.Unknown:
		return nil, &Unsupported{"unknown answers"}
	case r.Timestamps && (isWeak || r.Level.RealTime()):
		return nil, &Unsupported{"database timestamps at " + r.Level.String()}
	case o.ClockSkew < 0:
		return nil, fmt.Errorf("clock skew %d is negative", o.ClockSkew)
	}
	x, err := newTerms(r.H, r.Level, o.ClockSkew)
	if err != nil {
		return nil, err
	}
	if o.Stop == nil {
		o.Stop = func() bool { return false }
	}
	p := &Proof{Level: r.Level.String(), History: x}
	switch {
	case r.Timestamps:
		return p, p.byStamps(l, r, x)
	case isWeak && r.Verdict == evidence.Holds:
		return p, p.weak(weak, r, x)
	case isWeak:
		return p, p.violation(r, x, o, func(s *scene) (refuter, error) { return newWeakRefuter(s, weak, o.Stop) })
	case r.Verdict == evidence.Holds:
		return p, p.valid(l, r, x)
	}
	return p, p.violation(r, x, o, func(s *scene) (refuter, error) { return newStrongRefuter(s, l, o.Stop) })
}

func (p *Proof) valid(l kernel.Level, r *evidence.Result, x *terms) error {
	if x.searches != nil {
		if err := x.searches.fits(); err != nil {
			return err
		}
	}
	if r.Level.RealTime() && !x.timed() {
		return &Unsupported{"real time without times of the transactions"}
	}
	events := p.order(l, r.H, r.Order)
	c := x.columns()
	x.flat = c != nil
	defer func() { x.flat = false }()
	var a kernel.Answer
	switch {
	case x.flat && l.Serial:
		a = kernel.FlatSerial(l, x, c, p.Order)
	case x.flat:
		a = kernel.FlatSnapshot(l, x, c, events)
	case l.Serial:
		a = kernel.CheckSerial(l, x, p.Order)
	default:
		a = kernel.CheckSnapshot(l, x, events)
	}
	return refused(a)
}

// order copies an order into the proof; at the snapshot levels it returns the order's events too.
func (p *Proof) order(l kernel.Level, h *history.History, order []uint32) (events []kernel.Event) {
	p.Order = make([]uint32, 0, len(order))
	if l.Serial {
		for _, t := range order {
			if t != h.Init {
				p.Order = append(p.Order, number(t))
			}
		}
		return nil
	}
	events = make([]kernel.Event, 0, len(order))
	for _, e := range order {
		if t := e >> 1; t != h.Init {
			p.Order = append(p.Order, number(t))
			events = append(events, kernel.Event{Commit: e&1 == 1, Txn: number(t)})
		}
	}
	return events
}

func refused(a kernel.Answer) error {
	switch a.Outcome {
	case kernel.Proved:
		return nil
	case kernel.FailsAt:
		return &Refused{fmt.Sprintf("the transaction at place %d of the order contradicts it", a.N+1)}
	case kernel.FailsFor:
		return &Refused{fmt.Sprintf("transaction %d is missing or out of order", a.N)}
	}
	return &Refused{"the level does not allow this order"}
}

// timed reports whether the transactions have the times that real time needs.
func (x *terms) timed() bool {
	for t := range uint32(x.h.NumTxns()) {
		if t != x.h.Init && x.h.Txns.Status[t] == history.Committed &&
			(x.h.Start(t) == history.NoTime || x.h.End(t) == history.NoTime) {
			return false
		}
	}
	return true
}

// tries bounds the anomalies that are tried.
const tries = 4

// wide bounds the reads and writes of a scene that is widened because it does not show the violation.
const wide = 20_000

// violation looks for a refutation from one of the anomalies. Where the operations that the anomaly names do not
// suffice, it widens the scene step by step.
func (p *Proof) violation(r *evidence.Result, x *terms, o Options, look func(s *scene) (refuter, error)) error {
	left := cmp.Or(o.MaxConflicts, 20_000)
	err := error(&Unsupported{"violations without an anomaly"})
	for i := range r.Anomalies[:min(len(r.Anomalies), tries)] {
		a := &r.Anomalies[i]
		s := &scene{terms: x, keys: map[uint32]*traffic{}, txns: map[uint32]bool{}, reads: map[access]bool{},
			readBy: map[uint32][]uint32{}, writes: map[access]bool{}, elements: map[uint32]map[uint32]bool{},
			paired: map[[3]uint32]bool{}, weak: !x.l.Serial() && !x.l.Snapshot()}
		s.anomaly(a)
		for width := 0; ; width++ {
			if err = s.close(); err != nil {
				break
			}
			var f refuter
			if f, err = look(s); err != nil {
				break
			}
			var done bool
			if done, err = f.refute(a, &left); done {
				p.Scene, p.Steps = f.found()
				p.History = kernel.All(p.Scene)
				if at, ok := f.judge(p.Scene, p.Steps); !ok {
					return &Refused{fmt.Sprintf("step %d", at)}
				}
				return nil
			}
			before := s.size()
			if errors.Is(err, ErrStopped) || width == 3 || before > wide {
				break
			}
			if s.widen(); s.size() == before {
				break
			}
		}
		if errors.Is(err, ErrStopped) {
			return err
		}
		if err == nil {
			err = &Unsupported{"how to prove " + string(a.Kind) + " here"}
		}
	}
	return err
}

func (s *scene) size() int { return len(s.reads) + len(s.writes) }

// refuter looks for the refutation of a scene.
type refuter interface {
	// refute reports whether it found a refutation; false: the scene has an order as far as it shows.
	refute(a *evidence.Anomaly, left *int) (bool, error)
	found() (*kernel.History, []kernel.Step)
	// judge asks the kernel, which builds tables of its own; at is the step that fails.
	judge(h *kernel.History, steps []kernel.Step) (at int, ok bool)
}
