package certify

import (
	"errors"
	"fmt"
	"io"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// Options are the parameters of Check. The zero value is the default.
type Options struct {
	// ClockSkew widens every client interval by this many nanoseconds at both ends: a is before b in real time if a.end
	// + ClockSkew < b.start − ClockSkew. It must be the value that the checker used.
	ClockSkew int64
	// MaxConflicts bounds the search through the cases of one anomaly; 0 means a million. Past it, Check returns
	// ErrGaveUp.
	MaxConflicts int
	// Stop, if set, is polled during that search. Once it returns true, Check ends with ErrStopped.
	Stop func() bool
}

// Unsupported is the error for evidence that this package has no rules for. The evidence may be right or wrong.
type Unsupported struct{ What string }

func (u *Unsupported) Error() string { return "cannot certify " + u.What }

// Check returns nil if and only if the evidence proves the verdict. For "valid", the order explains every read and
// respects what the level demands. For a violation, each anomaly by itself shows that no order does. An answer of
// Unknown needs a reason and no proof.
//
// Levels: the three serializable and the three snapshot levels, linearizable, and repeatable read for histories without
// predicates, where it means serializability. Read-committed, read-atomic and causal, for registers and lists. Errors:
// *Unsupported, ErrGaveUp, ErrStopped; any other error refutes the evidence. If a proof by cycles has a name, it must
// be the name of what the cycles show; [Names] finds it for a proof without one. Cost: linear in the history for a
// valid one, about 20 ns an operation. For a violation one or two scans of the history, the evidence itself, and for a
// proof by cases a search that is exponential in its cases at worst.
func Check(r *evidence.Result, o Options) error { return check(r, o, nil) }

// check does the work of Check. If names is not nil, it sets the names instead of checking them.
func check(r *evidence.Result, o Options, names []level.Anomaly) error {
	h := r.H
	if h == nil {
		return errors.New("the result names no history")
	}
	if o.ClockSkew < 0 {
		return fmt.Errorf("clock skew %d is negative", o.ClockSkew)
	}
	if r.Timestamps && !r.Level.Serial() && !r.Level.Snapshot() {
		return &Unsupported{fmt.Sprintf("an answer by timestamps at level %s", r.Level)}
	}
	if r.Verdict != evidence.Unknown && r.Level.IsMixed() && (h.HasLists() || h.HasPredicates()) {
		return &Unsupported{"levels mixed in a history of lists or predicates"}
	}
	switch r.Verdict {
	case evidence.Unknown:
		if r.Reason == "" {
			return errors.New("the verdict is unknown, but has no reason")
		}
		return nil
	case evidence.Holds:
		if len(r.Anomalies) > 0 || r.Also > 0 {
			return fmt.Errorf("the verdict is valid, but the number of anomalies is %d", len(r.Anomalies)+r.Also)
		}
		if err := checkOrder(r, o); err != nil || !r.Timestamps {
			return err
		}
		return checkStampedOrder(r)
	case evidence.Violated:
		if len(r.Anomalies) == 0 || r.Also < 0 {
			return errors.New("the verdict is a violation, but it has no anomaly")
		}
		if r.Timestamps {
			return checkStampedAnomalies(r)
		}
		return checkAnomalies(r, o, names)
	}
	return fmt.Errorf("there is no verdict %d", r.Verdict)
}

// Verify reads a certificate of h (evidence.ReadCertificate) and checks it. If it cannot be read, there is no result,
// and the error is that of ReadCertificate. A certificate with the verdict Unknown gives ErrUnknown, because it proves
// nothing. Cost: that of ReadCertificate and Check.
func Verify(in io.Reader, h *history.History, o Options) (*evidence.Result, error) {
	r, err := evidence.ReadCertificate(in, h)
	if err != nil {
		return nil, err
	}
	if r.Verdict == evidence.Unknown {
		return r, ErrUnknown
	}
	return r, Check(r, o)
}

// ErrUnknown says that a certificate's verdict is unknown, so that it proves nothing.
var ErrUnknown = errors.New("the certificate says that its checker did not decide, so it certifies nothing")

// hasTimes demands that a committed transaction has the client times that real time needs.
func hasTimes(h *history.History, t uint32) error {
	if t != h.Init && h.Txns.Status[t] == history.Committed && (h.Start(t) == history.NoTime ||
		h.End(t) == history.NoTime) {
		return fmt.Errorf("%s has no start and end time, which the level needs", name(h, t))
	}
	return nil
}

// endOf is the end of t in real time. A transaction of unknown outcome has none.
func endOf(h *history.History, t uint32) int64 {
	if h.Txns.Status[t] != history.Committed {
		return history.NoTime
	}
	return h.End(t)
}

// name returns the name of a transaction for messages, with its id in the file.
func name(h *history.History, t uint32) string {
	return fmt.Sprintf("transaction %d", h.Txns.ID[t])
}
