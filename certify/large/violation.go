package large

import (
	"bytes"
	"context"
	"encoding/json"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
)

// violation checks anomalies against a history of their transactions and of the writers of what these read.
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
	h, err := v.members(ctx, ids)
	if err != nil {
		return err
	}
	h.File = s.Name
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

type version struct{ key, value value }

// members returns the history of some transactions, and of all writers of the versions that they read, reduced to the
// writers' writes of those keys. By timestamps it also has the transactions whose versions the reads should have seen.
func (v *verifier) members(ctx context.Context, ids map[int64]bool) (*history.History, error) {
	reads, err := v.reads(ctx, ids)
	if err != nil {
		return nil, err
	}
	w := &wanted{ids: ids, versions: map[version]bool{}, values: map[int64]bool{}, snapshots: map[value]bool{},
		installed: map[int64]map[value]bool{}}
	for i := range reads {
		r := &reads[i]
		w.versions[version{r.key, r.value}] = true
		w.values[r.value.N] = true
		if r.stamped {
			w.snapshots[r.key] = true
		}
	}
	if v.stamps.on {
		last, err := v.installs(ctx, ids, reads)
		if err != nil {
			return nil, err
		}
		for i, x := range last {
			if x.at == history.NoTime {
				continue
			}
			if w.installed[x.id] == nil {
				w.installed[x.id] = map[value]bool{}
			}
			w.installed[x.id][reads[i].key] = true
		}
	}
	b := history.NewBuilder()
	err = v.each(ctx, "looking for the versions that they read", func(h *history.History, _ int64) error {
		for t := range uint32(h.NumTxns()) {
			if w.ids[h.Txns.ID[t]] {
				add(b, h, t, nil)
			} else if keys := w.writes(h, t); keys != nil {
				add(b, h, t, keys)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return b.Build()
}

// wanted says which transactions a violation is about, and what it needs of others.
type wanted struct {
	ids       map[int64]bool
	versions  map[version]bool
	values    map[int64]bool           // numbers of values among these: to pass most others over at once
	snapshots map[value]bool           // keys that are read by timestamps
	installed map[int64]map[value]bool // transaction → keys of which a read should have seen its versions
}

// writes returns the keys of which a transaction's writes are wanted; nil: none.
func (w *wanted) writes(h *history.History, t uint32) (keys map[uint32]bool) {
	here := w.installed[h.Txns.ID[t]]
	for op, v := range h.EachOp(t) {
		other := h.VerKind[v] == history.Int && !w.values[h.VerN[v]] && t != h.Init && here == nil
		if h.Ops.Kind[op] != history.Write || other {
			continue
		}
		key, is := h.Own(h.Keys[h.VerKey[v]]), false
		if t == h.Init { // what takes the place of the header's initial value
			is = w.versions[version{key, h.Own(h.Initial)}] || w.snapshots[key]
		}
		if is || here[key] || w.versions[version{key, h.Own(h.VerValue(v))}] {
			if keys == nil {
				keys = map[uint32]bool{}
			}
			keys[h.VerKey[v]] = true
		}
	}
	return keys
}

// add adds a transaction to the history under construction: all of it, or only its writes of some keys.
func add(b *history.Builder, h *history.History, t uint32, keys map[uint32]bool) {
	b.Initial = b.ValueOf(h, h.Initial)
	for at, v := range h.EachOp(t) {
		kind, k := h.Ops.Kind[at], h.VerKey[v]
		switch {
		case kind == history.Write && (keys == nil || keys[k]):
			b.Write(b.KeyOf(h, k), b.ValueOf(h, h.VerValue(v)))
		case kind == history.Read && keys == nil:
			b.Read(b.KeyOf(h, k), b.ValueOf(h, h.VerValue(v)))
		}
	}
	b.EndTxn(b.HeadOf(h, t))
}
