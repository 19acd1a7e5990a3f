package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
)

func newVerify(e *env) *cobra.Command {
	var asJSON bool
	var skew time.Duration
	var from loading
	c := &cobra.Command{
		Use: "verify [flags] CERT HISTORY", GroupID: "work",
		Short: "Replay a certificate without the checker that wrote it",
		Long: `verify reads a certificate, as isovet check --certificate writes it, and replays it against the history: the order of a
valid history read by read, the cycles of a violation edge by edge. It shares no code with the checkers. One of the two may
be "-", standard input.

Exit status: 0 the certificate proves its verdict, 1 it does not, 254 it cannot be read or speaks of another history.`,
		Example:           "  isovet check --certificate h.cert h.jsonl; isovet verify h.cert h.jsonl",
		Args:              exactly("CERT", "HISTORY"),
		ValidArgsFunction: historyFiles,
		RunE: func(c *cobra.Command, args []string) error {
			if args[0] == "-" && args[1] == "-" {
				return usagef("standard input is named twice")
			}
			if skew < 0 {
				return usagef("--clock-skew %v is negative", skew)
			}
			return runVerify(c.Context(), e, args[0], args[1], from, skew, asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	c.Flags().DurationVar(&skew, "clock-skew", 0, "what isovet check was given")
	from.flags(c, "format", "the history")
	return c
}

// verifyResult is what "isovet verify --json" prints.
type verifyResult struct {
	Certificate string `json:"certificate"`
	History     string `json:"history"`
	Level       string `json:"level"`
	Checker     string `json:"checker"`
	Verdict     string `json:"verdict"`
	Certified   bool   `json:"certified"`
	Reason      string `json:"reason,omitempty"` // where it is refuted: why

	Notes []history.Note `json:"notes,omitempty"` // what the history's reader has to say of it
}

func runVerify(ctx context.Context, e *env, cert, path string, from loading, skew time.Duration, asJSON bool) error {
	h, err := loadHistory(ctx, path, from)
	if err != nil {
		return orInterrupted(err, "loading "+path)
	}
	e.sayNotes(path, h)
	var in io.Reader = e.stdin
	if cert != "-" {
		f, err := os.Open(cert)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	r, err := evidence.ReadCertificate(in, h)
	if err != nil {
		return named(err, cert)
	}
	err = certify.Check(r, certify.Options{ClockSkew: skew.Nanoseconds()})
	var cannot *certify.Unsupported
	if errors.As(err, &cannot) {
		return usagef("%s: %v", cert, err)
	}
	v := verifyResult{Certificate: cert, History: path, Level: r.Label(), Checker: r.Checker, Verdict: r.Verdict.String(), Certified: err == nil, Notes: h.Notes}
	if err != nil {
		v.Reason = err.Error()
	}
	if asJSON {
		if err := jsonLine(e.stdout, &v); err != nil {
			return err
		}
	} else if v.Certified {
		fmt.Fprintf(e.stdout, "%s: certified: %s is %s at %s\n", cert, path, verdictWords(r.Verdict), r.Label())
	} else {
		fmt.Fprintf(e.stdout, "%s: REFUTED: it does not prove that %s is %s at %s: %s\n", cert, path, verdictWords(r.Verdict), r.Label(), v.Reason)
	}
	if !v.Certified {
		return status(statusViolation)
	}
	return nil
}

func verdictWords(v evidence.Verdict) string {
	if v == evidence.Violated {
		return "a violation"
	}
	return v.String()
}
