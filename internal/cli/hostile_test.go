package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"isovet/internal/cli/checks"
	"isovet/internal/cli/console"
	"isovet/internal/test/must"
)

// evil is in every name, key, value and field of the header here, and in the names of files: what acts on a terminal,
// in Markdown, on a page, in a log of GitHub Actions, in Graphviz and in a shell.
const evil = "e\x1b]0;P\a\x1b[31m\u202e\u009b1m\r\n::error::EVIL\n# EVIL\n| EVIL\n```\nEVIL\n" +
	"`EVIL`<img src=x onerror=EVIL>[EVIL](javascript:EVIL)@EVIL|EVIL\"}]EVIL;'$(EVIL)\\"

// hostile makes a folder whose name, and whose files' names and contents, are evil: histories that violate, that are
// valid, and that cannot be read.
func hostile(t *testing.T) (dir string) {
	name := strings.ReplaceAll(evil, "/", "-")
	dir = filepath.Join(t.TempDir(), name[:60])
	must.OK(t, os.Mkdir(dir, 0o755))
	q := func(s string) string {
		b := fmt.Sprintf("%q", s)
		return regexp.MustCompile(`\\x([0-9a-f]{2})|\\a`).ReplaceAllStringFunc(b, func(x string) string {
			if x == `\a` {
				return `\u0007`
			}
			return `\u00` + x[2:]
		})
	}
	e := q(evil)
	head := fmt.Sprintf(`{"format":"isovet-history","version":1,"name":%[1]s,"db":%[1]s,"isolation":%[1]s,`+
		`"workload":%[1]s,"note":%[1]s}`, e)
	txn := `{"id":%d,"session":%d,"start":%d,"end":%d,"node":` + strings.ReplaceAll(e, "%", "%%") + `,"name":` +
		strings.ReplaceAll(e, "%", "%%") + `,"ops":[%s]}`
	two := q(evil + "2")
	lost := []string{head,
		fmt.Sprintf(txn, 1, 1, 1, 10, `["w",`+e+`,`+e+`]`),
		fmt.Sprintf(txn, 2, 2, 11, 40, `["r",`+e+`,`+e+`],["w",`+e+`,`+two+`]`),
		fmt.Sprintf(txn, 3, 3, 12, 41, `["r",`+e+`,`+e+`],["w",`+e+`,3]`),
		fmt.Sprintf(txn, 4, 3, 42, 43, `["pr",{`+e+`:{"=":`+e+`}},[]]`)}
	for file, text := range map[string]string{
		"lost.jsonl":  strings.Join(lost, "\n"),
		"valid.jsonl": strings.Join(lost[:3], "\n"),
		"thin.jsonl":  strings.Join(append(lost[:2:2], fmt.Sprintf(txn, 2, 2, 11, 40, `["r",`+e+`,`+two+`]`)), "\n"),
		"bad.jsonl":   head + "\n" + `{"id":1,"ops":[["` + "\u202e" + `w` + "\u009b" + `",1]]}`,
		"field.jsonl": head + "\n" + `{"id":1,"status":` + e + `,"ops":[]}`,
		"bad.edn":     "{:type :invoke, :f :txn, :value " + evil + " :process 0}",
		"tag.edn":     "{:type :ok, :f :txn, :value [[:w \"" + evil + "\" #" + evil + " 1]], :process 0, :time 1, :index 0}",
		"word.edn":    "{:type :ok, :f :" + "\u202e\x1b[31m" + "x, :value [[:q 1 1]], :process 0}",
		"bad.txt":     evil,
		"bad.csv":     evil + "," + evil,
		"bad.cert":    evil,
		"kernel.k":    evil,
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name+file), []byte(text), 0o644))
	}
	return dir
}

