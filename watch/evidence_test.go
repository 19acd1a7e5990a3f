package watch

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/check"
	"isovet/check/mechanism"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// proofsOf looks at the histories of a folder's incidents: a checker finds the violation in each, and its certificate
// is one; it returns how many there are, and how many of them have a certificate.
func proofsOf(t *testing.T, dir string, all *Incidents, checker string, o check.Options) (histories, certified int) {
	t.Helper()
	listed := map[string]bool{}
	for _, x := range all.List() {
		for _, has := range x.Evidence {
			if has.History == "" {
				must.Equal(t, has.Why == "", false, "incident %d: neither a history nor why not: %+v", x.ID, has)
				continue
			}
			histories++
			path := filepath.Join(dir, has.History)
			listed[path] = true
			h := must.Get(format.Read(t.Context(), path, format.Options{}))(t)
			if n := h.NumTxns(); n > 40 && checker == "chronos" || n > 100 {
				t.Errorf("%s has %d transactions", path, h.NumTxns())
			}
			must.Equal(t, slices.Max(h.SessName) != history.NoTime, true, "%s: sessions", path)
			if has.Certificate == "" {
				must.Equal(t, !strings.Contains(has.Why, "profile"), false, "%s: no certificate: %q", path, has.Why)
				c := must.Get(check.ByName("leopard"))(t)
				r, err := check.Run(t.Context(), c, h, o)
				must.Be(t, err == nil && r.Verdict != evidence.Holds, "%s: leopard says %v, %v", path, r.Verdict, err)
				continue
			}
			listed[filepath.Join(dir, has.Certificate)] = true
			certified++
			text := must.Get(os.ReadFile(filepath.Join(dir, has.Certificate)))(t)
			if r, err := certify.Verify(bytes.NewReader(text), h, certify.Options{}); err != nil ||
				r.Verdict != evidence.Violated {
				t.Errorf("%s: %v", has.Certificate, err)
			}
			if checker == "" {
				continue
			}
			if checker == "auto" {
				c, ok := check.Auto(h, o.Level)
				must.Hold(t, ok, "%s: no checker", path)
				if r, err := check.Run(t.Context(), c, h, check.Options{Level: o.Level}); err != nil ||
					r.Verdict != evidence.Violated {
					t.Errorf("%s: check says %v, %v", path, r.Verdict, err)
				}
				continue
			}
			c := must.Get(check.ByName(checker))(t)
			if r, err := check.Run(t.Context(), c, h, o); err != nil || r.Verdict != evidence.Violated {
				t.Errorf("%s: %s says %v, %v", path, checker, r.Verdict, err)
			} else if !slices.ContainsFunc(r.Anomalies, func(a evidence.Anomaly) bool {
				// At the serializable levels a window does not know when its writer began.
				return string(a.Kind) == x.Class && (x.Class != "EXT" || x.Kind == "" || a.Why == x.Kind ||
					o.Level.Serial())
			}) {
				t.Errorf("%s: %s finds %+v; expected %s %s", path, checker, r.Anomalies, x.Class, x.Kind)
			}
		}
	}
	files := must.Get(filepath.Glob(filepath.Join(dir, evidenceFolder, "*")))(t)
	for _, name := range files {
		must.Equal(t, !listed[name], false, "%s belongs to no incident", name)
	}
	return histories, certified
}

// TestEvidence: the first violations of each incident have small histories that show them, with certificates.
func TestEvidence(t *testing.T) {
	for _, isolation := range []string{"read-uncommitted", "read-committed"} {
		lines := badLines(t, isolation, histtest.Long(60, 100))
		for _, o := range []check.Options{{Level: level.SessionSnapshotIsolation}, {Level: level.Serializable,
			ReadOnlyAtStart: true}} {
			opts := si
			opts.Level, opts.ReadOnlyAtStart = o.Level, o.ReadOnlyAtStart
			dir := t.TempDir()
			_, all, _ := grouped(t, dir, aionOf(opts, 400), lines, func(c *Config) { c.Evidence = 100 })
			n, certified := proofsOf(t, dir, all, "chronos", o)
			must.Equal(t, n < 10 || certified < n, false, "%s: %d histories, %d certified", isolation, n, certified)
			t.Logf("%v: %d histories, %d certified, %d incidents", o.Level, n, certified, len(all.List()))
		}
	}
}

// TestEvidenceOfMechanisms is the same of leopard.
func TestEvidenceOfMechanisms(t *testing.T) {
	n, certified := 0, 0
	for _, name := range []string{"postgresql:serializable", "postgresql:repeatable-read", "store:serializable"} {
		p := profileOf(t, name)
		dir := t.TempDir()
		m := brokenRun(t, "blindw", "snapshot", "version", 0, histtest.Long(250, 400))
		_, all, _ := grouped(t, dir, leopardOf(t, LeopardOptions{Lateness: AllLate, Profile: p}), m.lines,
			func(c *Config) { c.Evidence = 100 })
		a, b := proofsOf(t, dir, all, "auto", check.Options{Level: p.Level, Profile: p})
		n, certified = n+a, certified+b
	}
	must.Equal(t, n < 5 || certified < 3, false, "%d histories, %d certified", n, certified)
	t.Logf("%d histories, %d certified", n, certified)
}

