package jepsen

import (
	"bytes"
	"cmp"
	"sync"

	"isovet/history"
	"isovet/history/format/edn"
	"isovet/internal/slice"
)

// model is the meaning of the operations.
type model uint8

const (
	registers model = iota
	listModel
	sets
)

// choose decides the model from the functions and values of the file, or says why no model fits.
func (r *reader) choose() error {
	collection, number, balances, hasVersions := false, false, false, false
	lists := sync.OnceValue(func() bool { return bytes.Contains(r.s.Data, []byte("append")) })
	if bytes.Contains(r.s.Data, []byte("[:read ")) || bytes.Contains(r.s.Data, []byte(`["read"`)) {
		if err := r.findRegisters(); err != nil {
			return err
		}
	}
	shaped := false // a write has shown whether values have versions
	for i, e := range slice.Refs(r.events) {
		if e.value < 0 {
			continue
		}
		v, simple := r.simple(e.value)
		if simple = simple && r.plain; simple {
			// The value has no micro-operation.
		} else if micro, appends, err := r.micro(e.value); err != nil {
			return err
		} else if micro {
			if appends {
				r.model, r.b.Meta.Lists = listModel, true
				if r.mayWrite() {
					return r.findRegisters()
				}
				return nil
			}
			if i > 1<<8 && !lists() {
				break // only micro-operations, and no lists
			}
			continue
		} else if _, in, appends, err := r.independent(e.value); err != nil {
			return err
		} else if in >= 0 {
			if r.keyedTxns = true; appends {
				r.model, r.b.Meta.Lists = listModel, true
				return nil
			}
			continue
		}
		if e.f == writeFn && !shaped {
			shaped = true
			v, err := r.versioned(e)
			if err != nil {
				return err
			}
			hasVersions = v
		}
		if e.kind == ok && e.f == readFn {
			if simple {
				collection, number = collection || v.pair && r.used[addFn], number || !v.pair && !v.null
				continue
			}
			c, n, m, err := r.readShape(e.value)
			if err != nil {
				return err
			}
			collection, number, balances = collection || c, number || n, balances || m
		}
	}
	refuse := func(what, why string) error {
		return r.s.Errorf(r.events[0].pos, "f", "a %s history: %s; expected transactions of reads and writes, a "+
			"register, a mutex or a set; --workload NAME judges tests of other objects", what, why)
	}
	if err := r.oneKind(); err != nil {
		return err
	}
	switch {
	case r.used[transferFn] || balances:
		return refuse("bank", "a transfer does not say what it wrote")
	case r.used[getFn] || r.used[putFn] || r.used[appendFn]:
		return refuse("key-value log", "an append to a string does not say what it wrote")
	case r.used[addFn] && number:
		return refuse("counter", "an add does not say what it wrote")
	case r.used[addFn] || (r.used[readFn] && r.used[writeFn] && collection && !number && !hasVersions):
		r.model = sets
	case r.used[acquireFn] || r.used[releaseFn]:
		r.b.Initial = history.IntValue(0)
	}
	return nil
}

// objects names the object of each function's operations. A read may be on a register or a set.
var objects = [...]string{writeFn: "a register", casFn: "a register", deleteFn: "a register",
	addFn: "a set or a counter", acquireFn: "a mutex", releaseFn: "a mutex"}

// oneKind returns an error if operations are on objects of two kinds: no model has both.
func (r *reader) oneKind() error {
	var first *event
	for _, e := range slice.Refs(r.events) {
		switch {
		case int(e.f) >= len(objects) || objects[e.f] == "":
		case first == nil:
			first = e
		case objects[e.f] != objects[first.f]:
			return r.s.Errorf(e.pos, "f", "found an operation on %s, where line %d has one on %s; expected objects of "+
				"one kind in the file", objects[e.f], first.line, objects[first.f])
		}
	}
	return nil
}

// begins reports whether a value's first element is a micro-operation. Nearly every value with micro-operations begins
// so.
func (r *reader) begins(at int) (bool, error) {
	r.s.Seek(at)
	for range 2 {
		if t, err := r.s.Next(); err != nil || !t.Opens() {
			return false, err
		}
	}
	t, err := r.s.Next()
	return isRead(t) || isWrite(t) || t.Is("append"), err
}

// isRead reports whether a micro-operation reads: its name is r, or read as in Knossos's multi-registers.
func isRead(t edn.Token) bool  { return t.Is("r") || t.Is("read") }
func isWrite(t edn.Token) bool { return t.Is("w") || t.Is("write") }

