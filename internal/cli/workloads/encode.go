package workloads

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/check"
	"isovet/encode"
	"isovet/evidence"
	"isovet/internal/cli/console"
	"isovet/internal/guard"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/level"
)

type encodeFlags struct {
	from              console.Loading
	level             level.Level
	encoding, to, out string
	mapping, solution string
	certificate       string
	pruned, quiet     bool
	skew, timeout     time.Duration
}

func NewEncode(e *console.Env) *cobra.Command {
	f := encodeFlags{encoding: check.FormulaEncodings()[0], to: encode.Exports()[0].Name}
	forms := slice.Map(encode.Exports(), func(x encode.Export) string { return x.Name })
	c := console.Command("encode", console.OneHistory(&f.from, "HISTORY"), func(c *cobra.Command, args []string) error {
		if err := console.Crossed(c); err != nil {
			return err
		}
		return runEncode(c.Context(), e, &f, f.from.Histories(args)[0])
	})
	c.ValidArgsFunction = console.HistoryFiles
	console.LevelFlag(c, &f.level)
	console.EnumFlag(c, &f.encoding, "encoding", "encoding",
		"encoding of choices: "+strings.Join(check.FormulaEncodings(), ", "), check.FormulaEncodings())
	console.EnumFlag(c, &f.to, "to", "form", "form of the formula: dimacs, gnf, smt2", forms)
	f.from.Flags(c, "format", "the history")
	f.from.TogetherFlag(c)
	fl := c.Flags()
	fl.StringVarP(&f.out, "out", "o", "-", "`FILE` for the formula; - is standard output")
	fl.StringVar(&f.mapping, "map", "", "`FILE` that explains the variables (default: -o with .map)")
	fl.StringVar(&f.solution, "solution", "", "certify a solver's answer in `FILE`; - is standard input")
	fl.StringVar(&f.certificate, "certificate", "", "--solution: write a certificate to `FILE`")
	fl.BoolVar(&f.pruned, "pruned", false, "prune first, for a smaller formula")
	fl.DurationVar(&f.skew, "clock-skew", 0, "widen client intervals by this at both ends")
	fl.DurationVar(&f.timeout, "timeout", 0, "time bound")
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing on standard error")
	return c
}

func runEncode(ctx context.Context, e *console.Env, f *encodeFlags, path string) error {
	switch {
	case f.skew < 0:
		return console.Usagef("--clock-skew %v is negative", f.skew)
	case f.timeout < 0:
		return console.Usagef("--timeout %v is negative", f.timeout)
	case f.solution == "-" && path == "-":
		return console.Usagef("standard input is named twice")
	}
	all := encode.Exports()
	form := all[slices.IndexFunc(all, func(x encode.Export) bool { return x.Name == f.to })]
	made, err := guard.Run(ctx, guard.Limits{Timeout: f.timeout}, func() string { return "encoding" },
		func(ctx context.Context) (made[*check.Formula],
			error) {
			h, err := console.LoadHistory(ctx, path, f.from)
			if err != nil {
				return made[*check.Formula]{}, err
			}
			e.SayNotes(path, h)
			o := check.FormulaOptions{Options: check.Options{Level: f.level, ClockSkew: f.skew.Nanoseconds(),
				Pipeline: check.Pipeline{Encoding: f.encoding}}, Pruned: f.pruned, Eager: form.Eager}
			formula, why, err := check.NewFormula(ctx, h, o)
			return made[*check.Formula]{formula, why}, err
		})
	var stopped *guard.StoppedError
	switch {
	case errors.As(err, &stopped):
		return console.Exit(console.StoppedStatus(stopped), fmt.Errorf("%s: %s", path, stopped.Text))
	case err != nil:
		return err
	case made.why != "":
		return console.Exit(console.StatusUnknown, fmt.Errorf("%s: no formula: %s", path, made.why))
	}
	if f.solution != "" {
		return f.solve(e, made.it, path)
	}
	return f.write(e, made.it, form, path)
}

// made is a result, or the reason why there is none.
type made[T any] struct {
	it  T
	why string
}

// write writes the formula and the map of its variables.
func (f *encodeFlags) write(e *console.Env, q *check.Formula, form encode.Export, path string) error {
	if err := e.WriteFile(f.out, func(w io.Writer) error { return form.Write(w, q.Problem) }); err != nil {
		return err
	}
	if f.mapping == "" && f.out != "-" {
		f.mapping = f.out + ".map"
	}
	if f.mapping != "" {
		if err := e.WriteFile(f.mapping, func(w io.Writer) error { return encode.WriteMap(w, q.Problem) }); err != nil {
			return err
		}
	}
	if !f.quiet {
		s := fmt.Sprintf("%s at %s as %s, encoding %s: %s, %s, %s", path, f.level, f.to, f.encoding,
			plural.Of(q.Vars, "variable"), plural.Of(len(q.Clauses), "clause"), plural.Of(q.P.N, "node"))
		if q.Refuted != "" {
			s += "; unsatisfiable at once: " + q.Refuted
		}
		fmt.Fprintln(e.Stderr, s)
	}
	return nil
}

// solve checks a solver's answer and certifies it.
func (f *encodeFlags) solve(e *console.Env, q *check.Formula, path string) error {
	in := e.Stdin
	if f.solution != "-" {
		file, err := os.Open(f.solution)
		if err != nil {
			return console.Exit(console.StatusBadInput, err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(in)
	if err != nil {
		return err
	}
	r, err := q.Read(string(text), f.skew.Nanoseconds())
	switch {
	case errors.Is(err, check.ErrUnsatisfiable):
		return console.Exit(console.StatusUnknown,
			fmt.Errorf("%s: %v; isovet check finds a violation that is certified",
				f.solution, err))
	case errors.Is(err, check.ErrNoAnswer), errors.Is(err, check.ErrNoModel):
		return console.Usagef("%s: %v", f.solution, err)
	}
	if fault, ok := errors.AsType[*check.Fault](err); ok {
		return fault
	}
	if err != nil {
		return console.Exit(console.StatusViolation, fmt.Errorf("%s: %v", f.solution, err))
	}
	_, err = fmt.Fprintf(e.Stdout, "%s: valid: %s, by the model of %s; its order is certified\n", path, f.level,
		f.solution)
	if err != nil || f.certificate == "" {
		return err
	}
	return e.WriteFile(f.certificate, func(w io.Writer) error { return evidence.WriteCertificate(w, r) })
}
