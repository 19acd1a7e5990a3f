package cli

import (
	"fmt"
	"os"
)

// carryVar hands on, in the environment, where a program that replaces itself goes on and what it has seen so far.
const carryVar = "ISOVET_CARRY"

// carryOn replaces the program by a new one that goes on with history number next, where work that was left behind would otherwise share
// time and memory with it. Where that cannot be it returns, and the work goes on as it is.
func (e *env) carryOn(next, worst int, unknown bool) {
	if !leftBehind.Load() || e.stdout != os.Stdout || e.stderr != os.Stderr {
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	e.removeTemporary()
	replace(self, os.Args, append(os.Environ(), fmt.Sprintf("%s=%d %d %t", carryVar, next, worst, unknown)))
}

// carried takes over from the program that this one replaced: the number of the history to go on with.
func (e *env) carried(worst *int, unknown *bool) (next int) {
	s, ok := os.LookupEnv(carryVar)
	if !ok {
		return 0
	}
	os.Unsetenv(carryVar)
	if _, err := fmt.Sscanf(s, "%d %d %t", &next, worst, unknown); err != nil {
		return 0
	}
	return next
}
