//go:build unix

package server

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"strconv"
	"syscall"
)

// owner is the user who runs the servers; the zero value is the user who runs this program.
type owner struct {
	uid, gid uint32
	other    bool
}

// ownerNamed returns the user of that name if this program runs as root, since some servers refuse to run as root.
func ownerNamed(name string) (owner, error) {
	if os.Geteuid() != 0 {
		return owner{}, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return owner{}, fmt.Errorf("%w: as root a server runs as user %s: %w", ErrMissing, name, err)
	}
	uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
	return owner{uint32(uid), uint32(gid), true}, errors.Join(err1, err2)
}

func (o owner) own(path string) error {
	if !o.other {
		return nil
	}
	return os.Chown(path, int(o.uid), int(o.gid))
}

func (o owner) become(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if o.other {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
		cmd.Env = append(os.Environ(), "HOME=/nonexistent", "LC_ALL=C")
	}
}

func detach(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	dieWithParent(cmd.SysProcAttr)
}

// killTree kills a process, its group and its descendants, which may have groups of their own, as in PostgreSQL.
func killTree(p *os.Process) {
	// A stopped process cannot make new children during the search for them.
	_ = syscall.Kill(p.Pid, syscall.SIGSTOP)
	all := descendants(p.Pid)
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = syscall.Kill(p.Pid, syscall.SIGKILL)
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

func pauseTree(p *os.Process, stop bool) error {
	sig := syscall.SIGCONT
	if stop {
		sig = syscall.SIGSTOP
	}
	err := syscall.Kill(p.Pid, sig)
	for _, pid := range descendants(p.Pid) {
		_ = syscall.Kill(pid, sig) // it may have ended
	}
	return err
}
