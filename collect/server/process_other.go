//go:build !unix

package server

import (
	"errors"
	"os"
	"os/exec"
)

// owner is the user who runs this program.
type owner struct{}

func ownerNamed(string) (owner, error) { return owner{}, nil }

func (owner) own(string) error { return nil }
func (owner) become(*exec.Cmd) {}

func detach(*exec.Cmd) {}

func killTree(p *os.Process) { _ = p.Kill() }

func pauseTree(*os.Process, bool) error {
	return errors.New("a process cannot be stopped for a while on this system")
}
