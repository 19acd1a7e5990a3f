package check

import (
	"context"
	"errors"
	"io"

	"isovet/certify"
	"isovet/certify/elaborate"
	"isovet/evidence"
	"isovet/history"
)

// certifyBy certifies an answer: by the kernel where it has words for the answer, and by package certify. What the
// kernel proves of an order needs no second replay; of a violation, certify says by which name it goes.
func certifyBy(ctx context.Context, r *evidence.Result, how certify.Options) error {
	if r.Verdict == evidence.Unknown {
		return certified(r, how)
	}
	var err error
	if r.Verdict == evidence.Holds {
		if err = judged(ctx, r, how); err == nil {
			return nil
		}
	}
	if err := certified(r, how); err != nil {
		r.Certified, r.NotByKernel = "", ""
		return err
	}
	if r.Verdict == evidence.Violated {
		err = judged(ctx, r, how)
	}
	var refused *elaborate.Refused
	if errors.As(err, &refused) {
		disagreements.Add(1)
	}
	return nil
}

// Verify is [certify.Verify], but that an order which the kernel proves needs no second replay.
func Verify(ctx context.Context, in io.Reader, h *history.History, how certify.Options) (*evidence.Result, error) {
	r, err := evidence.ReadCertificate(in, h)
	switch {
	case err != nil:
		return nil, err
	case r.Verdict == evidence.Unknown:
		return r, certify.ErrUnknown
	case r.Verdict == evidence.Holds && len(r.Anomalies)+r.Also == 0 && judged(ctx, r, how) == nil:
		return r, nil
	}
	return r, certify.Check(r, how)
}

// judged has the kernel judge an answer, and says in it what came of that.
func judged(ctx context.Context, r *evidence.Result, how certify.Options) error {
	_, err := elaborate.Prove(r, elaborate.Options{ClockSkew: how.ClockSkew,
		Stop: func() bool { return ctx.Err() != nil }})
	if err == nil {
		r.Certified, r.NotByKernel = evidence.ByKernel, ""
		return nil
	}
	r.Certified, r.NotByKernel = evidence.ByReplay, err.Error()
	return err
}
