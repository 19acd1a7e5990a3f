package check

import (
	"bytes"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"isovet/check/mechanism"
	"isovet/docs"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
	"isovet/level"
)

var updateTakes = flag.Bool("update", false, "write docs/takes.md anew")

const takesPage = "../docs/takes.md"

// traits are what a history may have that not every checker takes, each with a small history that satisfies every
// level.
var traits = []struct{ name, about, text string }{
	{"registers", "reads and writes, each write after a read, with sessions, client times and database timestamps",
		"init=0: s1: r(x,0) w(x,1) @[1,2] ts[1,2] | s2: r(x,1) w(x,2) @[3,4] ts[3,4] | s1: r(x,2) @[5,6] ts[5,5]"},
	{"blind writes", "writes of a key that the transaction has not read",
		"init=0: s1: w(x,1) @[1,4] ts[1,2] | s2: w(x,2) @[2,4] ts[3,4] | s1: r(x,2) @[5,6] ts[5,5]"},
	{"several keys", "transactions of more than one key",
		"init=0: s1: r(x,0) w(x,1) r(y,0) @[1,2] ts[1,2] | s2: r(x,1) w(y,2) @[3,4] ts[3,4]"},
	{"deletes", "a write of null, and reads that find nothing",
		"init=0: s1: r(x,0) w(x,_) @[1,2] ts[1,2] | s2: r(x,_) w(x,2) @[3,4] ts[3,4] | s1: r(x,2) @[5,6] ts[5,5]"},
	{"duplicate values", "two transactions write one value to a key, and a third reads it",
		"init=0: s1: r(x,0) w(x,1) @[1,2] ts[1,2] | s2: r(x,1) w(x,2) @[3,4] ts[3,4] | " +
			"s1: r(x,2) w(x,1) @[5,6] ts[5,6] | s2: r(x,1) @[7,8] ts[7,7]"},
	{"unknown outcome", "a transaction of unknown outcome, whose write was read",
		"init=0: s1: r(x,0) w(x,1) @[1,_] ts[1,2] ? | s2: r(x,1) @[3,4] ts[3,3]"},
	{"unknown outcome, open", "as before, and another transaction wrote the value too",
		"init=0: s1: r(x,0) w(x,1) @[1,_] ts[1,2] ? | s2: w(x,1) @[3,4] ts[3,4] | s3: r(x,1) @[5,6] ts[5,5]"},
	{"predicate operations", "reads of all rows that match, on two keys",
		"init=0: s1: r(x,0) w(x,1) @[1,2] ts[1,2] | s2: r(y,0) w(y,2) @[3,4] ts[3,4] | " +
			`s1: pr{"":{"=":1}}[x=1] @[5,6] ts[5,5]`},
	{"lists", "appends to lists, and reads of whole lists",
		"s1: a(x,1) @[1,2] ts[1,2] | s2: r(x,[1]) a(x,2) @[3,4] ts[3,4] | s1: r(x,[1,2]) @[5,6] ts[5,5]"},
	{"lists beside predicates", "lists and predicate operations in one history",
		`s1: a(x,1) w(y,1) @[1,2] ts[1,2] | s2: r(x,[1]) pr{"":{"=":1}}[y=1] @[3,4] ts[3,3]`},
	{"no client times", "no times at all, but database timestamps",
		"init=0: s1: r(x,0) w(x,1) ts[1,2] | s2: r(x,1) w(x,2) ts[3,4]"},
	{"no timestamps", "client times, but no timestamps of the database",
		"init=0: s1: r(x,0) w(x,1) @[1,2] | s2: r(x,1) w(x,2) @[3,4]"},
}

