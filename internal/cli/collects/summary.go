package collects

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"isovet/collect"
	"isovet/internal/cli/console"
	"isovet/internal/plural"
	"isovet/internal/slice"
)

// headline describes a run in a sentence.
func headline(s *collect.Summary) string {
	t := fmt.Sprintf("%s, %s, %s: %d committed, %d aborted", s.DB, s.Isolation, s.Workload, s.Committed, s.Aborted)
	if s.Unknown > 0 {
		t += fmt.Sprintf(", %d of unknown outcome", s.Unknown)
	}
	return t + fmt.Sprintf(" by %s in %.1f s; %.0f commits/s, %.1f %% aborted", plural.Of(s.Sessions, "session"),
		s.Elapsed.Seconds(), s.Rate(), 100*s.AbortRate())
}

var templateHeader = []string{"transaction", "committed", "aborted", "unknown", "aborted %", "median ms",
	"99 % below ms"}

func templateRows(s *collect.Summary) [][]string {
	var rows [][]string
	ms := func(d time.Duration) string { return strconv.FormatFloat(console.Milliseconds(d), 'f', 2, 64) }
	for _, t := range slice.Refs(s.Templates) {
		rows = append(rows, []string{t.Name, strconv.Itoa(t.Committed), strconv.Itoa(t.Aborted),
			strconv.Itoa(t.Unknown), strconv.FormatFloat(100*t.AbortRate(), 'f', 1, 64), ms(t.P50), ms(t.P99)})
	}
	return rows
}

// collected is what "isovet collect --json" prints.
type collected struct {
	File          string   `json:"file"`
	DB            string   `json:"db"`
	Isolation     string   `json:"isolation"`
	Workload      string   `json:"workload"`
	Nodes         []string `json:"nodes"`
	Sessions      int      `json:"sessions"`
	Committed     int      `json:"committed"`
	Aborted       int      `json:"aborted"`
	Unknown       int      `json:"unknown"`
	ElapsedMS     float64  `json:"elapsed_ms"`
	CommitsPerSec float64  `json:"commits_per_s"`
	AbortRate     float64  `json:"abort_rate"`
	Interrupted   bool     `json:"interrupted,omitempty"`
	Parts         int      `json:"parts,omitempty"`
	// Of --check.
	Verdict string `json:"verdict,omitempty"`
	Level   string `json:"level,omitempty"`
	replayedJSON

	Transactions []templateJSON `json:"transactions"`
	Aborts       []abortJSON    `json:"aborts,omitempty"` // the most frequent reason first
	// Of --fault ddl.
	SchemaChanges int    `json:"schema_changes,omitempty"`
	SchemaRefused int    `json:"schema_refused,omitempty"`
	OtherPlan     string `json:"other_plan,omitempty"`
	// Missed are statements of the user's own workload that were not recorded.
	Missed []string `json:"missed,omitempty"`
}

// replayedJSON is how often an incident's schedule was run, and how often it violated the level.
type replayedJSON struct {
	ReplayRuns     int `json:"replay_runs,omitempty"`
	ReplayViolated int `json:"replay_violated,omitempty"`
}

type templateJSON struct {
	Name      string  `json:"name"`
	Committed int     `json:"committed"`
	Aborted   int     `json:"aborted"`
	Unknown   int     `json:"unknown"`
	P50MS     float64 `json:"p50_ms"`
	P99MS     float64 `json:"p99_ms"`
}

func summaryJSON(file string, r *collect.Result) collected {
	s := &r.Summary
	c := collected{
		File: file, DB: s.DB, Isolation: s.Isolation, Workload: s.Workload, Nodes: slices.Clone(s.Nodes),
		Sessions:  s.Sessions,
		Committed: s.Committed, Aborted: s.Aborted, Unknown: s.Unknown, ElapsedMS: console.Milliseconds(s.Elapsed),
		CommitsPerSec: s.Rate(),
		AbortRate:     s.AbortRate(), Interrupted: r.Interrupted, Parts: r.Parts.Files, Transactions: []templateJSON{},
		Aborts: abortsJSON(s.Aborts), SchemaChanges: s.SchemaChanges, SchemaRefused: s.SchemaRefused,
		OtherPlan: s.OtherPlan, Missed: s.Missed,
	}
	for _, t := range s.Templates {
		c.Transactions = append(c.Transactions, templateJSON{t.Name, t.Committed, t.Aborted, t.Unknown,
			console.Milliseconds(t.P50), console.Milliseconds(t.P99)})
	}
	return c
}

// abortJSON is a reason why attempts did not commit.
type abortJSON struct {
	Class   string `json:"class"`
	Code    string `json:"code,omitempty"`
	Text    string `json:"text,omitempty"` // of the first
	Count   int    `json:"count"`
	Unknown bool   `json:"unknown,omitempty"` // the commit had been sent
}

func abortsJSON(all []collect.Abort) []abortJSON {
	return slice.Map(all, func(a collect.Abort) abortJSON {
		return abortJSON{a.Class, a.Code, a.Text, a.Count, a.Unknown}
	})
}

// mostAborts bounds the reasons in a text; --json has all.
const mostAborts = 8

// sayAborts prints the reasons why attempts did not commit.
func sayAborts(w io.Writer, all []collect.Abort) error {
	if len(all) == 0 {
		return nil
	}
	var rows [][]string
	rest := 0
	for i, a := range all {
		if i >= mostAborts {
			rest += a.Count
			continue
		}
		class := a.Class
		if a.Unknown {
			class += ", outcome unknown"
		}
		rows = append(rows, []string{strconv.Itoa(a.Count), class, a.Code, a.Text})
	}
	if err := console.Table(w, []string{"attempts", "not committed", "code", "the first time"}, rows); err != nil {
		return err
	}
	if rest > 0 {
		_, err := fmt.Fprintf(w, "and %s for %s\n", plural.Of(rest, "attempt"),
			plural.Of(len(all)-mostAborts, "other reason"))
		return err
	}
	return nil
}
