package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"isovet/evidence"
	"isovet/internal/escape"
)

// junit writes what CI systems know as JUnit XML: a suite a history, a case a level. What is unknown, and what could
// not be read, is an error there, not a failure.
//
// Source: the schema of Jenkins' xUnit plugin, junit-10.xsd.
var junit = Stream{
	Begin: func(w io.Writer, _, _ int) error {
		_, err := io.WriteString(w, xml.Header+`<testsuites name="isovet">`+"\n")
		return err
	},
	Item: func(w io.Writer, _, answers, _ int, it *Item) error {
		s := junitSuite{Name: escape.XML(it.Path), Time: seconds(it.Seconds)}
		for _, r := range it.Answers {
			s.Cases = append(s.Cases, junitCaseOf(it, r))
		}
		if it.unanswered() {
			c := junitCase{Name: "check", Class: s.Name, Time: s.Time,
				Error: &junitWhy{"bad input", escape.XML(it.errText()), escape.XML(it.errText())}}
			s.Cases = append(s.Cases, c)
		}
		for i := range s.Cases {
			c := &s.Cases[i]
			s.Tests++
			s.Failures += one(c.Failure != nil)
			s.Errors += one(c.Error != nil)
			s.Skipped += one(c.Skipped != nil)
		}
		b, err := xml.MarshalIndent(s, "  ", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(b, '\n'))
		return err
	},
	End: func(w io.Writer, _ int, _ string) error {
		_, err := io.WriteString(w, "</testsuites>\n")
		return err
	},
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string    `xml:"name,attr"`
	Class   string    `xml:"classname,attr"`
	Time    string    `xml:"time,attr"`
	Skipped *junitWhy `xml:"skipped,omitempty"`
	Error   *junitWhy `xml:"error,omitempty"`
	Failure *junitWhy `xml:"failure,omitempty"`
	Out     string    `xml:"system-out,omitempty"`
}

type junitWhy struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func junitCaseOf(it *Item, r *evidence.Result) junitCase {
	c := junitCase{Name: r.Label(), Class: escape.XML(it.Path), Time: seconds((r.Stats.LoadMS + r.Stats.CheckMS) / 1e3)}
	switch r.Verdict {
	case evidence.Violated:
		var b strings.Builder
		fs := findings(it.Path, r)
		for _, f := range fs {
			fmt.Fprintf(&b, "%s\n%s", f.title, f.text)
			if f.at.line > 0 {
				fmt.Fprintf(&b, "\n%s:%d", f.at.file, f.at.line)
			}
			b.WriteString("\n")
		}
		c.Failure = &junitWhy{fs[0].kind, escape.XML(fs[0].title), escape.XML(b.String())}
	case evidence.Unknown:
		why := &junitWhy{"unknown", escape.XML(r.Reason), ""}
		if skipped(r) {
			why.Type = ""
			c.Skipped = why
		} else {
			c.Error = why
		}
	}
	c.Out = escape.XML(Summary(r))
	return c
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
