package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"isovet/check"
	"isovet/history"
)

// The exit statuses, Jepsen's set.
const (
	statusOK          = 0
	statusViolation   = 1
	statusUnknown     = 2
	statusBadInput    = 254
	statusFault       = 255
	statusInterrupted = 130
)

// exitError is an error that has an exit status. A nil err says that everything has been said already.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// status returns an error for a status other than 0 whose reason has been printed already.
func status(s int) error {
	if s == statusOK {
		return nil
	}
	return &exitError{status: s}
}

// usagef is a mistake on the command line.
func usagef(format string, args ...any) error {
	return &exitError{status: statusBadInput, err: fmt.Errorf(format, args...)}
}

// faultf is a mistake of ours.
func faultf(format string, args ...any) error {
	return &exitError{status: statusFault, err: fmt.Errorf(format, args...)}
}

// statusOf maps an error to its exit status. What is neither a known fault nor an interrupt is the user's input: a file
// that cannot be read or written, a value that is not allowed.
func statusOf(err error) int {
	var e *exitError
	var fault *check.Fault
	var input *history.InputError
	switch {
	case err == nil:
		return statusOK
	case errors.As(err, &e):
		return e.status
	case errors.As(err, &fault):
		return statusFault
	case errors.Is(err, errInterrupted):
		return statusInterrupted
	case errors.As(err, &input), errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return statusBadInput
	}
	return statusBadInput
}

// severity is the order of statuses where several histories are checked: the worst counts. An interrupt is above all,
// for then some histories have not been looked at.
var severity = []int{statusOK, statusUnknown, statusViolation, statusBadInput, statusFault, statusInterrupted}

func worse(a, b int) int {
	if slices.Index(severity, b) > slices.Index(severity, a) {
		return b
	}
	return a
}
