package dbcop

import "isovet/history"

// sink receives transactions from the readers of dbcop's formats of 2026. Keys are absent at first. A read of version
// 0 that no transaction writes is a read of the absent key.
type sink struct {
	b      *history.Builder
	events []event // of the transaction that is being read

	zero     []bool // by key: 0 is written to it
	written  bool   // 0 is written to some key
	read     bool   // 0 is read
	size     int    // of the file
	reserved bool
}

type event struct {
	version int64
	key     uint32
	write   bool
	none    bool // a read of the initial version
}

// read reads a file with from. It calls from again if the meaning of a read of 0 depends on later writes.
func read(file string, size int, from func(to *sink) error) (*history.History, error) {
	var zero []bool
	for {
		s := sink{b: history.NewBuilder(), zero: zero, size: size}
		s.b.File = file
		if err := from(&s); err != nil {
			return nil, err
		}
		if zero != nil || !s.written || !s.read {
			return s.b.Build()
		}
		zero = s.zero // keys have the same numbers in every pass
	}
}

// isZero reports whether the part of the file read so far writes 0 to a key.
func (s *sink) isZero(key uint32) bool { return int(key) < len(s.zero) && s.zero[key] }

// end ends the transaction of the events; at is its place in the file.
func (s *sink) end(session int64, line int, committed bool, at int) {
	b := s.b
	h := history.NewTxnHead()
	h.Line, h.HasSess, h.Session = uint32(line), true, session
	if !committed {
		h.Status = history.Aborted
	}
	for i := range s.events {
		e := &s.events[i]
		if e.write {
			if e.version == 0 && !s.isZero(e.key) {
				s.written = true
				for int(e.key) >= len(s.zero) {
					s.zero = append(s.zero, false)
				}
				s.zero[e.key] = true
			}
			b.Write(e.key, history.IntValue(e.version))
			continue
		}
		if !committed {
			continue // an event without content
		}
		v := history.IntValue(e.version)
		if e.none {
			v = history.Value{Kind: history.Null}
		} else if e.version == 0 {
			s.read = true
			if !s.isZero(e.key) {
				v = history.Value{Kind: history.Null}
			}
		}
		b.Read(e.key, v)
	}
	b.EndTxn(h)
	const enough = 1 << 18 // bytes read before the rest is estimated
	if !s.reserved && at >= enough {
		s.reserved = true
		more := float64(s.size-at) / float64(at) * 65 / 64
		b.Reserve(int(more*float64(b.NumTxns())), int(more*float64(b.NumOps())))
	}
}
