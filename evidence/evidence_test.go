package evidence_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

func check(t *testing.T, text string, l level.Level) *evidence.Result {
	t.Helper()
	return must.Get(oracle.Check(oracletest.Parse(text), oracle.Options{Level: l}))(t)
}

// Classes of cycles by their edges, with Adya's and Elle's names.
func TestClassify(t *testing.T) {
	for text, want := range map[string]level.Anomaly{
		"ww0 ww0":             level.G0,
		"ww0 so":              "G0-session",
		"ww0 ww0 so":          "G0-session",
		"ww0 rt":              "G0-realtime",
		"ww0 wr0":             level.G1c,
		"wr0 wr1 rt so":       "G1c-realtime",
		"wr0 rt":              "G1c-realtime",
		"ww0 rw0":             level.LostUpdate,
		"rw0 rw0":             level.LostUpdate,
		"rw0 rw1":             level.WriteSkew,
		"wr0 rw1":             level.ReadSkew,
		"ww0 rw1":             level.GSingle,
		"ww0 wr1 rw1":         level.GSingle,
		"ww0 rw1 ww0 rw1":     level.GNonadjacent,
		"wr0 rw1 wr1 rw0":     level.LongFork,
		"rw1 wr1 rw0 wr0":     level.LongFork,
		"rw1 wr1 rw0 ww0":     level.GNonadjacent,
		"wr0 wr1 rw2 rw3":     level.G2Item,
		"rw0 wr1 rw2":         level.G2Item, // the last and the first are adjacent
		"rw0 rw1 rw2":         level.G2Item,
		"rw0 rw1 so":          "G2-item-session",
		"prw0 rw1":            level.G2,
		"prw0 wr1":            level.ReadSkew,
		"prw0 wr1 wr2":        level.GSingle,
		"pwr0 ww1":            level.G1c,
		"rt rw0":              level.StaleRead,
		"so rw0":              level.SessionGuarantee,
		"wr0 so rw0":          "causality-violation-session",
		"wr0 so ww0":          "G1c-session",
		"wr0 wr1 rw0":         level.CausalityViolation,
		"so wr1 so rw0":       "causality-violation-session",
		"rt wr1 rw0":          level.CausalReverse,
		"so rt ww1 rw0":       "G-single-realtime",
		"so so ww0 rw0":       "G-single-session",
		"ww0 rw1 so ww0 rw1":  "G-nonadjacent-session",
		"ww0 rw1 rt ww0 prw1": "G-nonadjacent-realtime",
	} {
		var c []evidence.Edge
		for _, w := range strings.Fields(text) {
			e := evidence.Edge{Key: history.None}
			name := strings.TrimRight(w, "0123456789")
			if name != w {
				fmt.Sscan(w[len(name):], &e.Key)
			}
			must.OK(t, e.Dep.UnmarshalText([]byte(name)))
			c = append(c, e)
		}
		for i := range c {
			turned := append(append([]evidence.Edge{}, c[i:]...), c[:i]...)
			must.Equal(t, evidence.Classify(turned), want, "%s from edge %d", text, i)
		}
	}
}

var six = []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
	level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}

// A certificate is proved against a copy of the history that another file held, in another order. (TestRoundTrips has
// that it reads back as the result it was written from.)
func TestCertificateRoundTrip(t *testing.T) {
	shape := oracletest.Shape{Txns: 5, Keys: 3, Sessions: 3, Ops: 4, Duplicates: true, Deletes: true, Aborted: true,
		Unknown: true, Lists: true, Init: true}
	histtest.Each(t, 1500, func(seed uint64) *history.History {
		return oracletest.Random(seed, shape)
	}, func(t testing.TB, seed uint64, h *history.History) {
		l := six[seed%6]
		r := must.Get(oracle.Check(h, oracle.Options{Level: l}))(t)
		var b bytes.Buffer
		must.OK(t, evidence.WriteCertificate(&b, r))
		turned := reversed(t, h)
		there, err := evidence.ReadCertificate(bytes.NewReader(b.Bytes()), turned)
		must.OK(t, err, "seed %d, reversed\n%s", seed, b.Bytes())
		if err := certify.Check(there, certify.Options{}); err != nil {
			t.Fatalf("seed %d, reversed: %v\n%s\n%s", seed, err, oracletest.String(h), b.Bytes())
		}
	})
}

// reversed is h as another file holds it: with the transactions in the other order, so that all indices differ.
func reversed(t testing.TB, h *history.History) *history.History {
	var b bytes.Buffer
	must.OK(t, jsonl.Write(&b, h))
	lines := strings.SplitAfter(b.String(), "\n")
	slices.Reverse(lines[1:]) // behind the header; each line has its place in its session
	return must.Get(jsonl.Read([]byte(strings.Join(lines, "")), ""))(t)
}

