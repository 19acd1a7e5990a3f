package viper

import (
	"isovet/history"
	"isovet/history/format/edn"
)

// plainTxn reads the fields of a transaction, behind its bracket, as long as they are plain (see edn.Plain), and leaves
// the scanner behind them. done says that it read the whole transaction. It adds operations at once, unless their
// meaning depends on later fields.
func (r *reader) plainTxn(x *txn) (done bool, err error) {
	p := r.s.Plain()
	for {
		if p.Take('}') {
			r.s.WentOut(&p)
			return true, nil
		}
		name, ok := p.Text()
		if !ok {
			return false, nil
		}
		switch string(name) {
		case "value":
			if x.value >= 0 {
				return false, nil
			}
			at := p.Pos()
			if !p.Take('[') {
				return false, nil
			}
			x.value = at
			r.plainOps(&p)
			if !p.Take(']') {
				x.rest = p.Pos()
				if p.Back(at); !p.Skip() {
					p.Back(at)
					r.s.Went(&p)
					return false, r.s.Skip()
				}
			} else {
				x.rest = all
			}
		case "isInitial":
			x.initial, ok = p.Bool()
		case "isFinal":
			x.final, ok = p.Bool()
		case "preBeginTS":
			ok = plainTime(&p, &x.head.Start)
		case "preCommitTS":
			ok = plainTime(&p, &x.head.Commit)
		case "postCommitTS":
			ok = plainTime(&p, &x.head.End)
		default:
			ok = p.Skip()
		}
		if !ok {
			return false, nil
		}
		r.s.Went(&p)
	}
}

func plainTime(p *edn.Plain, at *int64) bool {
	if p.Peek() == 'n' {
		*at = history.NoTime
		return p.Nil()
	}
	n, ok := p.Int()
	if ok {
		*at = n
	}
	return ok
}

// plainOps reads operations on one row as long as they are plain, and stops before the first other one.
func (r *reader) plainOps(p *edn.Plain) {
	for from := p.Pos(); p.Take('['); from = p.Pos() {
		if !r.plainOp(p) {
			p.Back(from)
			return
		}
	}
}

// plainOp reads an operation behind its bracket.
func (r *reader) plainOp(p *edn.Plain) bool {
	name, ok := p.Text()
	if !ok || len(name) != 1 {
		return false
	}
	want := 3
	switch name[0] {
	case 'r', 'w':
	case 'i', 'd':
		want = 5
	default:
		return false
	}
	var args [5]history.Value
	var flags [5]bool
	for i := range want {
		switch p.Peek() {
		case 't', 'f':
			flags[i], ok = p.Bool()
		case 'n':
			ok = p.Nil()
		case '"':
			var text []byte
			if text, ok = p.Text(); ok && string(text) != "nil" {
				args[i] = r.b.StringValue(text)
			}
		default:
			args[i].Kind = history.Int
			args[i].N, ok = p.Int()
		}
		if !ok {
			return false
		}
	}
	if !p.Take(']') || args[0].Kind == history.Null {
		return false
	}
	r.point(name[0], args[0], args[1], args[2], flags[want-1])
	return true
}
