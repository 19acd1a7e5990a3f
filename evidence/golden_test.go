package evidence_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	checkers "isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

var update = flag.Bool("update", false, "write the golden files of testdata anew")

// asked reads which level and which checker the header of a history asks for.
func asked(t *testing.T, text []byte) (l level.Level, checker string) {
	t.Helper()
	var head struct{ Level, Checker string }
	line, _, _ := bytes.Cut(text, []byte("\n"))
	must.OK(t, json.Unmarshal(line, &head))
	l, err := level.Parse(head.Level)
	must.OK(t, err)
	return l, head.Checker
}

// told answers for a history of testdata/texts.
func told(t *testing.T, text []byte) *evidence.Result {
	t.Helper()
	l, name := asked(t, text)
	h, err := histtest.Read(text)
	must.OK(t, err)
	c, ok := checkers.Auto(h, l)
	if name != "auto" {
		c, err = checkers.ByName(name)
		ok = err == nil
	}
	must.Hold(t, ok, "nothing decides %s: %v", l, err)
	r, err := checkers.Run(context.Background(), c, h, checkers.Options{Level: l})
	must.OK(t, err)
	r.Checker = name
	r.Stats = evidence.Stats{}
	return r
}

// golden compares with a file, which -update writes.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		must.OK(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want := must.Get(os.ReadFile(file))(t)
	must.Equal(t, got, string(want), "%s", file)
}

// TestTexts: what a person, and a program, reads of each anomaly: the texts, then the report and the certificate,
// each of which reads back as what it was written from.
func TestTexts(t *testing.T) {
	seen := map[level.Anomaly]bool{}
	files, err := filepath.Glob("testdata/texts/*.jsonl")
	must.Hold(t, err == nil && len(files) != 0, "no histories: %v", err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			text := must.Get(os.ReadFile(file))(t)
			r := told(t, text)
			var out bytes.Buffer
			out.WriteString(r.Label() + ": " + r.Verdict.String() + "\n")
			if r.Reason != "" {
				out.WriteString(r.Reason + "\n")
			}
			for _, a := range r.Anomalies {
				seen[a.Kind.Base()] = true
				out.WriteString("\n" + string(a.Kind) + ", " + a.Kind.Name() + "\n" + a.Text + "\n")
			}
			must.OK(t, readsBack(r))
			must.OK(t, namesStay(r))
			for i := range r.Anomalies {
				r.Anomalies[i].Text = "…" // once is enough
			}
			report := must.Get(evidence.JSON(r, filepath.Base(file)))(t)
			out.WriteString("\nreport\n" + string(report) + "\n\ncertificate\n")
			must.OK(t, evidence.WriteCertificate(&out, r))
			golden(t, strings.TrimSuffix(file, "jsonl")+"golden", out.String())
		})
	}
	for _, k := range level.Anomalies() {
		if !seen[k.Base()] && k != level.Timestamps { // of which no reader makes a history
			t.Errorf("no history of testdata/texts shows %s", k)
		}
	}
}

// TestBecause: the reason of each kind of edge in words.
func TestBecause(t *testing.T) {
	h := readText(t, `{"id":4,"session":3,"start":1,"end":2,"ops":[["w","x",1],["w","y b",null]]}
{"id":5,"session":3,"start":3,"end":4,"ops":[["r","x",1],["r","y b",0]]}
{"id":6,"ops":[["w","x",7]]}
`)
	x, y := h.OpKey(0), h.OpKey(1)
	edge := func(dep evidence.Dep, from, to, key, ver uint32) evidence.Edge {
		return evidence.Edge{From: from, To: to, Dep: dep, Key: key, Ver: ver, Writer: history.None}
	}
	none := uint32(history.None)
	for _, c := range []struct {
		e    evidence.Edge
		want string
	}{
		{edge(evidence.SO, 0, 1, none, none), "T5 came after T4 in session 3"},
		{edge(evidence.RT, 0, 1, none, none), "T4 ended at 2, before T5 began at 3"},
		{edge(evidence.TS, 0, 1, none, none), "the database's timestamps put T4 before T5"},
		{edge(evidence.WR, 0, 1, x, h.Ops.Ver[0]), "T5 read x = 1, which T4 wrote"},
		{edge(evidence.WW, 0, 2, x, h.Ops.Ver[4]), "T4 wrote x = 1 before T6 overwrote it with 7"},
		{edge(evidence.WW, 2, 0, y, h.Ops.Ver[1]), `T6 wrote "y b" = null before T4 deleted it`},
		{edge(evidence.RW, 1, 0, y, h.Ops.Ver[3]), `T5 read "y b" = 0, the initial value, before T4 deleted it`},
		{edge(evidence.RW, 1, 2, x, h.Ops.Ver[2]), "T5 read x = 1, the initial value, before T6 overwrote it with 7"},
		{evidence.Edge{From: 1, To: 2, Dep: evidence.RW, Key: x, Ver: h.Ops.Ver[2], Writer: 0},
			"T5 read x = 1 before T6 overwrote it with 7"},
	} {
		got := evidence.Describe(&evidence.Anomaly{Cycle: []evidence.Edge{c.e}}, h)
		must.Be(t, strings.Contains(got, ", because "+c.want+".\n"), "%s: %q; expected %q", c.e.Dep, got, c.want)
	}
}

