package seen

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"isovet/internal/test/must"
	"isovet/watch"
)

// watched is a handler of a watch that has found something, and its folder.
func watched(t *testing.T, change func(*Options)) (http.Handler, string) {
	t.Helper()
	b := begin(t, t.TempDir(), "")
	b.send(lost(500, 100, `a&<b>`)...)
	b.end()
	o := Options{Metrics: &b.metrics, Incidents: &b.incidents, Dir: b.dir, Title: "w", Local: true}
	if change != nil {
		change(&o)
	}
	return Handler(o), b.dir
}

func ask(t *testing.T, h http.Handler, method, path string, change func(*http.Request)) *http.Response {
	t.Helper()
	r := httptest.NewRequest(method, path, nil)
	r.Host = "127.0.0.1:9090"
	if change != nil {
		change(r)
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return rec.Result()
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	text := must.Get(io.ReadAll(r.Body))(t)
	return string(text)
}

// TestPage: what the page says without a browser, that it needs nothing from elsewhere, and that nothing is changed.
func TestPage(t *testing.T) {
	h, _ := watched(t, nil)
	r := ask(t, h, http.MethodGet, "/", nil)
	text := body(t, r)
	for _, want := range []string{"1 violation found", "a&amp;&lt;b&gt;", `href="/incidents/1"`, "<h2", "lang=\"en\"",
		`http-equiv="refresh"`, "3 lines in all"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q in\n%s", want, text)
		}
	}
	if got := regexp.MustCompile(`(?i)\s(src|style|on\w+)=|https?://|@import|url\(`).FindAllString(text, -1); got != nil {
		t.Errorf("the page has %q", got)
	}
	policy := r.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'sha256-", "frame-ancestors 'none'",
		"require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, want) || strings.Contains(policy, "unsafe") {
			t.Errorf("nothing of %q in %s", want, policy)
		}
	}
	one := body(t, ask(t, h, http.MethodGet, "/incidents/1", nil))
	for _, want := range []string{"Incident 1: VIOLATION", "T501", "proved: lost-update",
		"/evidence/evidence/"} {
		must.Be(t, strings.Contains(one, want), "nothing of %q in\n%s", want, one)
	}
	for path, want := range map[string]int{"/incidents/2": 404, "/incidents/x": 404, "/incidents/-1": 404, "/x": 404,
		"/favicon.ico": 204, "/metrics": 200, "/incidents/99999999999999999999": 404} {
		must.Equal(t, ask(t, h, http.MethodGet, path, nil).StatusCode, want, "%s", path)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		for _, path := range []string{"/", "/incidents/1", "/metrics"} {
			status := ask(t, h, method, path, nil).StatusCode
			must.Equal(t, status, http.StatusMethodNotAllowed, "%s %s", method, path)
		}
	}
}

// TestEvidence: files that incidents name can be had, and no others, by whatever way to them.
func TestEvidence(t *testing.T) {
	h, dir := watched(t, nil)
	must.OK(t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o600))
	name := "/evidence/evidence/000001.jsonl"
	r := ask(t, h, http.MethodGet, name, nil)
	if text := body(t, r); r.StatusCode != 200 || !strings.Contains(text, `"a&<b>"`) {
		t.Errorf("%d %s", r.StatusCode, text)
	}
	got := r.Header.Get("Content-Type") + r.Header.Get("Content-Disposition")
	must.Be(t, strings.Contains(got, "text/plain") && strings.Contains(got, "attachment"), "it comes as %s", got)
	for _, path := range []string{"/evidence/secret", "/evidence/", "/evidence/evidence/../secret",
		"/evidence/options.json",
		"/evidence/evidence%2f..%2fsecret", "/evidence/..%2f..%2fetc%2fpasswd", "/evidence//etc/passwd"} {
		if got := ask(t, h, http.MethodGet, path, nil); got.StatusCode == 200 {
			t.Errorf("%s: %s", path, body(t, got))
		}
	}
	// a link that leads out of the folder
	file := filepath.Join(dir, "evidence", "000001.jsonl")
	outside := filepath.Join(t.TempDir(), "outside")
	must.OK(t, os.WriteFile(outside, []byte("outside"), 0o600))
	must.OK(t, os.Remove(file))
	must.Equal(t, ask(t, h, http.MethodGet, name, nil).StatusCode, 404, "a file that is gone")
	if err := os.Symlink(outside, file); err != nil {
		t.Skip(err)
	}
	if got := ask(t, h, http.MethodGet, name, nil); got.StatusCode == 200 {
		t.Errorf("a link: %s", body(t, got))
	}
	if text := body(t, ask(t, h, http.MethodGet, "/incidents/1", nil)); !strings.Contains(text, "cannot be read") ||
		strings.Contains(text, "outside") {
		t.Error("the incident's page does not say that the history cannot be read, or shows another")
	}
}

