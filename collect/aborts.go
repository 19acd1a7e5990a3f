package collect

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"isovet/collect/driver"
	"isovet/internal/slice"
)

// Abort is a reason why attempts at transactions did not commit, or may not have committed.
type Abort struct {
	// Class is the name of a driver.Class, or ByClient or AtEnd.
	Class string
	Code  string // the database's code, such as an SQLSTATE; "": it gives none
	Text  string // text of the first error, in one line
	Count int
	// Unknown says that the commit had been sent, so that nobody knows whether the transaction committed.
	Unknown bool
}

const (
	// ByClient is the class of transactions that the workload rolls back.
	ByClient = "rolled back by the client"
	// AtEnd is the class of transactions that were under way when the run ended.
	AtEnd = "ended with the run"
)

// Refused reports whether the database, or the connection to it, caused the abort.
func (a *Abort) Refused() bool { return a.Class != ByClient && a.Class != AtEnd }

// abortKey identifies a reason by the database's code or, if it gives none, by the text without numbers.
type abortKey struct {
	class, code, text string
	unknown           bool
}

// mostReasons bounds the reasons that a session distinguishes. All further ones count as one.
const mostReasons = 64

// longestReason bounds the bytes of a reason's text.
const longestReason = 240

// unmade counts an attempt that did not commit, by its reason.
func (c *client) unmade(class, code, text string, unknown bool) {
	k := abortKey{class: class, code: code, unknown: unknown}
	if code == "" {
		k.text = withoutNumbers(text)
	}
	n := c.unmades[k]
	if n == nil {
		if len(c.unmades) >= mostReasons {
			k.code, k.text, text = "", "others", "others"
		}
		if n = c.unmades[k]; n == nil {
			n = &Abort{Class: class, Code: k.code, Text: OneLine(text), Unknown: unknown}
			slice.MakeMap(&c.unmades)
			c.unmades[k] = n
		}
	}
	n.Count++
}

// unmadeBy counts an attempt that did not commit because of an error of the database.
func (c *client) unmadeBy(class driver.Class, err error, unknown bool) {
	c.unmade(class.String(), driver.Code(err), err.Error(), unknown)
}

// withoutNumbers replaces each number of a text by #.
func withoutNumbers(s string) string {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	first := strings.IndexAny(s, "0123456789")
	if first < 0 {
		return s
	}
	b := append(make([]byte, 0, len(s)), s[:first]...)
	for i := first; i < len(s); i++ {
		if !digit(s[i]) {
			b = append(b, s[i])
		} else if i == first || !digit(s[i-1]) {
			b = append(b, '#')
		}
	}
	return string(b)
}

// OneLine returns an error's text on one line, without passwords.
func OneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(driver.Redact(s), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(s) > longestReason {
		s = strings.ToValidUTF8(s[:longestReason], "") + "…"
	}
	return s
}

// aborts returns the reasons of all sessions, the most frequent first.
func (r *run) aborts() []Abort {
	lists := make([][]Abort, len(r.clients))
	for i, c := range r.clients {
		for _, a := range c.unmades {
			lists[i] = append(lists[i], *a)
		}
		sortAborts(lists[i]) // so that the choice of the text does not depend on a map's order
	}
	return MergeAborts(lists...)
}

// MergeAborts adds up the reasons of several sessions or rounds.
func MergeAborts(lists ...[]Abort) (all []Abort) {
	at := map[abortKey]int{}
	for _, list := range lists {
		for _, a := range list {
			k := abortKey{class: a.Class, code: a.Code, unknown: a.Unknown}
			if a.Code == "" {
				k.text = withoutNumbers(a.Text)
			}
			if i, ok := at[k]; ok {
				all[i].Count += a.Count
				continue
			}
			at[k] = len(all)
			all = append(all, a)
		}
	}
	sortAborts(all)
	return all
}

func sortAborts(all []Abort) {
	slices.SortFunc(all, func(a, b Abort) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Text, b.Text))
	})
}

// Refused returns the number of attempts that the database refused or whose connection was lost, including those of
// unknown outcome. Attempts that the workload rolled back, or that the end of the run interrupted, do not count.
func (s *Summary) Refused() (n int) {
	for i := range s.Aborts {
		if s.Aborts[i].Refused() {
			n += s.Aborts[i].Count
		}
	}
	return n
}

// class returns the meaning of an error for the open transaction. If a row lacks its parent row, the database refused
// the transaction, provided that the workload has foreign keys; otherwise the workload is wrong.
func (r *run) class(err error) driver.Class {
	class := r.target.DB.Classify(err)
	if class == driver.Fatal && r.foreign && driver.Broken(err) {
		return driver.Aborted
	}
	return class
}