// micro reports whether a value is a sequence of micro-operations, and whether one of them appends, or reads a list.
func (r *reader) micro(at int) (micro, appends bool, err error) {
	back := r.s.Pos()
	defer r.s.Seek(back)
	r.s.Seek(at)
	t, err := r.s.Next()
	if err != nil || !t.Opens() {
		return false, false, r.leave(t, err)
	}
	for {
		t, err := r.s.Next()
		if err != nil {
			return false, false, err
		}
		if t.Kind == edn.Close {
			return micro, appends, nil
		}
		if !t.Opens() {
			// Not a sequence of sequences: leave the value.
			if err := r.s.SkipRest(t); err != nil {
				return false, false, err
			}
			return false, false, r.closeSequence()
		}
		f, err := r.s.Next()
		if err != nil {
			return false, false, err
		}
		read := isRead(f)
		micro = micro || read || isWrite(f) || f.Is("append")
		appends = appends || f.Is("append")
		for n := 0; f.Kind != edn.Close; n++ {
			appends = appends || (read && n == 2 && f.Opens())
			if err := r.s.SkipRest(f); err != nil {
				return false, false, err
			}
			if f, err = r.s.Next(); err != nil {
				return false, false, err
			}
		}
	}
}

// leave skips to the end of the sequence that t opened.
func (r *reader) leave(t edn.Token, err error) error {
	if err != nil || t.Kind != edn.Open {
		return err
	}
	return r.s.SkipRest(t)
}

// closeSequence skips to the end of the sequence that the scanner is in.
func (r *reader) closeSequence() error {
	for {
		t, err := r.s.Next()
		if err != nil || t.Kind == edn.Close {
			return err
		}
		if err := r.s.SkipRest(t); err != nil {
			return err
		}
	}
}

// readShape reports whether the answer of a read is a collection (a set's), a number or a map (a bank's), looking
// behind an independent key.
func (r *reader) readShape(at int) (collection, number, balances bool, err error) {
	back := r.s.Pos()
	defer r.s.Seek(back)
	r.s.Seek(at)
	t, err := r.s.Next()
	if err != nil {
		return false, false, false, err
	}
	switch {
	case t.Kind == edn.Int:
		return false, true, false, nil
	case t.Kind != edn.Open:
		return false, false, false, nil
	case t.OpensMap():
		return false, false, true, r.s.SkipRest(t)
	case t.Bracket == '#':
		return true, false, false, r.s.SkipRest(t)
	}
	n := 0
	nested := false
	for {
		t, err := r.s.Next()
		if err != nil {
			return false, false, false, err
		}
		if t.Kind == edn.Close {
			break
		}
		nested = t.Kind == edn.Open
		n++
		if err := r.s.SkipRest(t); err != nil {
			return false, false, false, err
		}
	}
	// [key value] of an independent register has two elements, as a set may; only with adds is it a set.
	return n != 2 || nested || r.used[addFn], false, false, nil
}

// ops adds the operations of a transaction of the given outcome; false if none is to be added.
func (r *reader) ops(e *event, status history.Status) (bool, error) {
	if r.plain {
		if done, any, err := r.simpleRegister(e, status); done || err != nil {
			return any, err
		}
	}
	if e.value >= 0 {
		if r.plain && r.plainMicro(e.value) {
			if err := r.shaped(txnShape, e); err != nil {
				return false, err
			}
			return r.microOps(e.value, status)
		}
		micro, err := r.isMicro(e.value)
		if err != nil {
			return false, err
		}
		if micro {
			if err := r.shaped(txnShape, e); err != nil {
				return false, err
			}
			return r.microOps(e.value, status)
		}
		if r.keyedTxns || e.f == txnFn || e.f == noFn || e.f == otherFn {
			if done, any, err := r.keyedTxn(e, status); done || err != nil {
				return any, err
			}
		}
	}
	value := edn.Token{Kind: edn.Nil, Pos: e.pos}
	if e.value >= 0 {
		r.s.Seek(e.value)
		var err error
		if value, err = r.s.Next(); err != nil {
			return false, err
		}
	}
	switch e.f {
	case acquireFn, releaseFn:
		return r.mutex(e, value, status)
	case addFn, readFn, writeFn, casFn, deleteFn:
		if r.model == sets {
			return r.set(e, value, status)
		}
		return r.register(e, value, status)
	case noFn, txnFn:
		if value.Kind == edn.Nil {
			return false, nil
		}
		if value.Opens() {
			// An empty transaction.
			t, err := r.s.Next()
			if err == nil && t.Kind == edn.Close {
				return false, nil
			}
			if err != nil {
				return false, err
			}
			if t.Kind != edn.Open && r.emptyAt(r.s.Pos()) { // of jepsen.independent
				return false, nil
			}
			return false, r.s.Errorf(t.Pos, "value", "found %v; expected micro-operations, [:r k v], [:w k v] or "+
				"[:append k v]", t)
		}
		return false, r.s.Errorf(value.Pos, "value", "found %v; expected a sequence of micro-operations", value)
	}
	return false, r.s.Errorf(e.pos, "f", "found %s; expected a transaction, or one of read, write, cas, "+
		"delete, acquire, release and add; --workload NAME judges tests of other objects", r.other)
}

