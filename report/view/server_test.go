package view

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/slice"
	"isovet/internal/test/must"
)

// asked is what a server answers to a request; change may alter it before it is sent.
func asked(t *testing.T, method, url string, change func(r *http.Request)) (status int, body string, h http.Header) {
	t.Helper()
	r := must.Get(http.NewRequestWithContext(t.Context(), method, url, nil))(t)
	if change != nil {
		change(r)
	}
	c := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	a := must.Get(c.Do(r))(t)
	defer a.Body.Close()
	b := must.Get(io.ReadAll(a.Body))(t)
	return a.StatusCode, string(b), a.Header
}

// got reads an answer in JSON.
func got[T any](t *testing.T, url string) (out T) {
	t.Helper()
	status, body, _ := asked(t, "GET", url, nil)
	if err := json.Unmarshal([]byte(body), &out); err != nil || status != 200 {
		t.Fatalf("%s: %d, %v: %.300s", url, status, err, body)
	}
	return out
}

// ready waits until the table of keys of the first history is there.
func ready(t *testing.T, s *Server) *book {
	t.Helper()
	b := s.book(1)
	<-b.loaded
	b.group.Wait()
	must.OK(t, b.err)
	return b
}

// posted asks for something as the page's script does.
func posted(r *http.Request) { r.Header.Set("X-Isovet-View", "1") }

// TestWhoMayAsk: without the token, by another name, by another method or from another site nothing is told, and
// nothing allows another site to read.
func TestWhoMayAsk(t *testing.T) {
	s := served(t, Options{Paths: []string{skewed(t, 200)}})
	ready(t, s)
	base := "http://" + s.ln.Addr().String()
	secret := "skewed.jsonl"
	for name, c := range map[string]struct {
		method, url string
		change      func(r *http.Request)
		want        int
	}{
		"the page":       {"GET", s.URL(), nil, 200},
		"a question":     {"GET", s.URL() + "api/1/state", nil, 200},
		"no token":       {"GET", base + "/", nil, 403},
		"a wrong token":  {"GET", base + "/AAAAAAAAAAAAAAAAAAAAAAAAAA/api/1/state", nil, 403},
		"half the token": {"GET", base + "/" + s.token[:10] + "/api/1/state", nil, 403},
		"no token, file": {"GET", base + "/web/app.js", nil, 403},
		"no token, up":   {"GET", base + "/x/../" + "api/1/state", nil, 403},
		"another name": {"GET", s.URL() + "api/1/state", func(r *http.Request) {
			r.Host = "evil.example:" + strings.Split(base, ":")[2]
		}, 421},
		"another port": {"GET", s.URL() + "api/1/state", func(r *http.Request) { r.Host = "127.0.0.1:1" }, 421},
		"to change":    {"DELETE", s.URL() + "api/1/state", nil, 405},
		"put":          {"PUT", s.URL() + "api/1/state", nil, 405},
		"a form":       {"POST", s.URL() + "api/1/check?level=serializable", nil, 403},
		"another site": {"POST", s.URL() + "api/1/cancel", func(r *http.Request) {
			posted(r)
			r.Header.Set("Origin", "http://evil.example")
		}, 403},
		"its fetch": {"POST", s.URL() + "api/1/cancel", func(r *http.Request) {
			posted(r)
			r.Header.Set("Sec-Fetch-Site", "cross-site")
		}, 403},
		"the page's script":  {"POST", s.URL() + "api/1/cancel", posted, 200},
		"the token alone":    {"GET", base + "/" + s.token, nil, 308},
		"out of the files":   {"GET", s.URL() + "web/..%2fserver.go", nil, 404},
		"no such history":    {"GET", s.URL() + "api/7/state", nil, 404},
		"no such answer":     {"GET", s.URL() + "book/1/answer-9.html", nil, 404},
		"no results":         {"GET", s.URL() + "results/", nil, 404},
		"no watch":           {"GET", s.URL() + "api/watch", nil, 404},
		"a level that isn't": {"POST", s.URL() + "api/1/check?level=none", posted, 400},
	} {
		status, body, h := asked(t, c.method, c.url, c.change)
		must.Equal(t, status, c.want, "%s: %.200s", name, body)
		if status >= 400 && strings.Contains(body, secret) {
			t.Errorf("%s: %d tells %q", name, status, body)
		}
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") ||
			strings.Contains(csp, "unsafe") {
			t.Errorf("%s: policy %q", name, csp)
		}
		must.Equal(t, h.Get("Access-Control-Allow-Origin"), "", "%s: who else may read", name)
	}
}

// TestLoopbackAlone: addresses that others can reach are refused.
func TestLoopbackAlone(t *testing.T) {
	path := skewed(t, 50)
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1", "x"} {
		if s, err := New(t.Context(), Options{Addr: addr, Paths: []string{path}}); err == nil {
			s.ln.Close()
			t.Errorf("%s is taken", addr)
		}
	}
	for _, addr := range []string{"127.0.0.1:0", "localhost:0", "127.1.2.3:0"} {
		must.OK(t, loopback(addr))
	}
}

