package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/escape"
	"isovet/level"
	"isovet/report"
)

// routes returns the handlers of all addresses after the token.
func (s *Server) routes() *http.ServeMux {
	m := http.NewServeMux()
	m.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if s.kind != ofPage {
			s.file(w, "view.html")
			return
		}
		// The page has a policy of its own, by hashes.
		w.Header().Set("Content-Security-Policy", "frame-ancestors 'none'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(s.o.Page)
	})
	m.HandleFunc("GET /web/{name}", func(w http.ResponseWriter, r *http.Request) { s.file(w, r.PathValue("name")) })
	m.HandleFunc("GET /results/{name...}", s.results)
	m.HandleFunc("GET /api/home", func(w http.ResponseWriter, r *http.Request) { s.home(w) })
	m.HandleFunc("GET /api/watch", func(w http.ResponseWriter, r *http.Request) {
		if s.kind != ofWatch {
			refuse(w, http.StatusNotFound, errors.New("this is not the folder of a watch"))
			return
		}
		out, err := watchFolder(s.o.Paths[0])
		answerWith(w, out, err)
	})
	m.HandleFunc("POST /api/open", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseInt(r.FormValue("violation"), 10, 64)
		if s.kind != ofWatch || err != nil {
			refuse(w, http.StatusBadRequest, errors.New("expected the number of a violation of a watch"))
			return
		}
		b, err := s.openFolder(n)
		answerWith(w, map[string]int{"book": b}, err)
	})
	s.bookRoutes(m)
	return m
}

// bookRoutes adds the addresses of one history.
func (s *Server) bookRoutes(m *http.ServeMux) {
	s.ofBook(m, "GET /api/{book}/state", false, func(w http.ResponseWriter, r *http.Request, b *book) {
		answerWith(w, b.state(), nil)
	})
	s.ofBook(m, "GET /api/{book}/overview", true, func(w http.ResponseWriter, r *http.Request, b *book) {
		answerWith(w, b.axis.overview(int(number(r, "bins", 400))), nil)
	})
	s.ofBook(m, "GET /api/{book}/window", true, func(w http.ResponseWriter, r *http.Request, b *book) {
		answerWith(w, b.axis.window(number(r, "from", 0), number(r, "to", b.axis.span), int(number(r, "row", 0)),
			int(number(r, "rows", 24)), int(number(r, "bins", 200))), nil)
	})
	s.ofBook(m, "GET /api/{book}/search", true, func(w http.ResponseWriter, r *http.Request, b *book) {
		answerWith(w, b.search(r.FormValue("q")), nil)
	})
	s.ofBook(m, "GET /api/{book}/txn", true, func(w http.ResponseWriter, r *http.Request, b *book) {
		if t, ok := b.asked(w, r); ok {
			answerWith(w, b.txn(t), nil)
		}
	})
	s.ofKeys(m, "GET /api/{book}/deps", func(w http.ResponseWriter, r *http.Request, b *book, k *keys) {
		if t, ok := b.asked(w, r); ok {
			answerWith(w, b.deps(t), nil)
		}
	})
	s.ofKeys(m, "GET /api/{book}/keys", func(w http.ResponseWriter, r *http.Request, b *book, k *keys) {
		answerWith(w, k.page(r.FormValue("sort"), r.FormValue("asc") != "", r.FormValue("q"),
			int(number(r, "page", 0))), nil)
	})
	s.ofKeys(m, "GET /api/{book}/key", func(w http.ResponseWriter, r *http.Request, b *book, k *keys) {
		key := number(r, "key", -1)
		if key < 0 || key >= int64(len(k.stat)) {
			refuse(w, http.StatusNotFound, errors.New("there is no such key"))
			return
		}
		answerWith(w, b.key(k, uint32(key), int(number(r, "page", 0))), nil)
	})
	s.ofBook(m, "GET /api/{book}/answer", true, func(w http.ResponseWriter, r *http.Request, b *book) {
		if a := b.answerOf(w, r.FormValue("n")); a != nil {
			out, err := b.tell(a)
			answerWith(w, out, err)
		}
	})
	s.ofBook(m, "POST /api/{book}/check", true, s.check)
	s.ofBook(m, "POST /api/{book}/cancel", true, func(w http.ResponseWriter, r *http.Request, b *book) {
		b.stop()
		answerWith(w, true, nil)
	})
	s.ofBook(m, "POST /api/{book}/shrink", true, func(w http.ResponseWriter, r *http.Request, b *book) {
		a := b.answerOf(w, r.FormValue("n"))
		if a == nil {
			return
		}
		if a.r == nil || a.r.Verdict != evidence.Violated || a.r.Items || a.Refuted != "" {
			refuse(w, http.StatusConflict, errors.New("there is no violation of a single level to shrink"))
			return
		}
		answerWith(w, true, b.shrink(a, s.o.Check, s.holdBook))
	})
	s.ofBook(m, "GET /book/{book}/{file}", true, s.saved)
	s.ofBook(m, "GET /book/{book}/run.html", true, func(w http.ResponseWriter, r *http.Request, b *book) {
		framed(w)
		key := uint32(number(r, "key", int64(history.None)))
		_ = report.RunHTML(w, b.name, b.axis.h, key, int(number(r, "from", 0))) // an error: the client has gone
	})
}

