// Package cobralog reads the logs of Cobra's clients: a folder with a binary file T<n>.log for each session. A record
// is a letter followed by 8-byte big-endian integers.
//
// # Layout
//
//	S txnId [begin, ms]    C txnId [commit, ms]    W writeId key value    R writerTxnId writeId key value
//
// A file does not say whether it has times: the reader tries first without them, then with them. A transaction is
// logged when it has committed, but its client takes the second time before it sends the commit: when the transaction
// ended is not known.
//
// # Meaning
//
// A version is (key, write id); values are hashes and are not used. Ids of writes are 64-bit numbers without meaning
// and become signed ones. Writer 0xBEBEEBEE of a read means the version from before the run, here the text "initial"
// of an initial transaction. Writer 0xDEADBEEF means that the read found nothing: null, or also "initial" if the key
// existed before the run and no write deleted it, since Cobra's verifier has one initial version for each key. Write
// id 0xABCDEFAB is a delete: null. Reads of the garbage collection's key (write ids 0x23332333 and 0x66666666 of the
// initial transaction) are Cobra's own bookkeeping and are left out. Fence transactions are normal transactions on one
// key. If a read names a writer without a log, the writer's client never learned the outcome. The writer becomes a
// transaction of unknown outcome with the writes that reads saw.
//
// Experimental: this package may still change.
package cobralog

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"

	"isovet/history"
	"isovet/history/format/logs"
	"isovet/internal/plural"
	"isovet/internal/sorts"
)

const (
	initial = 0xBEBEEBEE
	absent  = 0xDEADBEEF
	deleted = 0xABCDEFAB
	gcTrue  = 0x23332333
	gcFalse = 0x66666666
	missing = 0xADEAFBEE
)

// Is reports whether the folder has such logs: the first non-empty log begins with a transaction.
func Is(dir string) bool {
	head, ok := logs.Head(dir, "T", 1)
	return ok && len(head) > 0 && head[0] == 'S'
}

// folder collects the content of a folder's logs.
type folder struct {
	b    *history.Builder
	told logs.Numbers       // transactions that have a log
	lost map[uint64][]write // by writer without a log (known at the end)
	// before has the keys that existed before the run, as reads show; deletes has the keys that were deleted.
	before, deletes map[uint64]struct{}
}

type write struct{ key, id uint64 }

// Read reads all logs of a folder as one history, sessions by the numbers in the files' names. Errors are
// *history.InputError with file and offset. Cost: two passes over the bytes, history.Builder.Build.
func Read(ctx context.Context, dir string) (*history.History, error) {
	files, err := logs.List(dir, "T")
	if err != nil {
		return nil, err
	}
	f := folder{b: history.NewBuilder(), lost: map[uint64][]write{}, before: map[uint64]struct{}{},
		deletes: map[uint64]struct{}{}}
	f.b.File = dir
	all := make([]log, len(files))
	ops := 0
	for i, l := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		data, err := l.Read()
		if err != nil {
			return nil, err
		}
		all[i] = log{data: data, file: l.Path}
		if err := f.survey(&all[i]); err != nil {
			return nil, err
		}
		ops += len(data) / 33
	}
	if f.told.Len() == 0 {
		return nil, &history.InputError{File: files[0].Path, Off: 0, Msg: "the file is empty, like all logs of the " +
			"folder; expected transactions"}
	}
	f.b.Reserve(0, ops)
	f.init()
	for i := range all {
		f.add(&all[i], files[i].Number)
		all[i].data = nil
	}
	if n := f.strangers(); n > 0 {
		f.b.Note(history.NoteInvented, n, "%s: counted as of unknown outcome",
			plural.Phrase(n, "transaction that others read from has no log",
				"transactions that others read from have no log"))
	}
	return f.b.Build()
}

// log is one file. When it is known whether the file has times, a record's letter gives its size.
type log struct {
	data  []byte
	file  string
	timed bool
}

func (l *log) size(letter byte) int {
	switch letter {
	case 'S', 'C', 'A':
		if l.timed {
			return 17
		}
		return 9
	case 'W':
		return 25
	case 'R':
		return 33
	}
	return 0
}

// check parses the records without times and, if that fails, with times.
func (l *log) check() error {
	err := l.walk()
	if err == nil {
		return nil
	}
	l.timed = true
	if l.walk() == nil {
		return nil
	}
	l.timed = false
	return err
}