// TestNothingToRead: a history that cannot be read ends the server with what is wrong.
func TestNothingToRead(t *testing.T) {
	bad := written(t, "bad.jsonl", func(f *os.File) error {
		_, err := f.WriteString("{\"id\":1,\"ops\":[[\"r\",\"x\"\n")
		return err
	})
	s := must.Get(New(t.Context(), Options{Name: bad, Paths: []string{bad}}))(t)
	if err := s.Serve(); err == nil || !strings.Contains(err.Error(), "bad.jsonl:1") {
		t.Errorf("%v", err)
	}
	for _, path := range []string{t.TempDir(), filepath.Join(t.TempDir(), "none.jsonl")} {
		if _, err := New(t.Context(), Options{Paths: []string{path}}); err == nil {
			t.Errorf("%s is taken", path)
		}
	}
}

// TestPage: a page alone is sent as it is.
func TestPage(t *testing.T) {
	s := must.Get(New(t.Context(), Options{Name: "h", Paths: []string{"none"}, Page: []byte("<p>x</p>")}))(t)
	t.Cleanup(func() { s.ln.Close() })
	go s.http.Serve(s.ln)
	if status, body, _ := asked(t, "GET", s.URL(), nil); status != 200 || body != "<p>x</p>" {
		t.Errorf("%d %q", status, body)
	}
}

// TestEnds: the end of the context ends the server, a check that goes on included.
func TestEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := must.Get(New(ctx, Options{Name: "x", Paths: []string{skewed(t, 500)}}))(t)
	ready(t, s)
	if err := s.book(1).begin("check", "a long one", func(ctx context.Context, j *job) (int, error) {
		<-ctx.Done()
		return 0, context.Cause(ctx)
	}); err != nil {
		t.Fatal(err)
	}
	must.Equal(t, s.book(1).begin("check", "another", nil), errBusy, "two checks at once")
	time.AfterFunc(time.Millisecond, cancel)
	must.OK(t, s.Serve())
	s.book(1).group.Wait()
}

// TestFault: a panic of a check is told as a fault, and the next check can begin.
func TestFault(t *testing.T) {
	s := served(t, Options{Paths: []string{skewed(t, 50)}})
	b := ready(t, s)
	must.OK(t, b.begin("check", "x", func(context.Context, *job) (int, error) { panic("of a test") }))
	b.group.Wait()
	if j := b.job.state(); !j.Over || !strings.Contains(j.Error, "bug in isovet") {
		t.Errorf("%+v", j)
	}
	must.OK(t, b.begin("check", "y", func(context.Context, *job) (int, error) { return 0, nil }))
}

// built makes a history of what f adds.
func built(t *testing.T, f func(b *history.Builder)) *history.History {
	t.Helper()
	b := history.NewBuilder()
	f(b)
	return must.Get(b.Build())(t)
}

// held is a book of a history in memory, with its table of keys.
func held(t *testing.T, h *history.History) *book {
	t.Helper()
	b := heldBook(t.Context(), 1, "held", h)
	b.group.Wait()
	return b
}

// write writes the certificate of an answer.
func write(t *testing.T, path string, a *answer) {
	t.Helper()
	f := must.Get(os.Create(path))(t)
	must.OK(t, errors.Join(evidence.WriteCertificate(f, a.r), f.Close()))
}

// TestSearch: transactions, sessions, keys and values are found; odd questions find nothing, and harm nothing.
func TestSearch(t *testing.T) {
	h := built(t, func(b *history.Builder) {
		for i, name := range []string{"apple", "apple pie", "12"} {
			k := b.Key(b.StringValue([]byte(name)))
			head := history.NewTxnHead()
			head.HasID, head.ID, head.HasSess, head.Session = true, int64(10+i), true, int64(i)
			b.Write(k, history.IntValue(int64(12*i)))
			b.Write(k, b.StringValue([]byte("red")))
			b.EndTxn(head)
		}
	})
	b := held(t, h)
	for q, want := range map[string]string{
		"T11": "transaction T11", "apple": "key apple|key \"apple pie\"", "session 2": "session session 2",
		"12":        "transaction T12|key \"12\"|value \"apple pie\" = 12",
		"red":       "value apple = \"red\"|value \"apple pie\" = \"red\"|value \"12\" = \"red\"",
		"apple=red": "value apple = \"red\"", "": "", "  ": "", "T": "", "=": "", "x=": "", "T99999999999999999999": "",
		"nothing": "", "\x00": "",
	} {
		found := slice.Map(b.search(q), func(f foundJSON) string { return f.What + " " + f.Name })
		must.Equal(t, strings.Join(found, "|"), want, "%q", q)
	}
}

