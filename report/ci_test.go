package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/report"
)

// document writes items as a document of a name.
func document(t *testing.T, name string, answers int, items []*report.Item) string {
	t.Helper()
	s, ok := report.NewStream(name, "v1.2.3")
	if !ok {
		t.Fatal(name)
	}
	var b bytes.Buffer
	err := s.Begin(&b, len(items), answers)
	said := 0
	for i, it := range items {
		err = errors.Join(err, s.Item(&b, i, answers, said, it))
		said += it.Findings()
	}
	must.OK(t, errors.Join(err, s.End(&b, 1, "")))
	return b.String()
}

// items are histories of all kinds, judged at a level or at all of them, and two without an answer.
func items(t *testing.T, all bool) (out []*report.Item) {
	t.Helper()
	for seed := range uint64(60) {
		h := random.Odd(seed, random.Options{Aborted: seed%2 == 0, Unknown: seed%3 == 0, Lists: seed%5 == 0,
			Predicates: seed%5 == 1})
		for x := range h.Txns.Line {
			h.Txns.Line[x] = uint32(x) + 2
		}
		it := &report.Item{Path: fmt.Sprintf("dir with blank/h%%<%d>.jsonl", seed), Seconds: 0.25}
		levels := []level.Level{level.StrictSerializable}
		if all {
			levels = level.All()
		}
		for _, l := range levels {
			c, why := check.Choose(check.AutoName, "", h, l)
			if c == nil {
				it.Answers = append(it.Answers, &evidence.Result{Level: l, Reason: why, H: h})
				continue
			}
			r := must.Get(check.Run(t.Context(), c, h, check.Options{Level: l}))(t)
			it.Answers = append(it.Answers, r)
		}
		out = append(out, it)
	}
	bad := &history.InputError{File: "bad.jsonl", Line: 7, Field: "ops", Msg: "a \x01 & ]]> <control>"}
	return append(out, &report.Item{Path: "bad.jsonl", Err: fmt.Errorf("reading: %w", bad)},
		&report.Item{Path: "-", Err: errors.New("not there")})
}

// object is what a kind of object in SARIF 2.1.0 (OASIS Standard, §3) must have and may have, of what is written here.
// An ending [] stands for an array of objects of the kind behind it.
type object struct{ must, may map[string]string }

var sarifObjects = map[string]object{
	"sarifLog": {must: map[string]string{"version": "string", "runs": "run[]"},
		may: map[string]string{"$schema": "uri"}},
	"run": {must: map[string]string{"tool": "tool"},
		may: map[string]string{"columnKind": "string", "results": "result[]", "invocations": "invocation[]"}},
	"tool": {must: map[string]string{"driver": "toolComponent"}},
	"toolComponent": {must: map[string]string{"name": "string"},
		may: map[string]string{"version": "string", "rules": "reportingDescriptor[]"}},
	"reportingDescriptor": {must: map[string]string{"id": "string"}, may: map[string]string{"name": "string",
		"shortDescription": "multiformatMessageString"}},
	"multiformatMessageString": {must: map[string]string{"text": "string"}},
	"message":                  {must: map[string]string{"text": "string"}},
	"result": {must: map[string]string{"message": "message"}, may: map[string]string{"ruleId": "string",
		"level": "level", "locations": "location[]", "relatedLocations": "location[]",
		"partialFingerprints": "strings", "properties": "bag"}},
	"location": {may: map[string]string{"id": "positive", "physicalLocation": "physicalLocation",
		"message": "message"}},
	"physicalLocation": {must: map[string]string{"artifactLocation": "artifactLocation"},
		may: map[string]string{"region": "region"}},
	"artifactLocation": {must: map[string]string{"uri": "uri"}},
	"region":           {must: map[string]string{"startLine": "positive"}},
	"invocation": {must: map[string]string{"executionSuccessful": "bool"},
		may: map[string]string{"exitCode": "int", "exitCodeDescription": "string"}},
}

