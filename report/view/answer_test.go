package view

import (
	"net/http"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/must"
	"isovet/level"
)

// done asks for something, waits for what was begun, and returns the number of the answer.
func done(t *testing.T, s *Server, what string) int {
	t.Helper()
	status, body, _ := asked(t, "POST", s.URL()+"api/1/"+what, posted)
	must.Equal(t, status, 200, "%s %s", what, body)
	b := s.book(1)
	b.group.Wait()
	j := b.job.state()
	must.Hold(t, j.Over && j.Error == "", "%s: %+v", what, j)
	return j.Answer
}

// TestAnswers: what is saved is what it says: the certificate proves the violation, the smallest history shows it too,
// and its certificate proves that; all levels are told, and the page of evidence may be framed by this one alone.
func TestAnswers(t *testing.T) {
	s := served(t, Options{Paths: []string{skewed(t, 200)}, Level: level.Serializable})
	b := ready(t, s)
	n := done(t, s, "check?level=serializable&checker=auto")
	a := got[answerJSON](t, s.URL()+"api/1/answer?n=1")
	if n != 1 || a.Verdict != "violation" || len(a.Anomalies) != 1 || len(a.Anomalies[0].Txns) != 2 ||
		len(a.Anomalies[0].Cycles) != 1 || !strings.Contains(a.Text, "write-skew") {
		t.Fatalf("%d: %+v", n, a)
	}
	saved := func(name string) (string, http.Header) {
		status, body, h := asked(t, "GET", s.URL()+"book/1/"+name, nil)
		must.Equal(t, status, 200, "%s %s", name, body)
		return body, h
	}
	proved := func(cert string, h *history.History) {
		t.Helper()
		if r, err := certify.Verify(strings.NewReader(cert), h, certify.Options{}); err != nil ||
			r.Verdict != evidence.Violated {
			t.Errorf("%v: %v", r, err)
		}
	}
	cert, _ := saved("answer-1.cert.json")
	proved(cert, b.axis.h)
	if status, _, _ := asked(t, "GET", s.URL()+"book/1/small-1.jsonl", nil); status != 404 {
		t.Errorf("a smallest history that nobody has looked for: %d", status)
	}
	done(t, s, "shrink?n=1")
	text, h := saved("small-1.jsonl")
	must.Equal(t, h.Get("Content-Disposition"), `attachment; filename=skewed-small-1.jsonl`, "the name of the file")
	small, err := jsonl.Read([]byte(text), "small")
	if err != nil || small.NumTxns() > 4 {
		t.Fatalf("%d transactions, %v", small.NumTxns(), err)
	}
	cert, _ = saved("small-1.cert.json")
	proved(cert, small)
	page, h := saved("answer-1.html")
	if csp := h.Get("Content-Security-Policy"); csp != "frame-ancestors 'self'" ||
		!strings.Contains(page, "script-src") {
		t.Error(csp)
	}

	done(t, s, "check?level=all")
	a = got[answerJSON](t, s.URL()+"api/1/answer?n=2")
	verdicts := map[string]string{}
	for _, r := range a.Rows {
		verdicts[r.Level] = r.Verdict
		must.Equal(t, r.Verdict == "violation", r.Jump >= 0, "%+v", r)
	}
	if len(verdicts) != len(level.All()) || verdicts["serializable"] != "violation" ||
		verdicts["snapshot-isolation"] != "valid" {
		t.Error(verdicts)
	}
	done(t, s, "check?level=snapshot-isolation&checker=bc")
	if st := got[stateJSON](t, s.URL()+"api/1/state"); len(st.Answers) != 3 || st.Answers[2].Verdict != "valid" ||
		st.Answers[2].Checker != "bc" {
		t.Errorf("%+v", st.Answers)
	}
	for _, name := range []string{"answer-2.html", "answer-3.html"} {
		if page, _ := saved(name); !strings.Contains(page, "<h2>") {
			t.Errorf("%s has no sections", name)
		}
	}
	done(t, s, "check?level=linearizable&checker=chronos") // which does not decide it
	if a := got[answerJSON](t, s.URL()+"api/1/answer?n=4"); a.Verdict != "unknown" || a.Reason == "" {
		t.Errorf("%+v", a.answerSummary)
	}
}

// TestCertificate: a certificate is replayed and shown first; one of another history ends the server.
func TestCertificate(t *testing.T) {
	path := skewed(t, 200)
	first := served(t, Options{Paths: []string{path}})
	ready(t, first)
	done(t, first, "check?level=serializable")
	cert := t.TempDir() + "/h.cert"
	write(t, cert, first.book(1).answer(1))
	s := served(t, Options{Paths: []string{path}, Certificate: cert})
	ready(t, s)
	st := got[stateJSON](t, s.URL()+"api/1/state")
	if len(st.Answers) != 1 || st.Answers[0].Certificate != "h.cert" || st.Answers[0].Refuted != "" ||
		st.Answers[0].Verdict != "violation" {
		t.Errorf("%+v", st.Answers)
	}
	other := must.Get(New(t.Context(), Options{Name: "o", Paths: []string{skewed(t, 100)}, Certificate: cert}))(t)
	if err := other.Serve(); err == nil || !strings.Contains(err.Error(), "another history") {
		t.Error(err)
	}
}