// TestOddParameters: whatever numbers are asked for, there is an answer, and none of a fault.
func TestOddParameters(t *testing.T) {
	s := served(t, Options{Paths: []string{skewed(t, 100)}})
	ready(t, s)
	for _, q := range []string{"window?from=-1e300&to=1e300&row=-5&rows=1e9&bins=1e9", "window?from=9&to=1", "window",
		"window?from=NaN&to=Inf&bins=0", "overview?bins=-1", "overview?bins=1e300", "txn?t=-1", "txn?t=1e18", "txn?t=x",
		"deps?t=4294967295", "deps?t=1", "keys?page=-1", "keys?page=1e9&sort=none&asc=1", "key?key=-1", "key?key=1e12",
		"key?key=1&page=99", "answer?n=0", "answer?n=x", "search?q=%ff%fe", "none"} {
		if status, body, _ := asked(t, "GET", s.URL()+"api/1/"+q, nil); status >= 500 {
			t.Errorf("%s: %d %s", q, status, body)
		}
	}
}

// TestRun: only the viewer's own page may frame the page of the run, and odd parameters do no harm.
func TestRun(t *testing.T) {
	s := served(t, Options{Paths: []string{skewed(t, 100)}})
	ready(t, s)
	for q, want := range map[string]string{"": `class="run"`, "?key=1&from=50": `class="jepsen"`, "?key=1e12": "",
		"?key=-2&from=x": ""} {
		status, body, h := asked(t, "GET", s.URL()+"book/1/run.html"+q, nil)
		must.Equal(t, h.Get("Content-Security-Policy"), "frame-ancestors 'self'", "who may frame it")
		must.Be(t, status == 200 && strings.Contains(body, want) && strings.Count(body, "<script") == 1,
			"%s: %d, no %s in %.300s", q, status, want, body)
	}
}

// TestRestsIsAList: an edge that rests on no single operation, such as one between predicate writes, has a list.
func TestRestsIsAList(t *testing.T) {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "booking", Txns: 50, Seed: 7}))(t)
	for _, dep := range []evidence.Dep{evidence.SO, evidence.RT, evidence.WR} {
		for to := range uint32(50) {
			e := evidence.Edge{From: to + 1, To: to, Writer: history.None, Dep: dep}
			b, err := json.Marshal(newEdgeJSON(&evidence.Result{H: h}, nil, e, true, ""))
			must.Hold(t, err == nil && !strings.Contains(string(b), "null"), "%s, %v", b, err)
		}
	}
}

// TestMissedRows: around a condition that missed a row stand who had left the row so and who made it match, from either
// end; what the history shows is told from what real time rules out, and nothing is reported where two versions are
// left.
func TestMissedRows(t *testing.T) {
	const head = `{"format":"isovet-history","version":1}` + "\n"
	txn := func(id, start int, ops string) string {
		return fmt.Sprintf(`{"id":%d,"session":%d,"start":%d,"end":%d,"ops":[%s]}`+"\n", id, id, start, start+10, ops)
	}
	const missed = `["pr",{"a":{"=":1}},[]]`
	for _, c := range []struct {
		name, text string
		want       []string // kind, from, to, whether known
	}{
		{"a row that was inserted once", txn(1, 0, missed) + txn(2, 5, `["w","x",{"a":1,"u":1}]`),
			[]string{"prw 1 2 true"}},
		{"a row that was made false, and true later", txn(1, 0, `["w","x",{"a":0,"u":1}]`) + txn(2, 20, missed) +
			txn(3, 40, `["w","x",{"a":1,"u":2}]`), []string{"pwr 1 2 false", "prw 2 3 false"}},
		{"nothing rules the first version out", txn(1, 0, `["w","x",{"a":0,"u":1}]`) + txn(2, 5, missed) +
			txn(3, 8, `["w","x",{"a":1,"u":2}]`), nil},
		{"its own write", txn(1, 0, `["w","x",{"a":0,"u":1}],`+missed) + txn(2, 5, `["w","x",{"a":1,"u":2}]`), nil},
		{"a row of another condition", txn(1, 0, missed) + txn(2, 5, `["w","x",{"a":2,"u":1}]`), nil},
	} {
		h := must.Get(jsonl.Read([]byte(head+c.text), "h"))(t)
		b := held(t, h)
		var got []string
		for u := range uint32(h.NumTxns()) {
			for _, e := range b.deps(u).Edges {
				if !strings.HasPrefix(e.Dep, "p") {
					continue
				}
				one := fmt.Sprintf("%s %d %d %v", e.Dep, h.Txns.ID[e.From], h.Txns.ID[e.To], e.Known)
				if e.Why == "" || len(e.Rests) == 0 || !e.Known && e.By == "" {
					t.Errorf("%s: no reason: %+v", c.name, e)
				}
				got = append(got, one)
			}
		}
		var want []string
		for _, e := range c.want {
			want = append(want, e, e) // around either end
		}
		slices.Sort(got)
		slices.Sort(want)
		must.Be(t, slices.Equal(got, want), "%s: %q; expected %q", c.name, got, want)
	}
}