// TestEvidenceOfReplay is the same of replay, whose violations are all certified.
func TestEvidenceOfReplay(t *testing.T) {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "rmw", Txns: 60, Sessions: 12, Keys: 10,
		Isolation: "read-committed", Times: datasets.TxnTimes, Seed: 5}))(t)
	lines := streamOf(t, h, rand.New(rand.NewPCG(5, 5)))
	for i := range lines {
		lines[i] = append(lines[i], '\n')
	}
	for _, l := range []level.Level{level.Serializable, level.StrictSnapshotIsolation} {
		for _, most := range []int{0, 4, 100}[histtest.Long(1, 0):] {
			dir := t.TempDir()
			j := replayOf(t, ReplayOptions{Level: l, Lateness: AllLate})
			_, all, s := grouped(t, dir, j, lines, func(c *Config) { c.Evidence = most })
			n, certified := proofsOf(t, dir, all, "auto", check.Options{Level: l})
			if s.Violations[violated] < 20 || n > most || n < min(most, 5) || certified < n {
				t.Errorf("%s: %v, %d histories, %d certified; expected up to %d", l, s.Violations, n, certified, most)
			}
		}
	}
}

// TestEvidenceOfSessions: sessions are in the histories, with their order, that of arrival where nothing else says it.
func TestEvidenceOfSessions(t *testing.T) {
	for _, seq := range []string{"", `"seq":%d,`} {
		var lines [][]byte
		for i, at := range [][2]int{{10, 20}, {15, 30}, {40, 50}, {35, 38}, {60, 70}} {
			text := seq
			if seq != "" {
				text = fmt.Sprintf(seq, i)
			}
			lines = append(lines, fmt.Appendf(nil, `{"id":%d,"session":7,%s"start_ts":%d,"commit_ts":%d,`+
				`"ops":[["w","k%d",%d]]}`+"\n", 100+i, text, at[0], at[1], i, i))
		}
		dir := t.TempDir()
		_, all, s := grouped(t, dir, aionOf(si, 400), lines, func(c *Config) { c.Evidence = 100 })
		n, certified := proofsOf(t, dir, all, "chronos", check.Options{Level: level.SessionSnapshotIsolation})
		if s.Violations["SESSION"] != 2 || n != 2 || certified != 2 {
			t.Errorf("%v, %d histories, %d certified", s.Violations, n, certified)
		}
	}
	got := ranks([]sessionPlace{{sess: 1, at: 5, hasSess: true}, {},
		{sess: 1, at: 3, hasSess: true, seq: 9, hasSeq: true},
		{sess: 2, seq: 4, at: 1, hasSess: true, hasSeq: true}, {sess: 2, seq: 2, at: 8, hasSess: true, hasSeq: true}})
	if want := []int64{1, -1, 0, 1, 0}; !slices.Equal(got, want) {
		t.Errorf("ranks %v; expected %v", got, want)
	}
}

// TestEvidenceBound: there are no more than were wanted, and files of those that are not listed are gone.
func TestEvidenceBound(t *testing.T) {
	lines := badLines(t, "read-uncommitted", 100)
	for _, most := range []int{0, 7} {
		dir := t.TempDir()
		_, all, _ := grouped(t, dir, aionOf(si, 400), lines, func(c *Config) { c.Evidence = most })
		n, _ := proofsOf(t, dir, all, "", check.Options{})
		must.Equal(t, n, most, "histories")
	}
}

// TestEvidenceGone: of transactions that are not kept any more there is no history, and the incident says so.
func TestEvidenceGone(t *testing.T) {
	other := int64(6)
	j := aionOf(si, 1).(*aion)
	p, err := j.prove(&Log{dir: t.TempDir()}, &Violation{Axiom: "NOCONFLICT", Txn: 5, Other: &other})
	must.Be(t, err == nil && p.H == nil && strings.Contains(p.Why, "transaction 5 is not in"), "%+v, %v", p, err)
}

// TestCheckTakesProofs: of each proved line a plain check of the evidence, at the level that its header names, says
// violation, and the line names the same level.
func TestCheckTakesProofs(t *testing.T) {
	seen := map[level.Level]int{}
	take := func(name string, alarms []alarm) {
		for _, x := range alarms {
			var file bytes.Buffer
			must.OK(t, jsonl.Write(&file, x.h))
			h := must.Get(jsonl.Read(file.Bytes(), "evidence"))(t)
			at, why := mechanism.LevelOf(h.Meta.DB, h.Meta.Isolation)
			var said struct{ Level level.Level }
			if err := json.Unmarshal([]byte(x.line), &said); err != nil || why == "" || said.Level != at {
				t.Fatalf("%s: the header says %v (%s): %v; %s", name, at, why, err, x.line)
			}
			c, ok := check.Auto(h, at)
			if !ok {
				t.Fatalf("%s: no checker decides %v of\n%s", name, at, &file)
			}
			r, err := check.Run(t.Context(), c, h, check.Options{Level: at})
			if err != nil || r.Verdict != evidence.Violated {
				t.Fatalf("%s: %v, %v at %v; %s\n%s", name, r.Verdict, err, at, x.line, &file)
			}
			seen[at]++
		}
	}
	turn, every := 0, histtest.Long(3, 1) // a run by one of the levels, by turns
	eachBroken(t, histtest.Long[uint64](1, 40), func(m *mechanisms) {
		j := leopardOf(t, LeopardOptions{Skew: m.skew, Lateness: m.apart})
		take("leopard "+m.name, alarmsOf(t, j, m.lines, 64, false))
		turn++
		for i, l := range []level.Level{level.Serializable, level.StrictSerializable, level.SnapshotIsolation} {
			if (i+turn)%every > 0 || strings.HasPrefix(m.name, "list-append") {
				continue // replay reads no lists
			}
			j := replayOf(t, ReplayOptions{Level: l, Skew: m.skew, Lateness: m.apart})
			take("replay "+m.name, alarmsOf(t, j, m.lines, 64, false))
		}
	})
	must.Equal(t, len(seen) < 3, false, "proofs of %v: too few levels to be a test", seen)
	t.Logf("%v", seen)
}

// trusting is a client that trusts one certificate, with connections of its own.
func trusting(cert []byte) *http.Client {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{RootCAs: pool}}}
}
