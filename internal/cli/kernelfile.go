//go:build !checkonly

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"isovet/certify/kernel"
	"isovet/evidence"
)

func (f *verifyFlags) kernelFileFlag(c *cobra.Command) {
	c.Long += `

--kernel-file FILE, without a certificate and a history, judges a file for isovet-kernel as that does, but by isovet's
port of it, which is not itself proven.`
	c.Flags().StringVar(&f.kernelFile, "kernel-file", "",
		"judge `FILE`, written for isovet-kernel, without CERT and HISTORY")
}

// judgeFile has the kernel judge a file that was written for isovet-kernel, by itself: no history and no certificate
// stand beside it.
func judgeFile(ctx context.Context, e *env, f *verifyFlags) error {
	path := f.kernelFile
	type judged struct {
		file   *kernel.File
		proved bool
		where  string
		err    error
	}
	a, err := guard(ctx, f.limits, func() string { return "verifying " + path },
		func(context.Context) (j judged, err error) {
			in := e.stdin
			if path != "-" {
				file, err := os.Open(path)
				if err != nil {
					return j, err
				}
				defer file.Close()
				in = file
			}
			if j.file, err = kernel.ReadFile(in); err == nil {
				j.proved, j.where, j.err = j.file.Judge()
			}
			return j, err
		})
	v := verifyResult{Certificate: path}
	s := statusOK
	var stopped *stoppedError
	var unread *kernel.SyntaxError
	switch {
	case errors.As(err, &stopped):
		v.Answer, v.Reason = unanswered, stopped.text
		if s = statusUnknown; errors.Is(stopped, errInterrupted) {
			s = statusInterrupted
		}
	case errors.As(err, &unread):
		return fmt.Errorf("%s:%d: %s", path, unread.Line, unread.What)
	case err != nil:
		return err
	case a.err != nil:
		v.Answer, v.Reason, s = unanswered, a.err.Error(), statusUnknown
	case a.proved:
		v.Answer, v.Certified, v.By = certified, true, evidence.ByKernel
	default:
		v.Answer, v.Reason, s = refuted, a.where, statusViolation
	}
	if a.file != nil {
		v.Level, v.Verdict = a.file.Level, a.file.Verdict()
	}
	if f.json {
		err = jsonLine(e.stdout, v)
	} else {
		says := ""
		switch v.Answer {
		case certified:
			says = fmt.Sprintf("certified: %s %s, by the kernel", v.Verdict, v.Level)
		case refuted:
			says = fmt.Sprintf("REFUTED: it does not prove %s %s: %s", v.Verdict, v.Level, v.Reason)
		default:
			says = "unknown: " + v.Reason
		}
		_, err = fmt.Fprintf(e.stdout, "%s: %s\n", path, says)
	}
	if err != nil {
		return fmt.Errorf("cannot write the answer: %w", err)
	}
	return status(s)
}