// TestGuarded: who is not let in sees no key; and no other site's page gets at this one by a name of its own.
func TestGuarded(t *testing.T) {
	h, _ := watched(t, func(o *Options) { o.Guarded, o.Local = true, false })
	text := body(t, ask(t, h, http.MethodGet, "/", nil))
	if strings.Contains(text, "&lt;b&gt;") || strings.Contains(text, "T501") ||
		!strings.Contains(text, "1 violation found") ||
		!strings.Contains(text, "--metrics-token-file") {
		t.Errorf("an open page says\n%s", text)
	}
	for _, path := range []string{"/incidents/1", "/evidence/evidence/000001.jsonl"} {
		if r := ask(t, h, http.MethodGet, path, nil); r.StatusCode != 404 || strings.Contains(body(t, r), "T501") {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
	}
	h, _ = watched(t, nil)
	for host, want := range map[string]int{"127.0.0.1:9090": 200, "localhost:9090": 200, "[::1]:9090": 200,
		"localhost":         200,
		"evil.example:9090": 403, "evil.example": 403, "": 403, "127.0.0.1.evil.example": 403} {
		must.Equal(t, ask(t, h, http.MethodGet, "/", func(r *http.Request) { r.Host = host }).StatusCode, want,
			"Host %q", host)
	}
	h, _ = watched(t, func(o *Options) { o.Tokens, o.Local = []string{"one", "two"}, false })
	for _, x := range []struct {
		path, header string
		want         int
	}{{"/", "", 401}, {"/", "Bearer two", 200}, {"/", "Bearer three", 401}, {"/", "Basic dTpvbmU=", 200},
		{"/", "Basic dTp4", 401}, {"/metrics", "", 401}, {"/metrics", "Bearer one", 200}, {"/incidents/1", "", 401},
		{"/healthz", "", 200}, {"/readyz", "", 503}, {"/evidence/x", "", 401}, {"/", "Bearer", 401}} {
		r := ask(t, h, http.MethodGet, x.path, func(r *http.Request) {
			if x.header != "" {
				r.Header.Set("Authorization", x.header)
			}
		})
		must.Equal(t, r.StatusCode, x.want, "%s with %q", x.path, x.header)
	}
}

// TestWords: texts from elsewhere, and sentences.
func TestWords(t *testing.T) {
	for in, want := range map[string]string{"a\u202eb": `a\u202eb`, "abc": "abc", "0123456789abcdefghij": "0123…fghij", "\xff": "�", "a\nb": "a b", "\x00": `\u0000`, "é": "é"} {
		must.Equal(t, shown(in, 10), want, "%q shown", in)
	}
	if got := shown(strings.Repeat("日本", 1<<20), 20); len([]rune(got)) != 20 {
		t.Errorf("%q", got)
	}
	for in, want := range map[string]string{`"x"`: "x", `"4"`: `"4"`, `4`: "4", `"null"`: `"null"`, `null`: "null",
		`"a b"`: `"a b"`, `[1,2]`: "[1,2]", `""`: `""`} {
		must.Equal(t, plain(json.RawMessage(in), 20), want, "%s read", in)
	}
	for in, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567", -100: "-100"} {
		must.Equal(t, grouped(in), want, "%d", in)
	}
	for _, class := range []string{"LATE", "JUMP", "GAP", "UNDECIDED"} {
		if !watch.Unjudged(class) || means[class] == "" {
			t.Errorf("%s says something against the database, or nothing", class)
		}
	}
}

// TestStampedIncident: of a violation of timestamps the page has what was read and what should have been, the page in
// its folder, and the commands that check it again.
func TestStampedIncident(t *testing.T) {
	dir := t.TempDir()
	var m watch.Metrics
	var incidents watch.Incidents
	err := run(t, dir, &m, strings.NewReader(wrong), func(c *watch.Config) { c.Incidents, c.Evidence = &incidents, 10 })
	must.OK(t, err)
	const page = "<h1>of isovet report</h1>"
	must.OK(t, os.MkdirAll(filepath.Join(dir, FolderOf(1)), 0o700))
	must.OK(t, os.WriteFile(filepath.Join(dir, FolderOf(1), reportFile), []byte(page), 0o600))
	h := Handler(Options{Metrics: &m, Incidents: &incidents, Dir: dir, Local: true})
	must.Equal(t, body(t, ask(t, h, http.MethodGet, "/incidents/1/evidence.html", nil)), page, "the page of its folder")
	for _, path := range []string{"/incidents/2/evidence.html", "/incidents/x/evidence.html"} {
		must.Equal(t, ask(t, h, http.MethodGet, path, nil).StatusCode, http.StatusNotFound, "%s", path)
	}
	text := body(t, ask(t, h, http.MethodGet, "/incidents/1", nil))
	for _, want := range []string{"Incident 1: EXT", `href="/incidents/1/evidence.html"`, "but its snapshot has 2",
		" --checker chronos --level session-snapshot-isolation\nisovet verify ", "T2",
		"/evidence/evidence/000001.cert.json"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing of %q in\n%s", want, text)
		}
	}
}