// unjudged counts a read without meaning, and notes the place of the first.
func (r *reader) unjudged(pos int) {
	if r.nils++; r.nils == 1 {
		r.nilLine = uint32(r.s.Line(pos))
	}
}

// value is scalar for the value of a micro-operation, which has one form in the file.
func (r *reader) value(t edn.Token) (history.Value, error) {
	x, err := r.scalar(t, "value")
	return x, cmp.Or(err, r.oneForm(t, "value", &r.values))
}

func (r *reader) key(t edn.Token) (uint32, error) {
	switch t.Kind {
	case edn.Int, edn.Word, edn.Text, edn.Number:
		v, err := r.scalar(t, "key")
		return r.b.Key(v), err
	}
	return 0, r.s.Errorf(t.Pos, "key", "found %v; expected a number or a word (--workload NAME judges tests of other "+
		"objects, such as causal-reverse)", t)
}

// emptyAt reports whether an empty sequence, or nil, is at a place.
func (r *reader) emptyAt(at int) bool {
	r.s.Seek(at)
	t, err := r.s.Next()
	if err == nil && t.Opens() {
		t, err = r.s.Next()
		return err == nil && t.Kind == edn.Close
	}
	return err == nil && t.Kind == edn.Nil
}

// microOps adds the micro-operations [[:r k v] …] at a place.
func (r *reader) microOps(at int, status history.Status) (bool, error) {
	any, odd := false, false
	defer func() {
		if odd {
			r.did = r.did[:0]
		}
	}()
	r.s.Seek(at)
	if _, err := r.s.Next(); err != nil {
		return false, err
	}
	for {
		if r.plain && r.prefix == nil && r.plainMicroOps(status) {
			any = true
		}
		t, err := r.s.Next()
		if err != nil || t.Kind == edn.Close {
			return any, err
		}
		odd = true
		if !t.Opens() {
			return false, r.s.Errorf(t.Pos, "value", "found %v; expected a micro-operation", t)
		}
		f, err := r.s.Next()
		if err != nil {
			return false, err
		}
		write, appends := isWrite(f), f.Is("append")
		if !isRead(f) && !write && !appends {
			return false, r.s.Errorf(f.Pos, "value", "found the micro-operation %v; expected r, w or append", f)
		}
		from := r.s.Pos()
		kt, err := r.s.Next()
		if err != nil {
			return false, err
		}
		written := r.registers != nil && r.registers[string(trimmed(r.s.Data[from:r.s.Pos()]))]
		register, multi := r.model != listModel || written, written && f.Is("read") // of Knossos's multi-register
		k, err := r.microKey(kt)
		if err != nil {
			return false, err
		}
		v, err := r.s.Next()
		if err != nil {
			return false, err
		}
		short := v.Kind == edn.Close // [:r k]
		switch {
		case write || appends:
			if short || v.Kind == edn.Nil {
				return false, r.s.Errorf(v.Pos, "value", "found %v; expected the value that is written", v)
			}
			x, err := r.value(v)
			if err != nil {
				return false, err
			}
			any = true
			if appends {
				r.b.Append(k, x)
			} else {
				r.b.Write(k, x)
			}
		case status != history.Committed:
			if err := r.leave(v, nil); err != nil {
				return false, err
			}
		case short || v.Kind == edn.Nil && (r.nilMeans == "unknown" || multi && r.nilMeans == ""):
			r.unjudged(kt.Pos)
		case !register:
			if err := r.list(k, v); err != nil {
				return false, err
			}
			any = true
		default:
			x, err := r.value(v)
			if err != nil {
				return false, err
			}
			r.b.Read(k, x)
			any = true
		}
		if !short {
			if t, err = r.s.Next(); err != nil {
				return false, err
			}
			if t.Kind != edn.Close {
				return false, r.s.Errorf(t.Pos, "value", "found %v; expected the end of the micro-operation", t)
			}
		}
	}
}

// list adds the read of a list; v is its first token, nil for the empty one.
func (r *reader) list(k uint32, v edn.Token) error {
	r.elems = r.elems[:0]
	if v.Opens() {
		for {
			t, err := r.s.Next()
			if err != nil {
				return err
			}
			if t.Kind == edn.Close {
				break
			}
			x, err := r.value(t)
			if err != nil {
				return err
			}
			r.elems = append(r.elems, x)
		}
	} else if v.Kind != edn.Nil {
		return r.s.Errorf(v.Pos, "value", "found %v; expected a sequence: the history is one of lists, and "+
			"nothing writes this key", v)
	}
	r.said(k).to = 0
	r.b.ReadList(k, r.elems)
	return nil
}
