package history

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"isovet/internal/escape"
	"isovet/internal/slice"
)

// InputError is bad input: its place, and what was expected. It is a mistake of the user or the recorder, never a
// verdict.
type InputError struct {
	File  string
	Line  int   // from 1; 0: unknown, see Offset
	Off   int64 // byte offset, for binary formats; -1: unknown
	Field string
	Msg   string // what was found and what was expected
}

// Error returns one line, escaped for a terminal because it quotes the file.
func (e *InputError) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File)
		b.WriteByte(':')
	}
	if strings.Contains(filepath.Base(e.File), ".ivh") && e.Line > 0 { // docs/history-format.md: section 13
		fmt.Fprintf(&b, " line %d of its source:", e.Line)
	} else if e.Line > 0 {
		fmt.Fprintf(&b, "%d:", e.Line)
	} else if e.Off >= 0 && e.Line == 0 {
		fmt.Fprintf(&b, "byte %d:", e.Off)
	}
	if b.Len() > 0 {
		b.WriteByte(' ')
	}
	if e.Field != "" {
		fmt.Fprintf(&b, "field %q: ", e.Field)
	}
	b.WriteString(e.Msg)
	return escape.Line(b.String())
}

func (b *Builder) errorf(t uint32, field, format string, args ...any) error {
	e := &InputError{File: b.File, Off: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
	if t != None {
		e.Line = int(b.txns.Line[t])
	}
	return e
}

// checkTxns checks what docs/history-format.md requires of single transactions: times must not decrease, there is at
// most one initial transaction, which has no impossible fields, and ids are unique.
func (b *Builder) checkTxns() error {
	x := &b.txns
	for t := range uint32(len(x.ID)) {
		s, c, e := at(x.Start, t), at(x.Commit, t), at(x.End, t)
		if s != NoTime && e != NoTime && e < s {
			return b.errorf(t, "end", "transaction %d ends at %d, before its start at %d", x.ID[t], e, s)
		}
		if c != NoTime && s != NoTime && c < s {
			return b.errorf(t, "commit", "transaction %d commits at %d, before its start at %d", x.ID[t], c, s)
		}
		if c != NoTime && e != NoTime && e < c {
			return b.errorf(t, "commit", "transaction %d commits at %d, after its end at %d", x.ID[t], c, e)
		}
		if a, z := at(x.StartTS, t), at(x.CommitTS, t); a != NoTime && z != NoTime && z < a {
			return b.errorf(t, "commit_ts", "transaction %d has commit_ts %d, before its start_ts %d", x.ID[t], z, a)
		}
	}
	if b.init2 != None {
		return b.errorf(b.init2, "init", "a second initial transaction (the first is transaction %d)", x.ID[b.init])
	}
	if t := b.init; t != None {
		if x.Status[t] != Committed {
			return b.errorf(t, "status", "the initial transaction is %s; expected committed", x.Status[t])
		}
		for _, k := range b.kind[x.OpOff[t]:x.OpOff[t+1]] {
			if k != Write && k != Append {
				return b.errorf(t, "ops", "the initial transaction has a %q operation; expected only writes", k)
			}
		}
	}
	return b.checkIDs()
}

// checkSize returns an error if there is more than 32-bit ids can number.
func (b *Builder) checkSize() error {
	const most = 1 << 31
	switch {
	case len(b.kind) >= most || int64(b.extra) >= most || len(b.txns.ID) >= most:
		return b.errorf(None, "ops", "more than 2^31 operations, list elements or predicate rows; expected fewer")
	case len(b.keys) > int(keyMask):
		return b.errorf(None, "ops", "more than 2^29 keys; expected fewer")
	case b.Texts.full:
		return b.errorf(None, "ops", "more than 4 GiB of different strings; expected fewer")
	}
	return nil
}

// checkRows refuses predicate operations that name a row again: see RowRepeated.
func (b *Builder) checkRows(h *History) error {
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			if msg := h.RowRepeated(op); msg != "" {
				return b.errorf(t, "ops", "%s", msg)
			}
		}
	}
	return nil
}

// RowRepeated returns which row a predicate operation wrongly has twice, or "". A statement matches a row once, in one
// version. A read that shows a row in two versions is a fault of the database, which a checker must find. The same
// version twice, and a row that a write changes twice, can only be a fault of the recording. Cost: linear in the
// operation's rows.
func (h *History) RowRepeated(op uint32) string {
	kind, i := h.Ops.Kind[op], h.Ops.Ver[op]
	if kind != PredRead && kind != PredWrite {
		return ""
	}
	type version struct {
		key uint32
		val Value
	}
	seen := make(map[version]bool)
	for r := h.Preds.Off[i]; r < h.Preds.Off[i+1]; r++ {
		ver := h.Preds.New[r]
		if kind == PredRead {
			ver = h.Preds.Old[r]
		}
		v := version{h.VerKey[ver], h.VerValue(ver)}
		text := ""
		if kind == PredWrite {
			v.val = Value{}
		} else {
			text = " = " + string(h.Texts.AppendValue(nil, v.val))
		}
		if seen[v] {
			return fmt.Sprintf("a %q operation names the row %s%s twice; expected each row that matched once", kind,
				h.KeyString(v.key), text)
		}
		seen[v] = true
	}
	return ""
}

// checkIDs finds a duplicated id. Ids that increase, as most files' do, need no sort.
func (b *Builder) checkIDs() error {
	id := b.txns.ID
	if slices.IsSortedFunc(id, func(a, c int64) int {
		if a <= c { // equal neighbours are not in order either
			return -1
		}
		return 1
	}) {
		return nil
	}
	by := slice.Numbers[uint32](len(id))
	slices.SortFunc(by, func(a, c uint32) int {
		switch {
		case id[a] < id[c]:
			return -1
		case id[a] > id[c]:
			return 1
		}
		return int(a) - int(c)
	})
	worst := None // the first line that repeats an id
	first := None
	for i := 1; i < len(by); i++ {
		if id[by[i]] == id[by[i-1]] && by[i] < worst {
			worst, first = by[i], by[i-1]
		}
	}
	if worst == None {
		return nil
	}
	how := ""
	if b.ordinal != nil && (b.ordinal[worst] || b.ordinal[first]) {
		how = " (a transaction without id is named by its ordinal)"
	}
	return b.errorf(worst, "id", "transaction id %d occurs twice, first in line %d%s; expected unique ids", id[worst],
		b.txns.Line[first], how)
}

// Reason returns an error of package os without the path, which the message names already.
func Reason(err error) string {
	if pe, ok := errors.AsType[*os.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