// harmless looks at what a command printed or wrote.
func harmless(t *testing.T, what, text string) {
	t.Helper()
	must.Be(t, utf8.ValidString(text), "%s: no UTF-8", what)
	for _, r := range text {
		if r != '\n' && r != '\t' && r != '\r' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028') {
			t.Errorf("%s: has %U", what, r)
			break
		}
	}
	fence := ""
	page := strings.HasSuffix(what, ".html") // where the end of a line is a blank
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if fence != "" { // of Markdown
			if line == fence {
				fence = ""
			}
			continue
		}
		if m := regexp.MustCompile("^(```+)[a-z]*$").FindStringSubmatch(line); m != nil && strings.HasSuffix(what, ".md") {
			fence = m[1]
			continue
		}
		for _, bad := range []string{"::error::EVIL", "# EVIL", "| EVIL", "EVIL", "`EVIL"} {
			must.Be(t, !strings.HasPrefix(line, bad) || page, "%s: a line begins with %q", what, line)
		}
		switch {
		case strings.HasSuffix(what, ".md"):
			if rest := outside(line); strings.Contains(rest, "EVIL") {
				t.Errorf("%s: %q is outside of code", what, rest)
			}
		case strings.HasSuffix(what, ".html"):
			if strings.Contains(line, "<img src=x") || strings.Contains(line, `href="javascript:`) {
				t.Errorf("%s: raw HTML: %.200q", what, line)
			}
		case strings.HasSuffix(what, ".sql"):
			if i := strings.Index(line, "EVIL"); i >= 0 && !strings.Contains(line[:i], "-- ") {
				t.Errorf("%s: %q is outside of a comment", what, line)
			}
		}
	}
}

// outside is a line of Markdown without its code spans.
func outside(line string) string {
	var out strings.Builder
	for line != "" {
		at := strings.IndexByte(line, '`')
		if at < 0 {
			break
		}
		out.WriteString(line[:at])
		line = line[at:]
		mark := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		body := line[len(mark):]
		end := -1
		for i := 0; i < len(body); {
			if body[i] != '`' {
				i++
				continue
			}
			n := len(body[i:]) - len(strings.TrimLeft(body[i:], "`"))
			if n == len(mark) {
				end = i + n
				break
			}
			i += n
		}
		if end < 0 {
			out.WriteString(mark)
			line = body
			continue
		}
		line = body[end:]
	}
	return out.String() + line
}