// ofBook adds an address of a history. If ready is set, it refuses requests until the server has read the history.
func (s *Server) ofBook(m *http.ServeMux, pattern string, ready bool, f func(http.ResponseWriter, *http.Request,
	*book)) {
	m.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.PathValue("book"))
		b := s.book(n)
		if err != nil || b == nil {
			refuse(w, http.StatusNotFound, errors.New("there is no such history"))
			return
		}
		if ready {
			b.mu.Lock()
			there := b.axis != nil
			b.mu.Unlock()
			if !there {
				refuse(w, http.StatusServiceUnavailable, errors.New("the history is still being read"))
				return
			}
		}
		f(w, r, b)
	})
}

// ofKeys adds an address whose handler needs the table of keys.
func (s *Server) ofKeys(m *http.ServeMux, pattern string, f func(http.ResponseWriter, *http.Request, *book, *keys)) {
	s.ofBook(m, pattern, true, func(w http.ResponseWriter, r *http.Request, b *book) {
		k := b.keys.Load()
		if k == nil {
			refuse(w, http.StatusServiceUnavailable, errors.New("isovet is still reading the keys; try again soon"))
			return
		}
		f(w, r, b, k)
	})
}

// number returns a numeric parameter of a request, or otherwise if it is missing.
func number(r *http.Request, name string, otherwise int64) int64 {
	f, err := strconv.ParseFloat(r.FormValue(name), 64)
	if err != nil || f != f || f > 1<<62 || f < -(1<<62) {
		return otherwise
	}
	return int64(f)
}

func refuse(w http.ResponseWriter, status int, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": escape.XML(err.Error())})
}