func TestCertificateErrors(t *testing.T) {
	valid := check(t, "T1: w(x,1)\nT2: r(x,1)", level.Serializable)
	violation := check(t, "T1: r(x,0) w(x,1)\nT2: r(x,0) w(x,2)", level.Serializable)
	other := oracletest.Parse("T1: w(x,1)\nT2: r(x,2)")
	text := func(r *evidence.Result) string {
		var b bytes.Buffer
		must.OK(t, evidence.WriteCertificate(&b, r))
		return b.String()
	}
	a, b := text(valid), text(violation)
	for _, c := range []struct {
		cert string
		h    *history.History
		want string
	}{
		{a, other, `field "history": the certificate is for another history`},
		{a, violation.H, "with 2 transactions and 2 operations, not 2 and 4"},
		{"", valid.H, "ends too early"},
		{"x", valid.H, "1: invalid character"},
		{`{"format":"isovet-history"}`, valid.H, `1: field "format": "isovet-history"; expected "isovet-certificate"`},
		{strings.Replace(a, `"version":1`, `"version":2`, 1), valid.H, `field "version": 2; expected 1`},
		{strings.Replace(a, `"version":1`, `"version":"1"`, 1), valid.H,
			`field "version": a JSON string; expected int`},
		{strings.Replace(a, `"serializable"`, `"serial"`, 1), valid.H, `unknown isolation level "serial"`},
		{strings.Replace(a, `"valid"`, `"good"`, 1), valid.H, `unknown verdict "good"`},
		{strings.Replace(a, "[1,2]", "[1,7]", 1), valid.H, "2: the history has no transaction 7"},
		{strings.Replace(a, "[1,2]", "[1,x]", 1), valid.H, `2: "x"; expected a transaction id`},
		{strings.Replace(a, "[1,2]", "[1,2,]", 1), valid.H, `""; expected a transaction id`},
		{strings.Replace(a, "[1,2]", "1,2", 1), valid.H, "expected an array"},
		{strings.Replace(a, "[1,2]", "[1]", 1), valid.H, "ends too early"},
		{strings.Replace(a, "[1,2]", "[1,2,1]", 1), valid.H, "more than 2 ids"},
		{strings.Replace(a, `"order":2`, `"order":2000000000`, 1), valid.H, "2000000000 entries for 2 transactions"},
		{a + "[1]", valid.H, "more than the header announces"},
		{strings.Replace(b, `"key":"x"`, `"key":"q"`, 1), violation.H, `2: field "key": the history has no key "q"`},
		{strings.Replace(b, `"value":0`, `"value":9`, 1), violation.H,
			`field "value": no operation of the history has the value 9 at key "x"`},
		{strings.Replace(b, `"from":1`, `"from":9`, 1), violation.H, `field "from": the history has no transaction 9`},
		{strings.Replace(b, `"txns":[`, `"txns":[9,`, 1), violation.H,
			`field "txns": the history has no transaction 9`},
		{strings.Replace(b, `"dep":"rw"`, `"dep":"wrw"`, 1), violation.H, `unknown dependency "wrw"`},
		{strings.Replace(b, `"cycle":[`, `"ops":[[1,2]],"cycle":[`, 1), violation.H,
			"transaction 1 has 2 operations, and none at place 2"},
	} {
		_, err := evidence.ReadCertificate(strings.NewReader(c.cert), c.h)
		var in *history.InputError
		must.Be(t, err != nil && strings.Contains(err.Error(), c.want) && errors.As(err, &in),
			"%v\nexpected %q of\n%s", err, c.want, c.cert)
	}
}

// The hash is of the content: any change shows, another order in the file does not.
func TestContentHash(t *testing.T) {
	texts := []string{"T1: w(x,1)", "T2: w(x,1)", "T1: w(y,1)", "T1: w(x,2)", "T1: r(x,1)", `T1: w(x,"1")`,
		"T1: a(x,1)", "T1: r(x,[1])", "T1: r(x,[])",
		"T1: w(x,null)", "T1 ABORTED: w(x,1)", "T1 UNKNOWN: w(x,1)", "T1 INIT: w(x,1)", "T1: w(x,1) w(x,1)",
		"T1: w(x,1)\nT2:", "T1: r(x,[1,2])", "T1: r(x,[2,1])"}
	seen := map[string]string{}
	for _, s := range texts {
		hash := evidence.ContentHash(oracletest.Parse(s))
		if twin, ok := seen[hash]; ok {
			t.Errorf("%q and %q have one hash", s, twin)
		}
		seen[hash] = s
	}
	histtest.Each(t, 200, func(seed uint64) *history.History {
		return oracletest.Random(seed, oracletest.Shape{Txns: 5, Keys: 3, Sessions: 3, Ops: 4, Lists: true, Init: true})
	}, func(t testing.TB, seed uint64, h *history.History) {
		must.Equal(t, evidence.ContentHash(reversed(t, h)), evidence.ContentHash(h), "seed %d", seed)
	})
}

func FuzzReadCertificate(f *testing.F) {
	h := oracletest.Parse("T1: r(x,0) w(x,1)\nT2: r(x,0) w(x,2)")
	for _, l := range six[:4] {
		if r, err := oracle.Check(h, oracle.Options{Level: l}); err == nil {
			var b bytes.Buffer
			must.OK(f, evidence.WriteCertificate(&b, r))
			f.Add(b.Bytes())
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		// Whatever the file says, no panic, and nothing made up at random is proved: the history violates these levels.
		if r, err := evidence.ReadCertificate(bytes.NewReader(b), h); err == nil {
			if err := certify.Check(r, certify.Options{}); err == nil && r.Verdict == evidence.Holds &&
				r.Level != level.ReadCommitted {
				t.Fatalf("%s is proved to hold", r.Level)
			}
		}
	})
}
