package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fakers are where packages put faketime's library for programs of several threads.
var fakers = []string{"/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1",
	"/usr/lib64/faketime/libfaketimeMT.so.1", "/usr/local/lib/faketime/libfaketimeMT.so.1"}

// faked are servers that faketime's library works with. Those written in Go ask the kernel for the time, and no
// library; Redis and H2 do not start with it.
var faked = []string{"galera", "mariadb", "mysql", "postgres"}

// clocks are what the servers' clocks are set by: a file each, of which the library reads how far its clock is off.
type clocks struct{ library, dir string }

func newClocks(kind, dir string) (*clocks, error) {
	if !slices.Contains(faked, kind) {
		return nil, fmt.Errorf("%w: faketime does not set the clock of %s; expected one of %s", ErrNotHere, kind,
			strings.Join(faked, ", "))
	}
	for _, f := range fakers {
		found, err := filepath.Glob(f)
		if err == nil && len(found) > 0 {
			return &clocks{found[0], dir}, nil
		}
	}
	return nil, fmt.Errorf("%w: clocks are set by faketime's library (Debian: faketime); it is not in %s", ErrNotHere,
		strings.Join(fakers, ", "))
}

func (k *clocks) file(node int) string { return filepath.Join(k.dir, "clock"+strconv.Itoa(node+1)) }

// env is what a node runs with. Clocks that only go forward are left alone: by them the server itself waits.
func (k *clocks) env(node int) []string {
	return []string{"LD_PRELOAD=" + k.library, "FAKETIME_TIMESTAMP_FILE=" + k.file(node), "FAKETIME_NO_CACHE=1",
		"DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"}
}

// set sets a node's clock.
func (k *clocks) set(node int, off time.Duration) error {
	tmp := k.file(node) + ".new"
	if err := os.WriteFile(tmp, fmt.Appendf(nil, "%+.3f\n", off.Seconds()), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, k.file(node)) // the server never sees half a number
}

// Skew sets how far a server's clock is off from this machine's. It is for clusters that were started with
// Options.Clocks.
func (c *Cluster) Skew(i int, off time.Duration) error {
	if c.clocks == nil {
		return fmt.Errorf("%w: the servers were not started with clocks of their own", ErrNotHere)
	}
	return c.clocks.set(i, off)
}
