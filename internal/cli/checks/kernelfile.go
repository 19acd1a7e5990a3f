package checks

import (
	"context"
	"errors"
	"fmt"
	"io"

	"isovet/certify/elaborate"
	"isovet/certify/kernel"
	"isovet/evidence"
	"isovet/internal/cli/console"
	"isovet/internal/guard"
)

// judgeFile lets the kernel judge a file written for isovet-kernel, without history and certificate.
func judgeFile(ctx context.Context, e *console.Env, f *verifyFlags) error {
	path := f.kernelFile
	type judged struct {
		file   *kernel.File
		proved bool
		where  string
		err    error
	}
	a, err := guard.Run(ctx, f.limits, func() string { return "verifying " + path },
		func(context.Context) (j judged, err error) {
			in, closing, err := console.Open(path)
			if err != nil {
				return j, err
			}
			defer closing()
			if j.file, err = kernel.ReadFile(in); err == nil {
				j.proved, j.where, j.err = j.file.Judge()
			}
			return j, err
		})
	v := verifyResult{Certificate: path}
	s := console.StatusOK
	var unread *kernel.SyntaxError
	switch {
	case errors.As(err, &unread):
		return fmt.Errorf("%s:%d: %s", path, unread.Line, unread.What)
	case err != nil:
		return v.stopped(e, f, err)
	case a.err != nil:
		v.Answer, v.Reason, s = unanswered, a.err.Error(), console.StatusUnknown
	case a.proved:
		v.Answer, v.Certified, v.By = certified, true, evidence.ByKernel
	default:
		v.Answer, v.Reason, s = refuted, a.where, console.StatusViolation
	}
	v.Level, v.Verdict = a.file.Level, a.file.Verdict()
	return v.end(e, f, s, v.Verdict+" "+v.Level)
}

func (f *CheckFlags) writeCertificate(e *console.Env, o outcome,
	write func(file string, w func(io.Writer) error) error) error {
	switch {
	case f.certificate == "":
	case o.result.Items:
		fmt.Fprintf(e.Stderr, "isovet: %s: a verdict that ignores predicates has no certificate\n", o.path)
	case o.result.Verdict == evidence.Unknown:
		fmt.Fprintf(e.Stderr, "isovet: %s: an unknown verdict has no certificate\n", o.path)
	default:
		return write(f.certificate, func(w io.Writer) error { return evidence.WriteCertificate(w, o.result) })
	}
	return nil
}

// writeProof writes the requested proof for isovet-kernel, or says why there is none.
func (f *CheckFlags) writeProof(ctx context.Context, e *console.Env, o outcome,
	write func(file string, w func(io.Writer) error) error) error {
	if f.proof == "" {
		return nil
	}
	p, err := prove(ctx, o.result, f.Skew.Nanoseconds())
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		fmt.Fprintf(e.Stderr, "isovet: %s: no proof is written: %v\n", o.path, err)
		return nil
	}
	return write(f.proof, p.Write)
}

// searchProof bounds the search for a refutation that was requested.
const searchProof = 1_000_000

func prove(ctx context.Context, r *evidence.Result, skew int64) (*elaborate.Proof, error) {
	return elaborate.Prove(r, elaborate.Options{ClockSkew: skew, MaxConflicts: searchProof,
		Stop: func() bool { return ctx.Err() != nil }})
}

// byKernel lets the kernel judge a certificate that has been replayed, and writes the proof if requested. says is the
// kernel's answer; err says why it could not be asked, or the proof not written.
func (f *verifyFlags) byKernel(ctx context.Context, e *console.Env, r *evidence.Result) (says, err error) {
	p, says := prove(ctx, r, f.skew.Nanoseconds())
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if says == nil && f.proof != "" {
		err = e.WriteFile(f.proof, p.Write)
	}
	return says, err
}
