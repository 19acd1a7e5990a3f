package watch

import (
	"encoding/json"
	"errors"

	"isovet/watch/online"
)

func (j *replayJudge) Suspects(most int) (out []Suspect) {
	for _, at := range j.e.Doubts(most) {
		if s, err := j.suspect(at); err == nil { // else it is not kept any more
			out = append(out, s)
		}
	}
	return out
}

func (j *replayJudge) SuspectsTold(wanted bool) (out []Suspect, err error) {
	for _, d := range j.e.TakeDoubts() {
		if !wanted {
			continue
		}
		s, err := j.suspect(d.ReadAt)
		if errors.Is(err, ErrNotKept) {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch {
		case d.Settled && d.Confirmed:
			s.Settled = confirmed
		case d.Settled:
			s.Settled = withdrawn
		}
		if d.Other >= 0 {
			w, err := j.recall(d.Other)
			if err != nil && !errors.Is(err, ErrNotKept) {
				return nil, err
			}
			if err == nil {
				s.Other = &w.id
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// suspect tells a read that waits for its writer.
func (j *replayJudge) suspect(at online.ReadAt) (Suspect, error) {
	w, err := j.recall(at.Line)
	if err != nil {
		return Suspect{}, err
	}
	s := Suspect{Suspect: true, Axiom: violated, Txn: w.id, Op: &at.Op}
	if lo, hi := w.h.TxnOps(w.t); lo+at.Op < hi {
		s.Key = json.RawMessage(w.h.KeyString(w.h.VerKey[w.h.Ops.Ver[lo+at.Op]]))
	}
	return s, nil
}
