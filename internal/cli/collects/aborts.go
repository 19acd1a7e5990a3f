package collects

import (
	"fmt"
	"io"
	"strconv"

	"isovet/collect"
	"isovet/internal/cli/console"
	"isovet/internal/plural"
)

// abortJSON is a reason for which attempts did not commit.
type abortJSON struct {
	Class   string `json:"class"`
	Code    string `json:"code,omitempty"`
	Text    string `json:"text,omitempty"` // of the first
	Count   int    `json:"count"`
	Unknown bool   `json:"unknown,omitempty"` // the commit had been sent
}

func abortsJSON(all []collect.Abort) []abortJSON {
	var out []abortJSON
	for _, a := range all {
		out = append(out, abortJSON{a.Class, a.Code, a.Text, a.Count, a.Unknown})
	}
	return out
}

// mostAborts is how many reasons are told in words; --json has all.
const mostAborts = 8

// sayAborts tells for what reasons attempts did not commit.
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