// sarifWrong says what is wrong with a value as a kind of object.
func sarifWrong(v any, kind, at string) []string {
	if of, ok := strings.CutSuffix(kind, "[]"); ok {
		list, ok := v.([]any)
		if !ok {
			return []string{at + " is no array"}
		}
		var out []string
		for i, x := range list {
			out = append(out, sarifWrong(x, of, at+"["+strconv.Itoa(i)+"]")...)
		}
		return out
	}
	right := false
	switch s, isText := v.(string); kind {
	case "string":
		right = isText
	case "uri":
		_, err := url.Parse(s)
		right = isText && err == nil && !strings.ContainsAny(s, " <>\\")
	case "level":
		right = slices.Contains([]string{"none", "note", "warning", "error"}, s)
	case "bool":
		_, right = v.(bool)
	case "int", "positive":
		n, ok := v.(float64)
		right = ok && n == float64(int(n)) && (kind == "int" || n >= 1)
	case "bag":
		_, right = v.(map[string]any)
	case "strings":
		m, ok := v.(map[string]any)
		right = ok
		for _, x := range m {
			_, text := x.(string)
			right = right && text
		}
	default:
		o, ok := sarifObjects[kind]
		m, isObject := v.(map[string]any)
		if !ok || !isObject {
			return []string{at + " is no " + kind}
		}
		var out []string
		for name := range o.must {
			if _, ok := m[name]; !ok {
				out = append(out, at+"."+name+" is missing")
			}
		}
		for name, x := range m {
			of, ok := o.must[name]
			if !ok {
				of, ok = o.may[name]
			}
			if !ok {
				out = append(out, at+"."+name+" is not known")
				continue
			}
			out = append(out, sarifWrong(x, of, at+"."+name)...)
		}
		return out
	}
	if !right {
		return []string{fmt.Sprintf("%s is no %s: %v", at, kind, v)}
	}
	return nil
}

// TestSARIF: the document has what the standard demands, nothing that it does not know, and a result a finding at the
// line of one of its transactions, whose rule is described.
func TestSARIF(t *testing.T) {
	for _, all := range []bool{false, true} {
		its := items(t, all)
		var log map[string]any
		must.OK(t, json.Unmarshal([]byte(document(t, "sarif", 1, its)), &log))
		if wrong := sarifWrong(log, "sarifLog", "log"); len(wrong) > 0 {
			t.Errorf("%d mistakes: %v", len(wrong), wrong[:min(len(wrong), 5)])
		}
		must.Equal(t, log["version"], "2.1.0", "version")
		run := log["runs"].([]any)[0].(map[string]any)
		described := map[any]bool{}
		for _, r := range run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any) {
			id := r.(map[string]any)["id"]
			if described[id] {
				t.Errorf("rule %v twice", id)
			}
			described[id] = true
		}
		results := run["results"].([]any)
		want, lines := 0, 0
		for _, it := range its {
			want += it.Findings()
		}
		must.Be(t, len(results) == want && want >= 20, "%d results of %d findings", len(results), want)
		for _, x := range results {
			r := x.(map[string]any)
			if !described[r["ruleId"]] {
				t.Errorf("rule %v is not described", r["ruleId"])
			}
			at := r["locations"].([]any)[0].(map[string]any)["physicalLocation"].(map[string]any)
			if region, ok := at["region"].(map[string]any); ok {
				if lines++; region["startLine"].(float64) < 2 {
					t.Errorf("line %v", region["startLine"])
				}
			} else if r["level"] == "error" && r["ruleId"] != "bad-input" {
				t.Errorf("no line: %v", r)
			}
		}
		must.Be(t, lines >= 10, "%d results have lines", lines)
	}
	if wrong := sarifWrong(map[string]any{"version": 1.0, "runs": []any{map[string]any{"tools": 1}}}, "sarifLog",
		""); len(wrong) != 3 {
		t.Errorf("a document with three mistakes has %v", wrong)
	}
}

