package console

import (
	"errors"
	"fmt"
	"slices"

	"isovet/check"
	"isovet/internal/guard"
)

// The exit statuses, which are those of Jepsen.
const (
	StatusOK          = 0
	StatusViolation   = 1
	StatusUnknown     = 2
	StatusBadInput    = 254
	StatusFault       = 255
	StatusInterrupted = 130
)

// ExitError is an error with an exit status. If err is nil, everything has been printed already.
type ExitError struct {
	Status int
	Err    error
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// Status returns an error for a status other than 0 whose reason has been printed already.
func Status(s int) error {
	if s == StatusOK {
		return nil
	}
	return &ExitError{Status: s}
}

// Usagef returns an error about a wrong command line.
func Usagef(format string, args ...any) error {
	return &ExitError{Status: StatusBadInput, Err: fmt.Errorf(format, args...)}
}

// SayError writes an error that a program returned, unless it has been printed already.
func (e *Env) SayError(program string, err error) {
	if said, is := errors.AsType[*ExitError](err); err == nil || is && said.Err == nil {
		return
	}
	fmt.Fprintf(e.Stderr, "%s: %v\n", program, err)
	if StatusOf(err) == StatusFault {
		fmt.Fprintln(e.Stderr, ReportPlease)
	}
}

// Faultf returns an error about a fault of isovet.
func Faultf(format string, args ...any) error {
	return &ExitError{Status: StatusFault, Err: fmt.Errorf(format, args...)}
}

// StatusOf returns the exit status for an error. Unless it is a known fault or an interruption, the user's input is
// wrong: a file that cannot be read or written, a value that is not allowed.
func StatusOf(err error) int {
	var e *ExitError
	var fault *check.Fault
	var crash *guard.Panicked
	switch {
	case err == nil:
		return StatusOK
	case errors.As(err, &e):
		return e.Status
	case errors.As(err, &fault), errors.As(err, &crash):
		return StatusFault
	case errors.Is(err, guard.ErrInterrupted):
		return StatusInterrupted
	}
	return StatusBadInput
}

// severity sorts the statuses, so that the worst of several histories counts. An interruption is the worst, since some
// histories were not checked.
var severity = []int{StatusOK, StatusUnknown, StatusViolation, StatusBadInput, StatusFault, StatusInterrupted}

func Worse(a, b int) int {
	if slices.Index(severity, b) > slices.Index(severity, a) {
		return b
	}
	return a
}

// Interrupted returns the exit status of interrupted work as an error; nil if the work ended for another cause.
func Interrupted(cause error) error {
	if errors.Is(cause, guard.ErrInterrupted) {
		return Status(StatusInterrupted)
	}
	return nil
}

// StoppedStatus is the exit status of work that was stopped.
func StoppedStatus(s *guard.StoppedError) int {
	if errors.Is(s.Cause, guard.ErrInterrupted) {
		return StatusInterrupted
	}
	return StatusUnknown
}

// Exit returns an error that ends the program with a status. If err is nil, everything has been printed already.
func Exit(s int, err error) error { return &ExitError{s, err} }
