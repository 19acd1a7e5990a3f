package sqlstmt

import (
	"sync"

	"isovet/record"
)

// versions knows which versions of which rows recorded transactions have written, and which row versions were there
// before: a read of any other is of a writer that was not recorded, and is left out.
type versions struct {
	mu   sync.Mutex
	rows map[string]*versionsOf
	// flying counts the writes of each table that have been sent and not recorded yet.
	flying map[string]int
}

type versionsOf struct {
	known   map[any]any // by what tells versions apart: the value that the history has
	written bool
	first   any // the id of initial
	initial any
	begun   bool // initial is known
	lost    bool // the recorder did not take it
}

// most is how many versions of one row are remembered. Reads of those that are forgotten are left out.
const most = 4096

func (v *versions) of(key string) *versionsOf {
	r := v.rows[key]
	if r == nil {
		r = &versionsOf{}
		if v.rows == nil {
			v.rows = map[string]*versionsOf{}
		}
		v.rows[key] = r
	}
	return r
}

// wrote notes a version. seq numbers the writes of one row by one id; it is 0 for the first.
func (v *versions) wrote(key string, id any, value func(seq int64) any) any {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.of(key)
	r.written = true
	if r.known == nil || len(r.known) >= most {
		r.known = map[any]any{}
	}
	type count struct{ id any }
	seq, _ := r.known[count{id}].(int64)
	r.known[count{id}] = seq + 1
	out := value(seq)
	r.known[id] = out
	return out
}

// read is the value of a version that was read; false: nobody that is known wrote it. old: it was there before the
// recording, if nothing else is known of it.
func (v *versions) read(rec *record.Recorder, key string, id, value any, old bool) (any, bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := v.of(key)
	if out, ok := r.known[id]; ok {
		return out, true
	}
	if r.begun {
		return r.initial, id == r.first
	}
	if told, same, ok := rec.Before(key, value); ok { // by the program
		if _, xid := id.(uint32); xid && !old || !xid && !same {
			return nil, false
		}
		r.first, r.initial, r.begun = id, told, true
		return told, true
	}
	if !old || r.lost {
		return nil, false
	}
	if rec.Initial(key, value) != nil {
		r.lost = true
		return nil, false
	}
	r.first, r.initial, r.begun = id, value, true
	return value, true
}

// quiet reports whether a row has no recorded writer, and no write of its table is under way.
func (v *versions) quiet(key, table string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.flying[table] == 0 && !v.of(key).written
}

// underway counts the writes of a table that are.
func (v *versions) underway(table string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.flying[table]
}

// fly counts a write that is sent (1), or that has been recorded (-1).
func (v *versions) fly(table string, n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.flying == nil {
		v.flying = map[string]int{}
	}
	v.flying[table] += n
}