func readText(t *testing.T, text string) *history.History {
	t.Helper()
	h := must.Get(histtest.Read([]byte(text)))(t)
	return h
}

// A certificate that says what its history does not have is refused with the line and the field.
func TestBrokenCertificates(t *testing.T) {
	broken := func(name, old, new, want string) {
		t.Helper()
		text, err := os.ReadFile("testdata/texts/" + name + ".jsonl")
		must.OK(t, err)
		r := told(t, text)
		var b bytes.Buffer
		must.OK(t, evidence.WriteCertificate(&b, r))
		cert := strings.Replace(b.String(), old, new, 1)
		must.Hold(t, cert != b.String(), "%s: no %s in\n%s", name, old, cert)
		_, err = evidence.ReadCertificate(strings.NewReader(cert), r.H)
		var in *history.InputError
		must.Be(t, errors.As(err, &in) && err.Error() == want, "%s with %s: %v; expected %s", name, new, err, want)
	}
	broken("pred-pwr", `"op":1`, `"op":7`,
		`2: field "op": expected the place of a predicate operation in transaction 1, from 0 to 1`)
	broken("pred-pwr", `"op":1`, `"op":-1`,
		`2: field "op": expected the place of a predicate operation in transaction 1, from 0 to 1`)
	broken("pred-pwr", `,"op":1`, ``,
		`2: field "op": expected the place of a predicate operation in transaction 1, from 0 to 1`)
	broken("pred-pwr", `"op":1`, `"op":0`, `2: field "op": operation 0 of transaction 1 is not a predicate operation`)
	broken("pred-pwr", `"key":"x",`, ``, `2: field "key": missing for a dependency pwr`)
	broken("pred-pwr", `"value":{"v":0}`, `"value":{"v":9}`,
		`2: field "value": no operation of the history has the value {"v":9} at key "x"`)
	broken("pred-missed", `"key":"x"`, `"key":null`, `2: field "key": the history has no key null`)
	broken("pred-missed", `,"key":"x"`, ``, `2: field "key": missing for a predicate operation or a conflict`)
	broken("pred-missed", `"kind":"non-repeatable-read"`, `"kind":"non-readable"`,
		`2: field "kind": "non-readable" is not an anomaly; expected one such as G1c or lost-update`)
	broken("pred-missed", `"kind":"non-repeatable-read"`, `"kind":"G0-session-realtime"`,
		`2: field "kind": "G0-session-realtime" is not an anomaly; expected one such as G1c or lost-update`)
	broken("pred-missed", `"kind":"non-repeatable-read",`, ``, `2: field "kind": missing`)
	broken("pred-missed", `"ops":[[2,0]`, `"ops":[[4,0]`, `2: field "ops": the history has no transaction 4`)
	broken("dead", `"dead":[[[1,0]`, `"dead":[[[1,3]`,
		`2: field "dead": transaction 1 has 3 operations, and none at place 3`)
	broken("no-version-order", `"cycles":[[{"from":1`, `"cycles":[[{"from":7`,
		`2: field "from": the history has no transaction 7`)
	broken("no-version-order", `"to":0`, `"to":8`, `2: field "to": the history has no transaction 8`)
	broken("many-cases", `"writer":5`, `"writer":6`, `2: field "writer": the history has no transaction 6`)
	broken("many-cases", `"anomalies":1`, `"anomalies":2`, `2: the certificate ends too early`)
	broken("many-cases", `"txns":[1`, `"txns":[{},1`, `2: field "txns": a JSON object; expected int64`)
	broken("valid-weak", `"sources":1`, `"sources":9`, `1: field "sources": 9 for 3 operations`)
	broken("valid-weak", `"sources":1`, `"sources":-1`, `1: field "sources": -1 for 3 operations`)
	broken("valid-weak", `[[3,0,`, `[[3,1,`, `3: field "sources": transaction 3 has 1 operation, and none at place 1`)
	broken("valid-weak", `[[3,0,`, `[[null,0,`, `3: field "sources": expected [reader, place, writer or null], and also the key for a predicate operation`)
	broken("valid-weak", `[[3,0,2]]`, `[[3,0,4]]`, `3: field "sources": the history has no transaction 4`)
	broken("valid-weak", `[[3,0,2]]`, `[]`, `3: field "sources": found 0 entries in the line; expected 1 to 1`)
	broken("valid-weak", `[[3,0,2]]`, `[[3,0,1],[3,0,2]]`,
		`3: field "sources": found 2 entries in the line; expected 1 to 1`)
	broken("valid-weak", `[[3,0,2]]`, `{}`, `3: a JSON object; expected [][]json.RawMessage`)
	broken("valid-weak", "[[3,0,2]]\n", ``, `2: the certificate ends too early`)
	broken("valid-weak", `[[3,0,2]]`, `[[3,0,null]] 5`,
		`3: invalid character '5' after top-level value; expected a line of an isovet certificate`)
	broken("ts-ext", `"level"`, `"read_only_at":"end","level"`, `1: field "read_only_at": "end"; expected "start"`)
}

