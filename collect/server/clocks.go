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

// fakers are the paths of faketime's library for programs with several threads.
var fakers = []string{"/usr/lib/*/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1",
	"/usr/lib64/faketime/libfaketimeMT.so.1", "/usr/local/lib/faketime/libfaketimeMT.so.1"}

// faked are the servers that work with faketime's library. Servers written in Go ask the kernel for the time instead
// of a library; Redis and H2 do not start with it.
var faked = []string{"galera", "mariadb", "mysql", "postgres"}

// clocks sets the servers' clocks. The library reads the offset of each clock from a file.
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

// env returns the environment of a node. Monotonic clocks are not changed, since the server uses them for its waits.
func (k *clocks) env(node int) []string {
	return []string{"LD_PRELOAD=" + k.library, "FAKETIME_TIMESTAMP_FILE=" + k.file(node), "FAKETIME_NO_CACHE=1",
		"DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_FAKE_MONOTONIC=1"}
}

func (k *clocks) set(node int, off time.Duration) error {
	tmp := k.file(node) + ".new"
	if err := os.WriteFile(tmp, fmt.Appendf(nil, "%+.3f\n", off.Seconds()), 0o644); err != nil {
		return err
	}
	return os.Rename(tmp, k.file(node)) // so that the server never reads half a number
}

// Skew sets how far a server's clock is ahead of this machine's. The cluster must have been started with
// Options.Clocks.
func (c *Cluster) Skew(i int, off time.Duration) error {
	if c.clocks == nil {
		return fmt.Errorf("%w: the servers were not started with clocks of their own", ErrNotHere)
	}
	return c.clocks.set(i, off)
}
