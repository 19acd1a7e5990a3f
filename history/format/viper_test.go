package format_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/history/format/viper"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestViperRead: logs are read as the JSON lines are that were made with them, but for an initial transaction that is
// not in the logs. Garbled logs are read or refused.
func TestViperRead(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 9))
	dir := t.TempDir()
	parts := []string{"[", "]", "{", "}", `"`, ",", ":", "0", "-", "null", "true", `"x"`, `"nil"`, `"\n"`, "é", " ", "1.5",
		"99999999999999999999", `["range",1,2,[],[]],`, `{"opType":"r","key":3,"value":4},`}
	for range histtest.Long(250, 30_000) {
		var logs [2][]byte
		var lines []byte
		for session := range logs {
			for range rnd.IntN(4) {
				text, ops := madeTxn(rnd)
				start := rnd.IntN(9)
				logs[session] = fmt.Appendf(logs[session], `{%s,"preBeginTS":%d}`+"\n", text, start)
				lines = fmt.Appendf(lines, `{"session":%d,"start":%d,"ops":[%s]}`+"\n", session, start, ops)
			}
		}
		read := func() (*history.History, error) {
			for i, log := range logs {
				must.OK(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("J%d.log", i)), log, 0o600))
			}
			return viper.Read(t.Context(), dir)
		}
		if len(lines) > 0 {
			h := must.Get(read())(t)
			want := must.Get(jsonl.Read(lines, "f"))(t)
			must.Equal(t, txns(t, h), txns(t, want), "%s%s", logs[0], logs[1])
			first(t, h)
		}
		for i := range logs {
			logs[i] = randtest.Garble(rnd, logs[i], parts)
		}
		if h, err := read(); err == nil {
			first(t, h)
		} else if !strings.HasPrefix(err.Error(), dir) {
			t.Error(err)
		}
	}
}

// TestViperFlags: flags are true or false, at their places only.
func TestViperFlags(t *testing.T) {
	for op, want := range map[string]string{`["w","x",true,true]`: "expected an integer, a string or null",
		`["w",1,5,1]`: "expected true or false", `["i",1,5,null,true,0]`: "expected true or false",
		`["i",1,5,null,true,true]`: "", `["r",1,5,null]`: ""} {
		dir := t.TempDir()
		must.OK(t, os.WriteFile(filepath.Join(dir, "J0.log"), []byte(`{"value":[`+op+"]}\n"), 0o600))
		_, err := viper.Read(t.Context(), dir)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; expected %q", op, err, want)
		}
	}
}

// TestViperInitial: what the transaction marked isInitial found, it wrote, wherever the mark is.
func TestViperInitial(t *testing.T) {
	for _, text := range []string{
		`{"value":[["w",1,2,true],["range",null,9,[{"id":3,"val":4}],[{"id":5,"val":6}]],["w",7,8,true]],"isInitial":true}`,
		`{"isInitial":true,"value":[{"opType":"w","key":1,"value":2},{"opType":"range","liveKVs":[{"key":3,"value":4},` +
			`{"key":5,"value":6}]},["w",7,8,true]]}`,
	} {
		dir := t.TempDir()
		must.OK(t, os.WriteFile(filepath.Join(dir, "J1.log"), []byte(text), 0o600))
		h := must.Get(viper.Read(t.Context(), dir))(t)
		var b bytes.Buffer
		must.OK(t, jsonl.Write(&b, h))
		if want := `"ops":[["w",1,2],["w",3,4],["w",5,6],["w",7,8]]`; h.Init == history.None || !strings.Contains(b.String(), want) {
			t.Errorf("%s\n%s; want %s", text, b.String(), want)
		}
	}
}

