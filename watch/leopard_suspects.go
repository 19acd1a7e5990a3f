package watch

import (
	"encoding/json"
	"errors"

	"isovet/check/mechanism"
)

func (j *leopard) Suspects(most int) (out []Suspect) {
	if j.online == nil {
		return nil
	}
	for _, d := range j.online.Doubts(most) {
		if s, err := j.suspect(&d); err == nil { // else it is not kept any more
			out = append(out, s)
		}
	}
	return out
}

func (j *leopard) SuspectsTold(wanted bool) (out []Suspect, err error) {
	if j.online == nil {
		return nil, nil
	}
	for _, d := range j.online.TakeDoubts() {
		switch {
		case d.Confirmed:
			j.confirmed++
		case d.Settled:
			j.withdrawn++
		}
		if !wanted {
			continue
		}
		s, err := j.suspect(&d)
		if errors.Is(err, ErrNotKept) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// suspect tells a read that waits for its writer, or what has become of it.
func (j *leopard) suspect(d *mechanism.Doubt) (Suspect, error) {
	w, err := j.recall(d.Reader)
	if err != nil {
		return Suspect{}, err
	}
	s := Suspect{Suspect: true, Mechanism: mechanism.ConsistentRead.String(), Kind: mechanism.NotVisible, Txn: w.id,
		Key: json.RawMessage(j.stream.Key(d.Key)), Op: &d.Op}
	switch {
	case d.Confirmed:
		s.Settled = confirmed
	case d.Settled:
		s.Settled = withdrawn
	}
	if d.Writer != mechanism.NoTxn {
		by, err := j.recall(d.Writer)
		if err != nil && !errors.Is(err, ErrNotKept) {
			return Suspect{}, err
		}
		if err == nil {
			s.Other = &by.id
		}
	}
	return s, nil
}