// TestJUnit: the document is well-formed, its counts are those of its cases, a case has at most one outcome, and there
// is nothing but what the schema of Jenkins' xUnit plugin knows.
func TestJUnit(t *testing.T) {
	type why struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Text    string `xml:",chardata"`
	}
	type doc struct {
		XMLName xml.Name `xml:"testsuites"`
		Suites  []struct {
			Name                             string  `xml:"name,attr"`
			Tests, Failures, Errors, Skipped int     `xml:",attr"`
			T                                int     `xml:"tests,attr"`
			F                                int     `xml:"failures,attr"`
			E                                int     `xml:"errors,attr"`
			S                                int     `xml:"skipped,attr"`
			Time                             float64 `xml:"time,attr"`
			Cases                            []struct {
				Name    string  `xml:"name,attr"`
				Class   string  `xml:"classname,attr"`
				Time    float64 `xml:"time,attr"`
				Failure []why   `xml:"failure"`
				Error   []why   `xml:"error"`
				Skipped []why   `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	known := map[string]string{"testsuites": "name", "testsuite": "name tests failures errors skipped time",
		"testcase": "name classname time", "failure": "type message", "error": "type message",
		"skipped": "type message", "system-out": ""}
	for _, all := range []bool{false, true} {
		its := items(t, all)
		text := document(t, "junit", 1, its)
		for in := xml.NewDecoder(strings.NewReader(text)); ; {
			tok, err := in.Token()
			if err == io.EOF {
				break
			}
			must.OK(t, err)
			if e, ok := tok.(xml.StartElement); ok {
				allowed, ok := known[e.Name.Local]
				if !ok {
					t.Fatalf("element %s", e.Name.Local)
				}
				for _, a := range e.Attr {
					if !slices.Contains(strings.Fields(allowed), a.Name.Local) {
						t.Errorf("%s has %s", e.Name.Local, a.Name.Local)
					}
				}
			}
		}
		var d doc
		must.OK(t, xml.Unmarshal([]byte(text), &d))
		must.Same(t, len(d.Suites), len(its), "suites")
		outcomes := 0
		for i, s := range d.Suites {
			f, e, k := 0, 0, 0
			for _, c := range s.Cases {
				must.Be(t, len(c.Failure)+len(c.Error)+len(c.Skipped) <= 1 && c.Name != "" && c.Class == s.Name,
					"case %+v", c)
				f, e, k = f+len(c.Failure), e+len(c.Error), k+len(c.Skipped)
			}
			outcomes += f + e
			if s.T != len(s.Cases) || s.F != f || s.E != e || s.S != k || s.T != max(1, len(its[i].Answers)) {
				t.Errorf("suite %s counts %d, %d, %d, %d; has %d, %d, %d, %d", s.Name, s.T, s.F, s.E, s.S,
					len(s.Cases), f, e, k)
			}
		}
		must.Be(t, outcomes >= 10, "%d failures and errors", outcomes)
	}
}

// TestGitHub: a line a finding, that begins as the contract says and has no raw line end, colon or comma in its
// properties.
func TestGitHub(t *testing.T) {
	its := items(t, false)
	line := regexp.MustCompile(`^::(error|warning) (file=[^:,\n]+,(line=\d+,)?)?title=[^:,\n]*::[^\r\n]+$`)
	n, want := 0, 0
	for l := range strings.Lines(document(t, "github", 1, its)) {
		n++
		must.Be(t, line.MatchString(strings.TrimSuffix(l, "\n")), "%q", l)
	}
	for _, it := range its {
		want += min(it.Findings(), 10)
	}
	must.Equal(t, n, want, "lines for findings")
}

// TestInRepository: annotations and SARIF name a history from the repository's root, wherever the program runs and
// however it was named; one outside keeps its name.
func TestInRepository(t *testing.T) {
	root, outside := filepath.Join(t.TempDir(), "repo"), filepath.Join(t.TempDir(), "h.jsonl")
	sub := filepath.Join(root, "a", "b")
	must.OK(t, errors.Join(os.MkdirAll(sub, 0o755), os.Mkdir(filepath.Join(root, ".git"), 0o755)))
	t.Chdir(sub)
	for _, workspace := range []string{"", root, filepath.Dir(root)} {
		t.Setenv("GITHUB_WORKSPACE", workspace)
		in := "a/"
		if workspace == filepath.Dir(root) {
			in = filepath.Base(root) + "/a/"
		}
		for file, want := range map[string]string{"h.jsonl": in + "b/h.jsonl", filepath.Join(sub, "h.jsonl"): in +
			"b/h.jsonl", "../h.jsonl": in + "h.jsonl", outside: outside} {
			its := []*report.Item{{Path: file, Err: errors.New("no history")}}
			if got := document(t, "github", 1, its); !strings.Contains(got, " file="+want+",") {
				t.Errorf("%s with GITHUB_WORKSPACE=%s: %s", file, workspace, got)
			}
			if filepath.IsAbs(want) {
				want = "file://" + want
			}
			if got := document(t, "sarif", 1, its); !strings.Contains(got, `{"uri":"`+want+`"}`) {
				t.Errorf("%s with GITHUB_WORKSPACE=%s: %s", file, workspace, got)
			}
		}
	}
}

// TestTotals: every history counts once.
func TestTotals(t *testing.T) {
	var sum report.Totals
	its := items(t, false)
	for _, it := range its {
		sum.Add(it)
	}
	if sum.Histories != len(its) || sum.Valid+sum.Violated+sum.Open+sum.Failed != len(its) || sum.Failed != 2 ||
		sum.Violated == 0 || sum.Valid == 0 {
		t.Errorf("%+v", sum)
	}
	kinds := 0
	for _, n := range sum.Kinds {
		kinds += n
	}
	if kinds != sum.Violated || !strings.Contains(sum.String(), "62 histories: ") {
		t.Errorf("%d kinds; %s", kinds, sum.String())
	}
}