// madeTxn makes the operations of a transaction, and the same as JSON lines have them.
func madeTxn(rnd *rand.Rand) (text, ops string) {
	var said, made []string
	for range rnd.IntN(5) {
		key := [...]string{"1", "2", `"x"`, `"y"`}[rnd.IntN(4)]
		value := [...]string{"1", "2", "3", "null", `"nil"`, `"a"`}[rnd.IntN(6)]
		old, dead, ok := rnd.IntN(4), rnd.IntN(2) > 0, rnd.IntN(3) > 0
		null := strings.ReplaceAll(value, `"nil"`, "null")
		read, write := fmt.Sprintf(`["r",%s,%d]`, key, old), fmt.Sprintf(`["w",%s,%s]`, key, null)
		kind := [...]string{"r", "w", "i", "d", "range"}[rnd.IntN(5)]
		if rnd.IntN(3) == 0 {
			said = append(said, fmt.Sprintf(`{"opType":%q,"key1":1,"key":%s,"succ":%v,"value":%s,"readValue":%d,"liveKVs":`+
				`[{"id":%s,"val":%s}],"deadKVs":null}`, kind, key, ok, value, old, key, value))
			made = append(made, map[string]string{"r": strings.Replace(write, "w", "r", 1),
				"range": fmt.Sprintf(`["pr",{"key":{">=":1}},[[%s,%s]]]`, key, null)}[kind])
		} else {
			switch kind {
			case "range":
				said = append(said, fmt.Sprintf(`["range",1,"nil",[{"id":%s,"sk":2,"val":%s}],[]]`, key, value))
			case "r", "w":
				said = append(said, fmt.Sprintf(`["%s",%s,%s,%v]`, kind, key, value, ok))
			default:
				said = append(said, fmt.Sprintf(`["%s",%s,%s,%d,%v,%v]`, kind, key, value, old, dead, ok))
			}
			made = append(made, map[string]string{"r": strings.Replace(write, "w", "r", 1),
				"range": fmt.Sprintf(`["pr",{"key":{">=":1}},[[%s,%s]]]`, key, null)}[kind])
		}
		last := &made[len(made)-1]
		switch {
		case kind == "w" && ok:
			*last = write
		case kind == "i" || kind == "d":
			if *last = read; ok {
				*last += "," + write
			}
		}
	}
	made = slices.DeleteFunc(made, func(s string) bool { return s == "" })
	return `"value":[` + strings.Join(said, ", ") + "]", strings.Join(made, ",")
}

// txns writes the transactions other than the initial one, without their ids.
func txns(t *testing.T, h *history.History) string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, jsonl.Write(&b, h))
	return strings.Join(slices.DeleteFunc(strings.SplitAfter(b.String(), "\n"), func(line string) bool {
		return strings.Contains(line, `"init":true`) || strings.Contains(line, `"format"`)
	}), "")
}

// first checks that a history without an initial transaction of its own has one that writes what keys held at first, by
// definition.
func first(t *testing.T, h *history.History) {
	t.Helper()
	if h.Init != history.None && h.Init != uint32(h.NumTxns()-1) {
		return
	}
	var lo, hi uint32
	if h.Init != history.None {
		if lo, hi = h.TxnOps(h.Init); h.Txns.Line[h.Init] != 0 {
			return // it stands in the file
		}
	} else {
		lo, hi = uint32(h.NumOps()), uint32(h.NumOps())
	}
	var want []uint32
	see := func(v uint32) {
		for op, k := range h.Ops.Kind[:lo] {
			if k == history.Write && h.Ops.Ver[op] == v {
				return
			}
		}
		for _, w := range want {
			if h.VerKey[w] == h.VerKey[v] {
				return
			}
		}
		if h.VerKind[v] != history.Null {
			want = append(want, v)
		}
	}
	for op, k := range h.Ops.Kind[:lo] {
		switch v := h.Ops.Ver[op]; k {
		case history.Read:
			see(v)
		case history.PredRead:
			for _, row := range h.Preds.Old[h.Preds.Off[v]:h.Preds.Off[v+1]] {
				see(row)
			}
		}
	}
	if got := h.Ops.Ver[lo:hi]; !slices.Equal(got, want) {
		t.Fatalf("at first %v, expected %v", got, want)
	}
}