func answerWith(w http.ResponseWriter, v any, err error) {
	switch {
	case errors.Is(err, errBusy):
		refuse(w, http.StatusConflict, err)
		return
	case err != nil:
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // an error means that the client has gone
}

// asked returns the transaction that a request names. It answers a wrong request itself.
func (b *book) asked(w http.ResponseWriter, r *http.Request) (uint32, bool) {
	t := number(r, "t", -1)
	if t < 0 || t >= int64(b.axis.h.NumTxns()) {
		refuse(w, http.StatusNotFound, errors.New("there is no such transaction"))
		return 0, false
	}
	return uint32(t), true
}

func (b *book) answerOf(w http.ResponseWriter, n string) *answer {
	i, err := strconv.Atoi(n)
	a := b.answer(i)
	if err != nil || a == nil {
		refuse(w, http.StatusNotFound, errors.New("there is no such answer"))
		return nil
	}
	return a
}

// file sends one of the page's own files.
func (s *Server) file(w http.ResponseWriter, name string) {
	data, err := fs.ReadFile(s.web, name)
	if err != nil {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	if strings.HasSuffix(name, ".js") { // some systems' tables say otherwise
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
	}
	_, _ = w.Write(data)
}

// homeJSON describes the shown paths, and the options that the page offers.
type homeJSON struct {
	Kind   string     `json:"kind"`
	Name   string     `json:"name"`
	Level  string     `json:"level"`
	Levels []levelCan `json:"levels"`
}

type levelCan struct {
	Name     string   `json:"name"`
	About    string   `json:"about"`
	Checkers []string `json:"checkers"`
}

func (s *Server) home(w http.ResponseWriter) {
	out := homeJSON{Kind: s.kind, Name: escape.XML(s.o.Name), Level: s.o.Level.String()}
	for _, l := range level.All() {
		c := levelCan{Name: l.String(), About: l.About(), Checkers: []string{check.AutoName}}
		for _, d := range check.Deciding(l) {
			if i := d.Info(); !i.Hidden {
				c.Checkers = append(c.Checkers, i.Name)
			}
		}
		out.Levels = append(out.Levels, c)
	}
	answerWith(w, out, nil)
}

func (s *Server) check(w http.ResponseWriter, r *http.Request, b *book) {
	if r.FormValue("level") == "all" {
		answerWith(w, true, b.levels(s.o.Check))
		return
	}
	at, err := level.Parse(r.FormValue("level"))
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	checker := cmp.Or(r.FormValue("checker"), check.AutoName)
	if checker != check.AutoName {
		if _, err := check.ByName(checker); err != nil {
			refuse(w, http.StatusBadRequest, err)
			return
		}
	}
	answerWith(w, true, b.check(at, checker, s.o.Check))
}

// saved sends pages of evidence and files to save: "answer-1.html", "answer-1.cert.json", "small-1.jsonl",
// "small-1.cert.json".
func (s *Server) saved(w http.ResponseWriter, r *http.Request, b *book) {
	base, ext, _ := strings.Cut(r.PathValue("file"), ".")
	what, n, _ := strings.Cut(base, "-")
	a := b.answerOf(w, n)
	if a == nil {
		return
	}
	b.mu.Lock()
	small := a.small
	b.mu.Unlock()
	var write func(io.Writer) error
	switch {
	case what == "answer" && ext == "html":
		write = a.page
	case what == "answer" && ext == "cert.json" && a.r != nil && a.r.Verdict != evidence.Unknown && !a.r.Items:
		write = func(w io.Writer) error { return evidence.WriteCertificate(w, a.r) }
	case what == "small" && ext == "jsonl" && small != nil:
		write = func(w io.Writer) error { return jsonl.Write(w, small.H) }
	case what == "small" && ext == "cert.json" && small != nil:
		write = func(w io.Writer) error { return evidence.WriteCertificate(w, small.Answer) }
	default:
		refuse(w, http.StatusNotFound, fmt.Errorf("there is no %s", base+"."+ext))
		return
	}
	var out bytes.Buffer
	if err := write(&out); err != nil {
		refuse(w, http.StatusInternalServerError, err)
		return
	}
	if ext == "html" {
		framed(w)
	} else {
		w.Header().Set("Content-Type", "application/octet-stream")
		name := strings.TrimSuffix(filepath.Base(b.name), filepath.Ext(b.name)) + "-" + base + "." + ext
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}
	_, _ = w.Write(out.Bytes())
}

// framed sets the headers of a page for a frame. It has a policy of its own, by hashes; this one says who may frame it.
func framed(w http.ResponseWriter) {
	w.Header().Set("Content-Security-Policy", "frame-ancestors 'self'")
	w.Header().Del("X-Frame-Options")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
}

// shownFiles has the extensions of the files that the server sends from a folder of results.
var shownFiles = []string{".svg", ".md", ".csv", ".json"}

// results sends the page of a folder of results, and the folder's files.
func (s *Server) results(w http.ResponseWriter, r *http.Request) {
	if s.kind != ofResults {
		refuse(w, http.StatusNotFound, errors.New("this is not a folder of results"))
		return
	}
	// The page's style stands in it; it has no script.
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src 'self' data:; "+
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	name := r.PathValue("name")
	if name == "" {
		var b bytes.Buffer
		if err := s.o.Index(&b, s.o.Paths[0]); err != nil {
			refuse(w, http.StatusInternalServerError, err)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(b.Bytes())
		return
	}
	ext := path.Ext(name)
	file, err := inside(s.o.Paths[0], name)
	if err != nil || !slices.Contains(shownFiles, ext) {
		refuse(w, http.StatusNotFound, fmt.Errorf("there is no %s", name))
		return
	}
	data, err := os.ReadFile(file)
	if err != nil {
		refuse(w, http.StatusNotFound, err)
		return
	}
	kind := "text/plain; charset=utf-8"
	if ext == ".svg" {
		kind = "image/svg+xml"
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(data)
}

// accessesJSON is a page of the transactions that touched a key.
type accessesJSON struct {
	keyJSON
	Page  int          `json:"page"`
	Pages int          `json:"pages"`
	Rows  []accessJSON `json:"rows"`
}

type accessJSON struct {
	nameJSON
	Session string `json:"session"`
	Start   int64  `json:"start"`
	Text    string `json:"text"`
}

// key lists the transactions that touched a key, in the order of the file.
func (b *book) key(k *keys, key uint32, page int) accessesJSON {
	all := k.of(key)
	out := accessesJSON{keyJSON: k.json(key), Pages: max(1, (len(all)+keysAPage-1)/keysAPage), Rows: []accessJSON{}}
	out.Page = max(0, min(page, out.Pages-1))
	h := b.axis.h
	for _, t := range all[out.Page*keysAPage : min(len(all), (out.Page+1)*keysAPage)] {
		var texts []string
		had := uint32(0)
		for i, c := range touches(h, t, key) {
			if i > 0 && c.op == had {
				continue
			}
			had = c.op
			texts = append(texts, report.OpText(h, c.op))
		}
		out.Rows = append(out.Rows, accessJSON{b.named(t), report.SessionName(h, h.Txns.Sess[t]), b.axis.start[t],
			escape.XML(strings.Join(texts, " · "))})
	}
	return out
}
