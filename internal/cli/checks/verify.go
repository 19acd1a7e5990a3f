package checks

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"isovet/certify"
	"isovet/certify/elaborate"
	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/cli/console"
	"isovet/internal/guard"
)

type verifyFlags struct {
	from   console.Loading
	skew   time.Duration
	limits guard.Limits
	json   bool
	spill  string // a folder for files
	kernel bool
	proof  string // a file for isovet-kernel

	kernelFile string // such a file, to be judged
}

func NewVerify(e *console.Env) *cobra.Command {
	var f verifyFlags
	c := console.Command("verify", func(c *cobra.Command, args []string) error {
		if f.kernelFile != "" {
			return console.Exactly()(c, args)
		}
		return console.OneHistory(&f.from, "CERT", "HISTORY")(c, args)
	}, func(c *cobra.Command, args []string) error {
		if err := console.Crossed(c); err != nil {
			return err
		}
		switch {
		case f.kernelFile != "" && f.limits.Timeout >= 0:
			return judgeFile(c.Context(), e, &f)
		case f.kernelFile == "" && args[0] == "-" && args[1] == "-":
			return console.Usagef("standard input is named twice")
		case f.skew < 0:
			return console.Usagef("--clock-skew %v is negative", f.skew)
		case f.limits.Timeout < 0:
			return console.Usagef("--timeout %v is negative", f.limits.Timeout)
		}
		if f.from.Together {
			args = append(args[:1:1], f.from.Histories(args[1:])...)
		}
		cert, path := args[0], args[1]
		if IsCertificate(path) && !IsCertificate(cert) {
			cert, path = path, cert
		}
		if f.kernel = f.kernel || f.proof != ""; IsLarge(cert) {
			if f.kernel {
				return console.Usagef("--kernel and --proof: %s certifies a check out of core, which the kernel "+
					"does not judge", cert)
			}
			return verifyLarge(c.Context(), e, &f, cert, path)
		}
		return runVerify(c.Context(), e, &f, cert, path)
	})
	c.ValidArgsFunction = console.HistoryFiles
	fl := c.Flags()
	fl.BoolVar(&f.json, "json", false, "print one JSON object")
	fl.DurationVar(&f.skew, "clock-skew", 0, "the --clock-skew that isovet check had")
	fl.DurationVar(&f.limits.Timeout, "timeout", 0, "time bound")
	fl.Var(console.Size(&f.limits.Memory), "memory", "memory bound, such as 2GiB")
	fl.BoolVar(&f.kernel, "kernel", false, "also verify with the port of the proven kernel (docs/trust.md)")
	fl.StringVar(&f.kernelFile, "kernel-file", "", "verify only `FILE`, in the format of isovet-kernel")
	fl.StringVar(&f.proof, "proof", "", "write the input of isovet-kernel to `FILE`; implies --kernel")
	f.from.Flags(c, "format", "the history")
	f.from.TogetherFlag(c)
	fl.StringVar(&f.spill, "spill", "", "files of large histories go to `DIR` (default: a temporary folder)")
	return c
}

// IsCertificate reports whether a regular file begins like a certificate.
func IsCertificate(path string) bool {
	return bytes.Contains(start(path, 256), []byte(`"isovet-certificate"`))
}

// The answers of isovet verify.
const (
	certified  = "certified"
	refuted    = "refuted"
	unanswered = "unknown"
)

// verifyResult is what "isovet verify --json" prints.
type verifyResult struct {
	Certificate string `json:"certificate"`
	History     string `json:"history,omitempty"`
	Level       string `json:"level,omitempty"`
	Checker     string `json:"checker,omitempty"`
	Verdict     string `json:"verdict,omitempty"` // of the certificate, once it is read
	Certified   bool   `json:"certified"`
	By          string `json:"by,omitempty"`     // with --kernel, once it is certified: kernel
	Answer      string `json:"answer"`           // certified, refuted or unknown
	Reason      string `json:"reason,omitempty"` // where it is not certified: why

	Notes []history.Note `json:"notes,omitempty"` // what the history's reader has to say of it
}