// TestHostile runs every command that reads a history, a certificate or the like on evil ones.
func TestHostile(t *testing.T) {
	dir := hostile(t)
	in := func(file string) string {
		return filepath.Join(dir, strings.ReplaceAll(evil, "/", "-")+file)
	}
	out := filepath.Join(dir, "out"+evil[:20])
	must.OK(t, os.Mkdir(out, 0o755))
	to := func(file string) string { return filepath.Join(out, file) }
	lost, valid, thin := in("lost.jsonl"), in("valid.jsonl"), in("thin.jsonl")
	var runs [][]string
	add := func(args ...string) { runs = append(runs, args) }
	for _, file := range []string{in("bad.jsonl"), in("field.jsonl"), in("bad.edn"), in("tag.edn"), in("word.edn"),
		in("bad.txt"), in("bad.csv"), in("none.jsonl")} {
		add("stats", file)
		for _, o := range checks.Outputs {
			add("check", "--output", o.Name, file)
		}
		add("convert", file, to("y.jsonl"))
		add("report", file)
		add("verify", in("bad.cert"), file)
	}
	for _, file := range []string{lost, valid, thin} {
		add("stats", file)
		add("stats", "--json", file)
		for _, o := range checks.Outputs {
			add("check", "--output", o.Name, file)
		}
		add("check", "--level", "all", file)
		add("shrink", file, "-o", to("shrunk.jsonl"))
		add("shrink", "--rename", file, "-o", "-")
		add("report", file, "-o", to("report.md"))
		add("report", "--rename", file)
		add("convert", "--to", "jepsen-edn", file, "-o", to("x.edn"))
		add("convert", file, to("y.jsonl"))
		add("encode", "--to", "dimacs", file, "-o", to("x.cnf"))
		add("verify", in("bad.cert"), file)
		add("verify", file, file)
	}
	for _, level := range []string{"serializable", "snapshot-isolation", "strict-serializable", "read-committed"} {
		add("check", "--level", level, "--report", to(level+".html"), "--dot", to(level+".dot"), "--certificate",
			to(level+".cert"), "--shrink", to(level+".small.jsonl"), lost)
		add("verify", to(level+".cert"), lost)
		add("verify", to(level+".cert"), thin)
	}
	add("check", "--dot", "-", "-q", thin)
	add("check", "--report", to("thin.html"), thin)
	add("check", "--checker", "leopard", "--profile", in("bad.txt"), lost)
	add("check", "--checker", "leopard", "--profile", "postgresql:serializable", lost)
	add("check", evil, "--"+evil)
	add("check", "--level", evil, lost)
	add("check", "--checker", evil, lost)
	add("check", "--spill", to("spill"), "--memory", "64MiB", lost)
	add("verify", "--kernel-file", in("kernel.k"))
	add("proxy", "--db", evil, "-o", to("proxy"))
	add("proxy", "--db", "postgres://127.0.0.1:1/x", "--listen", evil, "-o", to(evil))
	add("proxy", "--db", "postgres://127.0.0.1:1/x", "--listen", "127.0.0.1:0", "-o", to("proxy"))
	add(evil)
	add("anomalies", evil)
	add("levels", evil)
	add("view", in("none.jsonl"), evil)
	runs = append(runs, heavyRuns(lost, thin, in, to)...)
	root := Root()
	tried := map[string]bool{}
	for _, args := range runs {
		var stdout, stderr bytes.Buffer
		got := Main(args, strings.NewReader(evil), &stdout, &stderr)
		c, _, err := root.Find(args)
		for ; err == nil && c.HasParent(); c = c.Parent() {
			tried[c.Name()] = true
		}
		what := strings.Join(args, " ")
		if len(what) > 100 {
			what = fmt.Sprintf("%q", args)
		}
		if got == console.StatusFault {
			t.Errorf("%s: %s", what, stderr.String())
		}
		ext := ""
		if args[0] == "report" || strings.Contains(what, "--markdown") {
			ext = ".md"
		}
		harmless(t, what+", standard output"+ext, stdout.String())
		harmless(t, what+", standard error", stderr.String())
	}
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help", "completion", "version", "checkers", "formats", "solvers", "profiles", "workloads", "databases":
		case "gen", "collect", "probe": // the names are ours
		default:
			if !c.Hidden && !tried[c.Name()] {
				t.Errorf("%s was not tried", c.Name())
			}
		}
	}
	written := 0
	err := filepath.WalkDir(out, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch filepath.Ext(path) {
		case ".cert", ".edn", ".jsonl", ".cnf", ".md", ".html", ".dot", ".sql", ".json", ".txt", ".map":
		default:
			return nil // of bytes
		}
		b, err := os.ReadFile(path)
		if err == nil && filepath.Ext(path) != ".cert" && filepath.Ext(path) != ".edn" { // data: as they are
			written++
			harmless(t, path, string(b))
		}
		return err
	})
	must.OK(t, err)
	must.Be(t, written >= 10, "%d files were written", written)
}

// heavyRuns are the runs of commands that need databases, a watch or a table of checkers.
func heavyRuns(lost, thin string, in, to func(string) string) [][]string {
	var runs [][]string
	for _, file := range []string{lost, thin, in("bad.jsonl"), in("bad.txt")} {
		for _, checker := range []string{"replay", "leopard"} {
			runs = append(runs, []string{"watch", "--once", "--checker", checker, "--level", "strict-serializable",
				"--profile", "postgresql:serializable", "--state", to("watch-" + checker), "--source", file})
		}
		runs = append(runs, []string{"replay", file, "--db", "sqlite:"},
			[]string{"hunt", "--db", "sqlite:", "--workload", file},
			[]string{"campaign", file, "-o", to("campaign")},
			[]string{"report", file, "-o", to("incident")})
	}
	return append(runs, []string{"bench", "compare", "--markdown", "--checkers", "vbox", "--history", lost})
}