// TestTakesPage: docs/takes.md is what the checkers say of a history of each trait: they decide it, or say why not.
// What they decide is right: all these histories satisfy every level.
func TestTakesPage(t *testing.T) {
	var page bytes.Buffer
	page.WriteString(takesHead)
	var reasons, same []string
	var registers map[string]string
	for _, trait := range traits {
		says := map[string]string{}
		var who, lines []string
		for _, c := range All() {
			name := c.Info().Name
			says[name] = decided(t, c, trait.name, notation.MustParse(trait.text), &reasons)
			if says[name] == registers[name] || registers == nil && says[name] == "all of its levels" {
				continue
			}
			i := slices.Index(lines, says[name])
			if i < 0 {
				i, lines, who = len(lines), append(lines, says[name]), append(who, "")
			}
			who[i] += ", `" + name + "`"
		}
		if len(lines) == 0 {
			same = append(same, trait.name+" ("+trait.about+")")
			continue
		}
		fmt.Fprintf(&page, "\n## %s%s\n\n%s%s.\n\n", strings.ToUpper(trait.name[:1]), trait.name[1:],
			strings.ToUpper(trait.about[:1]), trait.about[1:])
		for i, line := range lines {
			fmt.Fprintf(&page, "- %s: %s\n", strings.TrimPrefix(who[i], ", "), line)
		}
		if registers == nil {
			registers = says
		}
	}
	fmt.Fprintf(&page, "\n## As registers\n\nThe checkers decide these at the same levels as registers:\n\n")
	for _, s := range same {
		fmt.Fprintf(&page, "- %s\n", s)
	}
	page.WriteString("\n## Reasons\n\n")
	for i, why := range reasons {
		fmt.Fprintf(&page, "%d. %s\n", i+1, why)
	}
	want := []byte(folded(page.String()))
	if *updateTakes {
		must.OK(t, os.WriteFile(takesPage, want, 0o644))
	}
	got, err := os.ReadFile(takesPage)
	must.Be(t, err == nil && bytes.Equal(got, want),
		"docs/takes.md is not what the checkers say (%v): go test ./check -run TestTakesPage -update", err)
}

// decided says at which levels a checker decides a history that satisfies them all, and numbers the reasons where it
// does not.
func decided(t *testing.T, c Checker, trait string, h *history.History, reasons *[]string) string {
	profile := must.Get(mechanism.LookupProfile("postgresql:serializable"))(t)
	in := c.Info()
	var yes, because []string
	no := map[int][]string{}
	for _, l := range level.All() {
		if !in.Decides(l) {
			continue
		}
		short := append(l.ShortNames(), l.String())[0]
		r, err := Run(t.Context(), c, h, Options{Level: l, Profile: profile})
		switch {
		case err != nil:
			t.Fatalf("%s, %s, %s: %v", trait, in.Name, l, err)
		case r.Verdict == evidence.Violated:
			t.Errorf("%s: %s says that %s is violated: %+v", trait, in.Name, l, r.Anomalies)
		case r.Verdict == evidence.Holds:
			yes = append(yes, short)
		case r.Reason == "":
			t.Errorf("%s: %s does not decide %s, and does not say why", trait, in.Name, l)
		default:
			why := regexp.MustCompile(`\b`+regexp.QuoteMeta(in.Name)+`\b`).ReplaceAllString(r.Reason, "the checker")
			why = strings.ReplaceAll(why, l.String(), "the level")
			if !slices.Contains(*reasons, why) {
				*reasons = append(*reasons, why)
			}
			i := slices.Index(*reasons, why)
			no[i] = append(no[i], short)
		}
	}
	for _, i := range slices.Sorted(maps.Keys(no)) {
		because = append(because, fmt.Sprintf("%s (%d)", strings.Join(no[i], " "), i+1))
	}
	switch {
	case len(no) == 0:
		return "all of its levels"
	case len(yes) > 0:
		return strings.Join(yes, " ") + "; not " + strings.Join(because, ", ")
	case len(because) == 1:
		return "no level" + because[0][strings.LastIndex(because[0], " "):]
	}
	return "none of " + strings.Join(because, ", ")
}

