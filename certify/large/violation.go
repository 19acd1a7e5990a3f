package large

import (
	"bytes"
	"context"
	"encoding/json"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
)

// violation checks anomalies against the history of the transactions in them, and of who wrote what these read.
func (v *verifier) violation(ctx context.Context, in *lines, head *header) error {
	s, o := v.s, v.o
	var text []byte
	ids := map[int64]bool{}
	for _, id := range head.With {
		ids[id] = true
	}
	for range head.Anomalies {
		line, err := in.next()
		if err != nil {
			return err
		}
		var a struct {
			Txns []int64 `json:"txns"`
		}
		if err := json.Unmarshal(line, &a); err != nil {
			return in.errorf("", "%v; expected an anomaly", err)
		}
		for _, id := range a.Txns {
			ids[id] = true
		}
		text = append(append(text, line...), '\n')
	}
	if err := in.end(); err != nil {
		return err
	}
	seen := &snapshots{}
	if v.stamps.on {
		var err error
		if seen, err = v.snapshots(ctx, ids); err != nil {
			return err
		}
	}
	h, err := part(ctx, s, o, ids, seen)
	if err != nil {
		return err
	}
	small := map[string]any{"format": "isovet-certificate", "version": 1, "level": head.Level, "verdict": head.Verdict,
		"checker": head.Checker, "anomalies": head.Anomalies, "history": map[string]any{"name": head.History.Name,
			"txns": h.NumTxns(), "ops": h.NumOps(), "sha256": evidence.ContentHash(h)}}
	if v.stamps.readOnlyAtStart {
		small["read_only_at"] = atStart
	}
	first, err := json.Marshal(small)
	if err != nil {
		return err
	}
	r, err := certify.Verify(bytes.NewReader(append(append(first, '\n'), text...)), h,
		certify.Options{ClockSkew: o.ClockSkew, Stop: func() bool { return ctx.Err() != nil }})
	if err != nil && r != nil {
		return refuted{err}
	}
	return err
}

// version is a key and a value.
type version struct{ key, value value }

// part is the history of some transactions, whole, and of all others that wrote what they read: these with their writes
// of those keys alone; and of who installed what they should have seen.
func part(ctx context.Context, s *Source, o Options, ids map[int64]bool, seen *snapshots) (*history.History, error) {
	tell := func(stage string, first int64) {
		if o.Progress != nil {
			o.Progress(stage, first, s.Txns)
		}
	}
	wanted := map[version]bool{}
	values := map[int64]bool{} // numbers of integer values among these: to pass most others over at once
	err := s.Each(ctx, func(h *history.History, first int64) error {
		tell("looking for its transactions", first)
		for t, id := range h.Txns.ID {
			if !ids[id] {
				continue
			}
			lo, hi := h.TxnOps(uint32(t))
			for op := lo; op < hi; op++ {
				if h.Ops.Kind[op] == history.Read {
					v := h.Ops.Ver[op]
					wanted[version{valueOf(h, h.Keys[h.VerKey[v]]), valueOf(h, h.VerValue(v))}] = true
					values[h.VerN[v]] = true
				}
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	b := history.NewBuilder()
	err = s.Each(ctx, func(h *history.History, first int64) error {
		tell("looking for what they read", first)
		b.Initial = valueOf(h, h.Initial).in(b)
		for t := range uint32(h.NumTxns()) {
			member := ids[h.Txns.ID[t]]
			lo, hi := h.TxnOps(t)
			keys := map[uint32]bool(nil)
			for op := lo; op < hi && !member; op++ {
				v := h.Ops.Ver[op]
				here := seen.by[h.Txns.ID[t]]
				other := h.VerKind[v] == history.Int && !values[h.VerN[v]] && t != h.Init && here == nil
				if h.Ops.Kind[op] != history.Write || other {
					continue
				}
				key, is := valueOf(h, h.Keys[h.VerKey[v]]), false
				if t == h.Init { // what takes the place of the header's initial value
					is = wanted[version{key, valueOf(h, h.Initial)}] || seen.keys[key]
				}
				is = is || here[key]
				if is || wanted[version{key, valueOf(h, h.VerValue(v))}] {
					if keys == nil {
						keys = map[uint32]bool{}
					}
					keys[h.VerKey[v]] = true
				}
			}
			if member || keys != nil {
				add(b, h, t, keys)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	h, err := b.Build()
	if err != nil {
		return nil, err
	}
	h.File = s.Name
	return h, nil
}

// add adds a transaction: all of it, or its writes of some keys.
func add(b *history.Builder, h *history.History, t uint32, keys map[uint32]bool) {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		key := h.VerKey[v]
		switch {
		case keys != nil && (h.Ops.Kind[op] != history.Write || !keys[key]):
		case h.Ops.Kind[op] == history.Write:
			b.Write(b.Key(valueOf(h, h.Keys[key]).in(b)), valueOf(h, h.VerValue(v)).in(b))
		case h.Ops.Kind[op] == history.Read:
			b.Read(b.Key(valueOf(h, h.Keys[key]).in(b)), valueOf(h, h.VerValue(v)).in(b))
		}
	}
	head := history.NewTxnHead()
	head.ID, head.HasID, head.Line, head.Status = h.Txns.ID[t], true, h.Txns.Line[t], h.Txns.Status[t]
	head.Start, head.Commit, head.End = h.Start(t), h.Commit(t), h.End(t)
	head.StartTS, head.CommitTS = h.StartTS(t), h.CommitTS(t)
	if head.Init = t == h.Init; !head.Init {
		if s := h.SessName[h.Txns.Sess[t]]; s != history.NoTime {
			head.Session, head.HasSess = s, true
		}
	}
	b.EndTxn(head)
}