func (l *log) walk() error {
	open, inside := uint64(0), false
	for pos := 0; pos < len(l.data); {
		c := l.data[pos]
		fail := func(format string, args ...any) error {
			return &history.InputError{File: l.file, Off: int64(pos), Msg: fmt.Sprintf(format, args...)}
		}
		n := l.size(c)
		switch {
		case n == 0:
			return fail("found the byte %#02x; expected a record: S, C, W, R or A", c)
		case pos+n > len(l.data):
			return fail("found the end of the file after %d bytes of a record %c; expected %d", len(l.data)-pos, c, n)
		case c == 'S' && inside:
			return fail("found the begin of a transaction within transaction %d; expected its commit", open)
		case c != 'S' && !inside:
			return fail("found a record %c outside a transaction; expected S", c)
		case n == 17 && binary.BigEndian.Uint64(l.data[pos+9:]) > math.MaxInt64/1_000_000:
			return fail("found a time that is too far away; expected milliseconds since 1970")
		}
		id := binary.BigEndian.Uint64(l.data[pos+1:])
		switch c {
		case 'S':
			open, inside = id, true
		case 'C', 'A':
			if id != open {
				return fail("found the end of transaction %d; expected that of %d", id, open)
			}
			inside = false
		}
		pos += n
	}
	if inside {
		return &history.InputError{File: l.file, Off: int64(len(l.data)), Msg: fmt.Sprintf("found the end of the "+
			"file within transaction %d; expected its commit", open)}
	}
	return nil
}

// survey checks a log, and finds which transactions have a log, and which keys existed before the run.
func (f *folder) survey(l *log) error {
	if err := l.check(); err != nil {
		return err
	}
	for pos := 0; pos < len(l.data); pos += l.size(l.data[pos]) {
		rec := l.data[pos+1:]
		switch l.data[pos] {
		case 'S':
			id := binary.BigEndian.Uint64(rec)
			if f.told.Has(id) {
				return &history.InputError{File: l.file, Off: int64(pos), Field: "id",
					Msg: fmt.Sprintf("found a second transaction %d; expected unique ids", id)}
			}
			f.told.Add(id)
		case 'W':
			if binary.BigEndian.Uint64(rec) == deleted {
				f.deletes[binary.BigEndian.Uint64(rec[8:])] = struct{}{}
			}
		case 'R':
			writer, version := binary.BigEndian.Uint64(rec), binary.BigEndian.Uint64(rec[8:])
			if writer == initial && !gc(version, writer) {
				f.before[binary.BigEndian.Uint64(rec[16:])] = struct{}{}
			}
		}
	}
	return nil
}

// gc reports whether an operation is on the garbage collection's key.
func gc(id, writer uint64) bool {
	return (id == gcTrue || id == gcFalse) && (writer == initial || writer == absent || writer == missing)
}

var text = []byte("initial")

// init adds the initial transaction, keys in order.
func (f *folder) init() {
	if len(f.before) == 0 {
		return
	}
	for _, k := range slices.Sorted(maps.Keys(f.before)) {
		f.b.Write(f.b.Key(history.IntValue(int64(k))), f.b.StringValue(text))
	}
	h := history.NewTxnHead()
	h.HasID, h.ID, h.Init = true, initial, true
	f.b.EndTxn(h)
}

func (f *folder) add(l *log, session int64) {
	value := func(id uint64) history.Value {
		if id == deleted {
			return history.Value{Kind: history.Null}
		}
		return history.IntValue(int64(id))
	}
	var h history.TxnHead
	for pos := 0; pos < len(l.data); pos += l.size(l.data[pos]) {
		rec := l.data[pos+1:]
		at := func(i int) uint64 { return binary.BigEndian.Uint64(rec[8*i:]) }
		switch l.data[pos] {
		case 'S':
			h = history.NewTxnHead()
			h.HasSess, h.Session = true, session
			h.HasID, h.ID = true, int64(at(0))
			if l.timed {
				h.Start = int64(at(1)) * 1e6
			}
		case 'C', 'A':
			if l.timed {
				h.Commit = int64(at(1)) * 1e6
			}
			if l.data[pos] == 'A' {
				h.Status = history.Aborted
			}
			f.b.EndTxn(h)
		case 'W':
			f.b.Write(f.b.Key(history.IntValue(int64(at(1)))), value(at(0)))
		case 'R':
			writer, id, key := at(0), at(1), at(2)
			if gc(id, writer) {
				continue
			}
			k := f.b.Key(history.IntValue(int64(key)))
			switch {
			case writer == initial || (writer == absent && f.always(key)):
				f.b.Read(k, f.b.StringValue(text))
			case writer == absent || id == absent:
				f.b.Read(k, history.Value{Kind: history.Null})
			default:
				if id != deleted && !f.told.Has(writer) {
					f.lost[writer] = append(f.lost[writer], write{key, id})
				}
				f.b.Read(k, value(id))
			}
		}
	}
}

// always reports whether a key existed before the run and no write deleted it.
func (f *folder) always(key uint64) bool {
	_, before := f.before[key]
	_, deletes := f.deletes[key]
	return before && !deletes
}

// strangers adds the writers that reads name but that have no log. It returns their number.
func (f *folder) strangers() int {
	for _, id := range slices.Sorted(maps.Keys(f.lost)) {
		seen := f.lost[id]
		sorts.Func(seen, func(a, b write) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.id, b.id)) })
		for _, w := range slices.Compact(seen) {
			f.b.Write(f.b.Key(history.IntValue(int64(w.key))), history.IntValue(int64(w.id)))
		}
		h := history.NewTxnHead()
		h.HasID, h.ID, h.Status = true, int64(id), history.Unknown
		f.b.EndTxn(h)
	}
	return len(f.lost)
}