// Other writers of JSON may escape and space what they write as they like.
func TestCertificateOfOthers(t *testing.T) {
	h := readText(t, `{"id":1,"ops":[["r","k\"é","a b"],["w","k\"é",{"a":1,"b":2}]]}
{"id":99999999999999999,"ops":[["r","k\"é","a b"],["w","k\"é","ü"]]}
{"id":-5,"init":true,"ops":[["w","k\"é","a b"]]}
`)
	key, same := "\"k\\\"\\u00e9\"", "\"k\\\"é\""
	head := `{"format":"isovet-certificate","version":1,"level":"serializable","verdict":"violation",` +
		`"history":{"txns":3,"ops":5,"sha256":"` + evidence.ContentHash(h) + `"},"anomalies":1}` + "\n\n"
	cert := func(key, big string) string {
		return head + ` { "kind" : "lost-update", "txns": [1, ` + big + `], "cycle": [` +
			`{"from":1,"to":` + big + `,"dep":"rw","key":` + key + `,"value": "a\u0020b"}, ` +
			`{"from":` + big + `,"to":1,"dep":"rw","writer":-5,"key":` + key + `,"value":"a b"}] }` + "\n \n"
	}
	var first *evidence.Result
	for _, key := range []string{same, key} {
		r := must.Get(evidence.ReadCertificate(strings.NewReader(cert(key, "99999999999999999")), h))(t)
		if first == nil {
			first = r
		}
		e, f := r.Anomalies[0].Cycle[0], r.Anomalies[0].Cycle[1]
		must.Be(t, e.Key == 0 && e.Ver == h.Ops.Ver[0] && e.From == 0 && e.To == 1 && f.Writer == h.Init && f.From == 1,
			"%+v %+v", e, f)
	}
	_, err := evidence.ReadCertificate(strings.NewReader(cert(key, "99999999999999998")), h)
	if want := `3: field "txns": the history has no transaction 99999999999999998`; err == nil || err.Error() != want {
		t.Errorf("%v; expected %s", err, want)
	}
	valid := strings.NewReplacer("violation", "valid", `"anomalies":1`, `"order":2`).Replace(head)
	for order, want := range map[string][]uint32{"[99999999999999999,1]": {1, 0}, "[1]\n[ 99999999999999999 ]": {0,
		1}} {
		r, err := evidence.ReadCertificate(strings.NewReader(valid+order), h)
		must.Be(t, err == nil && slices.Equal(r.Order, want), "%s: %v %+v", order, err, r)
	}
	for _, bad := range []string{"-", "1e3", "9999999999999999999999", "0x1", "+1", ""} {
		r, err := evidence.ReadCertificate(strings.NewReader(valid+"[1,"+bad+" ]"), h)
		must.Be(t, err != nil && strings.Contains(err.Error(), "expected a transaction id"),
			"%q is read as an id: %v %v", bad, err, r)
	}
}

// A report's mechanisms are counted together.
func TestMechanisms(t *testing.T) {
	m := evidence.Mechanisms{Found: map[string]int{"CR": 2, "FUW": 3}}
	if m.Total() != 5 || (&evidence.Mechanisms{}).Total() != 0 {
		t.Error(m.Total())
	}
	r := evidence.Result{Items: true, Timestamps: true, Level: level.Causal}
	must.Equal(t, r.Label(), "items:ts:causal", "the label")
	if err := evidence.WriteCertificate(&bytes.Buffer{}, &r); err == nil {
		t.Error("a certificate of no history")
	}
}
