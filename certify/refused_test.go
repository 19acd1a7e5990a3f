package certify_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
	"isovet/level"
)

// A refusal is one entry of testdata/refused.txt: a history, what is claimed of it, and what the certifier says then.
type refusal struct {
	text  string // the history
	claim claim
	want  string
}

// claim is a Result without its history, and the options.
type claim struct {
	Verdict         evidence.Verdict
	Level           level.Level
	Timestamps      bool              `json:",omitempty"`
	ReadOnlyAtStart bool              `json:",omitempty"`
	Order           []uint32          `json:",omitempty"`
	Sources         []evidence.Source `json:",omitempty"`
	Anomalies       []falsehood       `json:",omitempty"`
	ClockSkew       int64             `json:",omitempty"`
	MaxConflicts    int               `json:",omitempty"`
}

type falsehood struct {
	Kind   level.Anomaly
	Txns   []uint32          `json:",omitempty"`
	Ops    []uint32          `json:",omitempty"`
	Key    uint32            `json:",omitempty"`
	Dead   [][]uint32        `json:",omitempty"`
	Why    string            `json:",omitempty"`
	Cycle  []evidence.Edge   `json:",omitempty"`
	Cycles [][]evidence.Edge `json:",omitempty"`
}

func (c claim) result(h *history.History) (*evidence.Result, certify.Options) {
	r := &evidence.Result{H: h, Verdict: c.Verdict, Level: c.Level, Timestamps: c.Timestamps,
		ReadOnlyAtStart: c.ReadOnlyAtStart, Order: c.Order, Sources: c.Sources}
	for _, a := range c.Anomalies {
		r.Anomalies = append(r.Anomalies, evidence.Anomaly{Kind: a.Kind, Txns: a.Txns, Ops: a.Ops, Key: a.Key,
			Dead: a.Dead, Why: a.Why, Cycle: a.Cycle, Cycles: a.Cycles})
	}
	return r, certify.Options{ClockSkew: c.ClockSkew, MaxConflicts: c.MaxConflicts}
}

// refusals reads testdata/refused.txt: blocks with an empty line between them, of the message, the history's lines and
// the claim in JSON.
func refusals(t *testing.T) (out []refusal) {
	data := must.Get(os.ReadFile("testdata/refused.txt"))(t)
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
		lines := strings.Split(block, "\n")
		r := refusal{want: lines[0], text: strings.Join(lines[1:len(lines)-1], "\n")}
		must.OK(t, json.Unmarshal([]byte(lines[len(lines)-1]), &r.claim), "%s", lines[0])
		out = append(out, r)
	}
	return out
}

// messages are the formats of all errors that the package makes, by where they stand.
func messages(t *testing.T) map[string]*regexp.Regexp {
	files := must.Get(filepath.Glob("*.go"))(t)
	out := map[string]*regexp.Regexp{}
	verb := regexp.MustCompile(`%[a-z]`)
	fset := token.NewFileSet()
	add := func(e ast.Expr) {
		if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 0 { // Unsupported{fmt.Sprintf(…)}
			e = call.Args[0]
		}
		lit, ok := e.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		s := must.Get(strconv.Unquote(lit.Value))(t)
		re := verb.ReplaceAllString(regexp.QuoteMeta(s), ".+")
		out[fset.Position(e.Pos()).String()+": "+s] = regexp.MustCompile(`(^|: |cannot certify )` + re + `$`)
	}
	for _, f := range files {
		if strings.HasSuffix(f, "_test.go") {
			continue
		}
		file := must.Get(parser.ParseFile(fset, f, nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Errorf" || f.Sel.Name == "New") &&
					len(n.Args) > 0 {
					add(n.Args[0])
				}
			case *ast.CompositeLit:
				if id, ok := n.Type.(*ast.Ident); ok && id.Name == "Unsupported" && len(n.Elts) == 1 {
					add(n.Elts[0])
				}
			}
			return true
		})
	}
	return out
}

// TestRefused: each false claim of testdata/refused.txt is refused for exactly the reason that is reported there, and
// each reason that the package knows is one of them.
func TestRefused(t *testing.T) {
	said := []string{certify.ErrGaveUp.Error(), certify.ErrStopped.Error(), certify.ErrUnknown.Error()}
	for _, c := range refusals(t) {
		h, err := notation.Parse(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.want, err)
			continue
		}
		r, o := c.claim.result(h)
		if err := certify.Check(r, o); err == nil || err.Error() != c.want {
			t.Errorf("got  %v\nwant %s\n%s", err, c.want, c.text)
		}
		said = append(said, c.want)
	}
	for _, c := range badResults() {
		err := certify.Check(c.r, c.o)
		must.Be(t, err != nil && strings.HasSuffix(err.Error(), c.want), "got %v, want %s", err, c.want)
		said = append(said, c.want)
	}
	undo := certify.SetBounds(1, 1, 1)
	_, err := certify.Unsatisfiable(pigeons(5), certify.Options{})
	said = append(said, err.Error())
	h := notation.MustParse("s1: a(0,2) | s2: a(0,2) | s3: r(0,[2,2])")
	err = certify.Check(&evidence.Result{H: h, Verdict: evidence.Violated, Anomalies: []evidence.Anomaly{
		{Kind: level.IncompatibleOrder, Ops: []uint32{2}, Txns: []uint32{2}}}}, certify.Options{})
	said = append(said, err.Error())
	undo()
	missing := 0
message:
	for where, re := range messages(t) {
		for _, s := range said {
			if re.MatchString(s) {
				continue message
			}
		}
		t.Errorf("nothing provokes %s", where)
		missing++
	}
	must.Be(t, missing <= 0, "%d reasons are not provoked", missing)
}