const takesHead = `# What each checker takes

This page shows why a checker answers "unknown". A test writes it (go test ./check -run TestTakesPage -update). The
test gives each checker a small history that has one trait and satisfies every level. A line names checkers, the levels ([levels.md](levels.md)) that they decide, and the number of the [reason](#reasons) why they do not decide the others. A checker that "Registers" does not name decides registers at all of its levels. The sections on other traits name only the checkers that decide the trait at other levels than registers. "leopard" has the profile of PostgreSQL's serializable level.
`

// folded breaks lines at 120 columns; those of a list are indented.
func folded(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		indent := ""
		if strings.HasPrefix(line, "- ") {
			indent = "  "
		} else if _, _, ok := strings.Cut(line, ". "); ok && line[0] >= '0' && line[0] <= '9' {
			indent = "   "
		}
		column := 0
		for i, word := range strings.Split(line, " ") {
			n := len([]rune(word))
			switch {
			case i == 0:
				column = n
			case column+1+n > 120:
				b.WriteString("\n" + indent)
				column = len(indent) + n
			default:
				b.WriteByte(' ')
				column += 1 + n
			}
			b.WriteString(word)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestAnomaliesPage: docs/anomalies.md has every kind once, says which levels are the weakest that forbid it as package
// level does, and its examples are named so by the checkers that auto takes, at those levels.
func TestAnomaliesPage(t *testing.T) {
	var kinds []level.Anomaly
	for _, item := range docs.Anomalies() {
		kind := level.Anomaly(item.Kind)
		kinds = append(kinds, kind)
		if kind.Name() == string(kind) && strings.ContainsAny(string(kind), "-0123456789") {
			t.Errorf("%s has no name in words", kind)
		}
		h, err := notation.Parse(item.Example)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		var weakest []string
		checked := 0
		for _, l := range kind.Weakest() {
			c, ok := Auto(h, l)
			if kind == level.PredicateMismatch && l == level.RepeatableRead || l == level.Linearizable &&
				kind != level.StaleRead && kind != level.NonLinearizable {
				// repeatable-read has no predicates; linearizability forbids nearly all, and the page says so
				continue
			}
			weakest = append(weakest, l.String())
			if !ok || h.HasPredicates() && l == level.RepeatableRead {
				continue
			}
			r, err := Run(t.Context(), c, h, Options{Level: l})
			switch {
			case err != nil:
				t.Errorf("%s at %s: %v", kind, l, err)
			case r.Verdict == evidence.Unknown && l == level.Linearizable, kind == level.NonLinearizable &&
				l != level.Linearizable:
			case kind == level.NonLinearizable && r.Verdict == evidence.Violated && len(r.Anomalies[0].Cycles) > 0:
				checked++ // a proof by cycles says more than that there is no order
			case r.Verdict != evidence.Violated || r.Anomalies[0].Kind != kind:
				got := ""
				if len(r.Anomalies) > 0 {
					got = string(r.Anomalies[0].Kind) + "\n" + r.Anomalies[0].Text
				}
				t.Errorf("%s at %s: %s says %s %s %s", kind, l, r.Checker, r.Verdict, r.Reason, got)
			default:
				checked++
			}
		}
		must.Be(t, checked != 0, "%s: no level was checked", kind)
		must.Equal(t, item.Weakest, strings.Join(weakest, ", "), "the weakest that forbids %s", kind)
	}
	for _, k := range level.Anomalies() {
		want := []level.Anomaly{k}
		if slices.Contains([]level.Anomaly{level.G0, level.G1c, level.GSingle, level.GNonadjacent, level.G2Item,
			level.G2}, k) {
			want = append(want, k+"-session", k+"-realtime")
		}
		for _, k := range want {
			if n := len(slices.DeleteFunc(slices.Clone(kinds), func(o level.Anomaly) bool { return o != k })); n != 1 {
				t.Errorf("the page has %s %d times", k, n)
			}
		}
	}
}
