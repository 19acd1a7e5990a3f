package view

import (
	"fmt"
	"strconv"
	"strings"

	"isovet/history"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/report"
)

// foundJSON is a result of a search: a transaction, a key, a session, or a value with its writers.
type foundJSON struct {
	What  string  `json:"what"` // transaction, key, session, value
	Name  string  `json:"name"`
	About string  `json:"about"`
	Txn   *uint32 `json:"txn,omitempty"`
	Key   *uint32 `json:"key,omitempty"`
	Row   *int    `json:"row,omitempty"`
}

// perKind bounds the results of each kind.
const perKind = 8

// search finds transactions by id ("T12" or "12"), sessions by number ("session 3"), keys by a part of their name, and
// the writers and readers of a value ("12", "abc", or "x=12" for one key). Cost: a pass over ids and names, and over
// the versions for a value.
func (b *book) search(text string) (out []foundJSON) {
	out = []foundJSON{}
	x, h := b.axis, b.axis.h
	text = strings.TrimSpace(text)
	if text == "" {
		return out
	}
	lower := strings.ToLower(text)
	if id, err := strconv.ParseInt(strings.TrimPrefix(lower, "t"), 10, 64); err == nil {
		for t, have := range h.Txns.ID {
			if have == id && uint32(t) != h.Init {
				out = append(out, b.foundTxn(uint32(t)))
			}
		}
	}
	number := strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(lower, "session"), "s"))
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && !strings.HasPrefix(lower, "t") {
		for i := range x.rows {
			if name := fmt.Sprintf("session %d", n); x.rows[i].name == name {
				out = append(out, foundJSON{What: "session", Name: name, Row: &i,
					About: plural.Of(len(x.rows[i].txns), "transaction")})
			}
		}
	}
	out = append(out, b.foundKeys(lower)...)
	key, value, both := strings.Cut(text, "=")
	if !both {
		key, value = "", text
	}
	return append(out, b.foundValues(strings.TrimSpace(key), strings.TrimSpace(value))...)
}

func (b *book) foundTxn(t uint32) foundJSON {
	h := b.axis.h
	return foundJSON{What: "transaction", Name: report.TxnName(h, t), Txn: &t,
		About: report.SessionName(h, h.Txns.Sess[t]) + ", " + h.Txns.Status[t].String() + ": " + opsText(h, t, 4)}
}

// foundKeys finds keys whose name contains a text, exact matches first.
func (b *book) foundKeys(lower string) (out []foundJSON) {
	h := b.axis.h
	add := func(k uint32) {
		f := foundJSON{What: "key", Name: escape.XML(report.KeyName(h, k)), Key: &k}
		if ks := b.keys.Load(); ks != nil {
			s := ks.stat[k]
			f.About = plural.Of(s.readers, "reader") + ", " + plural.Of(s.writers, "writer")
		}
		out = append(out, f)
	}
	var part []uint32
	for k := range uint32(h.NumKeys()) {
		name := strings.ToLower(report.KeyName(h, k))
		switch {
		case name == lower || strings.Trim(name, `"`) == lower:
			add(k)
		case len(part) < perKind && strings.Contains(name, lower):
			part = append(part, k)
		}
		if len(out) == perKind {
			return out
		}
	}
	for _, k := range part {
		if len(out) < perKind {
			add(k)
		}
	}
	return out
}

// foundValues finds the versions with a value, and their writers. If key is not "", it looks only at that key.
func (b *book) foundValues(key, value string) (out []foundJSON) {
	h, ks := b.axis.h, b.keys.Load()
	if ks == nil || value == "" {
		return nil
	}
	is := valueTest(h, value)
	for v := range uint32(h.NumVersions()) {
		if !is(v) || key != "" && strings.Trim(report.KeyName(h, h.VerKey[v]), `"`) != strings.Trim(key, `"`) {
			continue
		}
		k := h.VerKey[v]
		name := escape.XML(report.KeyName(h, k) + " = " + report.Clip(h.ValueString(v), 60))
		writers := b.writersOf(k, v)
		for _, t := range writers {
			if t != h.Init && len(out) < perKind {
				f := b.foundTxn(t)
				f.What, f.Name, f.About = "value", name, "written by "+f.Name+", "+f.About
				out = append(out, f)
			}
		}
		if len(writers) == 0 {
			for _, t := range b.readersOf(k, v) {
				f := b.foundTxn(t)
				f.What, f.Name, f.About = "value", name, "read by "+f.Name+", "+f.About
				out = append(out, f)
				break
			}
		}
		if len(out) >= perKind {
			break
		}
	}
	return out
}

// valueTest returns a test for versions with a value: a number, a JSON text, or the text of a string.
func valueTest(h *history.History, value string) func(v uint32) bool {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return func(v uint32) bool { return h.VerKind[v] == history.Int && h.VerN[v] == n }
	}
	return func(v uint32) bool {
		switch h.VerKind[v] {
		case history.Null, history.Int:
			return false
		case history.String:
			if string(h.Texts.Text(uint32(h.VerN[v]))) == value {
				return true
			}
		}
		return h.ValueString(v) == value
	}
}
