package checks

import (
	"context"
	"fmt"
	"io"

	"isovet/certify/elaborate"
	"isovet/evidence"
	"isovet/internal/cli/console"
)

// writeCertificate writes the certificate that was asked for.
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

// writeProof writes the proof for isovet-kernel that was asked for, and says why where there is none.
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

// searchProof bounds the search for a refutation where it was asked for.
const searchProof = 1_000_000

func prove(ctx context.Context, r *evidence.Result, skew int64) (*elaborate.Proof, error) {
	return elaborate.Prove(r, elaborate.Options{ClockSkew: skew, MaxConflicts: searchProof,
		Stop: func() bool { return ctx.Err() != nil }})
}

// byKernel has the kernel judge what a certificate says, once it was replayed, and writes the proof if asked to. It
// returns what the kernel says, and what kept it from being asked or written.
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