func runVerify(ctx context.Context, e *console.Env, f *verifyFlags, cert, path string) error {
	var stage atomic.Pointer[string]
	set := func(s string) { stage.Store(&s) }
	set("loading " + path)
	v := verifyResult{Certificate: cert, History: path}
	a, err := guard.Run(ctx, f.limits, func() string { return *stage.Load() },
		func(ctx context.Context) (replayed, error) {
			h, err := console.LoadHistory(ctx, path, f.from)
			err = cmp.Or(err, context.Cause(ctx))
			if err != nil {
				return replayed{}, err
			}
			e.SayNotes(path, h)
			set("verifying " + cert)
			in, closing, err := console.Open(cert)
			if err != nil {
				return replayed{}, err
			}
			defer closing()
			r, err := check.Verify(ctx, in, h, certify.Options{ClockSkew: f.skew.Nanoseconds(),
				Stop: func() bool { return ctx.Err() != nil }})
			if r == nil {
				if err = console.Named(err, cert); cert != "-" && !IsCertificate(cert) {
					err = fmt.Errorf("%w; expected a certificate and its history", err)
				}
				return replayed{}, err
			}
			if errors.Is(err, certify.ErrStopped) {
				return replayed{}, context.Cause(ctx)
			}
			if err == nil && f.kernel {
				set("verifying " + cert + " by the kernel")
				says, failed := f.byKernel(ctx, e, r)
				if failed != nil {
					return replayed{}, failed
				}
				err = says
			}
			return replayed{r, err}, nil
		})
	if err != nil {
		return v.stopped(e, f, err)
	}
	v.Level, v.Checker, v.Verdict, v.Notes = a.r.Label(), a.r.Checker, a.r.Verdict.String(), a.r.H.Notes
	s := v.say(a.err)
	if v.Certified && f.kernel {
		v.By = evidence.ByKernel
	}
	return v.end(e, f, s, v.claim(a.r))
}

// replayed is a certificate, with the certifier's answer.
type replayed struct {
	r   *evidence.Result
	err error
}

// say sets the answer from the certifier's error and returns the exit status.
func (v *verifyResult) say(err error) int {
	var cannot *certify.Unsupported
	var unspoken *elaborate.Unsupported
	if err != nil {
		v.Reason = err.Error()
	}
	switch {
	case err == nil:
		v.Answer, v.Certified = certified, true
		return console.StatusOK
	case errors.Is(err, certify.ErrUnknown), errors.Is(err, certify.ErrGaveUp), errors.As(err, &cannot),
		errors.As(err, &unspoken):
		v.Answer = unanswered
		return console.StatusUnknown
	}
	v.Answer = refuted
	return console.StatusViolation
}

// claim returns in words what a certificate claims.
func (v *verifyResult) claim(r *evidence.Result) string {
	verdict := r.Verdict.String()
	if r.Verdict == evidence.Violated {
		verdict = "a violation"
	}
	return fmt.Sprintf("that %s is %s at %s", v.History, verdict, r.Label())
}

// stopped ends a run that failed; the answer is unknown if it was stopped.
func (v *verifyResult) stopped(e *console.Env, f *verifyFlags, err error) error {
	stopped, ok := errors.AsType[*guard.StoppedError](err)
	if !ok {
		return err
	}
	v.Answer, v.Reason = unanswered, stopped.Text
	return v.end(e, f, console.StoppedStatus(stopped), "")
}

// end prints the answer and returns the exit status.
func (v *verifyResult) end(e *console.Env, f *verifyFlags, status int, claim string) (err error) {
	switch {
	case f.json:
		err = console.JSONLine(e.Stdout, v)
	case v.Answer == certified:
		if claim = strings.TrimPrefix(claim, "that "); v.By == evidence.ByKernel {
			claim += ", by the kernel"
		}
		_, err = fmt.Fprintf(e.Stdout, "%s: certified: %s\n", v.Certificate, claim)
	case v.Answer == refuted:
		_, err = fmt.Fprintf(e.Stdout, "%s: REFUTED: it does not prove %s: %s\n", v.Certificate, claim, v.Reason)
	default:
		_, err = fmt.Fprintf(e.Stdout, "%s: unknown: %s\n", v.Certificate, v.Reason)
	}
	if err != nil {
		return fmt.Errorf("cannot write the answer: %w", err)
	}
	return console.Status(status)
}
