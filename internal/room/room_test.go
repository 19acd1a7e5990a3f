package room

import (
	"errors"
	"math"
	"runtime/debug"
	"strings"
	"testing"
)

func TestLeft(t *testing.T) {
	old := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(old)
	if Left() != math.MaxInt64 || For(1e18) != nil {
		t.Errorf("without a limit %d bytes are left", Left())
	}
	debug.SetMemoryLimit(1 << 30)
	before := Left()
	if before <= 0 || before > 1<<30 {
		t.Errorf("%d bytes of 1 GiB are left", before)
	}
	keep := make([]byte, 64<<20)
	if after := Left(); after > before-60<<20 {
		t.Errorf("%d bytes are left, %d before 64 MiB were taken", after, before)
	}
	keep[0] = 1
	var short *ShortError
	if err := For(27e9); !errors.As(err, &short) || !strings.HasPrefix(err.Error(), "needs about 25.1 GiB of "+
		"memory, of which ") {
		t.Error(err)
	}
	if err := For(1 << 20); err != nil {
		t.Error(err)
	}
	debug.SetMemoryLimit(1)
	if Left() != 0 {
		t.Errorf("%d bytes of 1 are left", Left())
	}
}
