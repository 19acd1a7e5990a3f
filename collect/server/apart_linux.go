package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/sys/unix"
)

// newNetwork makes the router. Names contain this process's id. It chooses a free range of addresses.
func newNetwork(ctx context.Context) (_ *network, err error) {
	if os.Geteuid() != 0 {
		return nil, fmt.Errorf("%w: partitions between servers need root", ErrNotHere)
	}
	if _, err := exec.LookPath("ip"); err != nil {
		return nil, fmt.Errorf("%w: partitions between servers need the program ip (Debian: iproute2): %w", ErrNotHere,
			err)
	}
	sweep(ctx)
	pid := os.Getpid()
	n := &network{}
	for try := range 200 {
		at := (pid + 7*try) % 250
		out, err := exec.CommandContext(ctx, "ip", "route", "show", "root", fmt.Sprintf("10.213.%d.0/24", at)).Output()
		name := fmt.Sprintf("isovet-%d-%d", pid, at)
		if _, there := os.Stat(filepath.Join("/run/netns", name)); err == nil && there != nil &&
			strings.TrimSpace(string(out)) == "" {
			n.name, n.base = name, fmt.Sprintf("10.213.%d.", at)
			break
		}
	}
	if n.name == "" {
		return nil, fmt.Errorf("%w: the network 10.213.0.0/16 has no free addresses", ErrNotHere)
	}
	defer func() {
		if err != nil {
			_ = n.remove() // the first error says more
		}
	}()
	if err := ip(ctx, "netns", "add", n.name); err != nil {
		return nil, err
	}
	n.made = append(n.made, n.name)
	near := fmt.Sprintf("iv%d.%s", pid, strings.Split(n.base, ".")[2])
	if err := ips(ctx,
		fmt.Sprintf("link add %s type veth peer name up0 netns %s", near, n.name),
		fmt.Sprintf("addr add %s1/30 dev %s", n.base, near),
		fmt.Sprintf("link set %s up", near),
		fmt.Sprintf("-n %s addr add %s2/30 dev up0", n.name, n.base),
		fmt.Sprintf("-n %s link set up0 up", n.name),
		fmt.Sprintf("-n %s link set lo up", n.name),
		fmt.Sprintf("route add %s0/24 via %s2", n.base, n.base),
	); err != nil {
		return nil, err
	}
	n.near = near
	return n, within(n.name, func() error {
		return os.WriteFile("/proc/sys/net/ipv4/ip_forward", []byte("1"), 0)
	})
}

// sweep removes the namespaces of killed programs. It ignores errors.
func sweep(ctx context.Context) {
	left, err := filepath.Glob("/run/netns/isovet-*-*")
	if err != nil {
		return
	}
	for _, f := range left {
		pid, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(f), "isovet-"), "-")
		if _, err := os.Stat(filepath.Join("/proc", pid)); os.IsNotExist(err) {
			_ = ip(ctx, "netns", "del", filepath.Base(f))
		}
	}
}

// within calls do in a network namespace. Processes that do starts stay there.
func within(space string, do func() error) (err error) {
	runtime.LockOSThread()
	own, err := os.Open("/proc/thread-self/ns/net")
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer own.Close()
	other, err := os.Open(filepath.Join("/run/netns", space))
	if err != nil {
		runtime.UnlockOSThread()
		return err
	}
	defer other.Close()
	if err := unix.Setns(int(other.Fd()), unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("%w: namespace %s: %w", ErrNotHere, space, err)
	}
	defer func() {
		if back := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); back != nil {
			err = back // the thread must end with its goroutine
			return
		}
		runtime.UnlockOSThread()
	}()
	return do()
}
