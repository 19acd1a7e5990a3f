package server

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dieWithParent makes the system kill a server if this program is killed.
func dieWithParent(a *syscall.SysProcAttr) { a.Pdeathsig = syscall.SIGKILL }

// descendants returns the children of a process, and their descendants.
func descendants(pid int) []int {
	children := map[int][]int{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue // it has ended
		}
		// pid (name) state ppid …; the name may have any content.
		i := strings.LastIndexByte(string(b), ')')
		fields := strings.Fields(string(b[i+1:]))
		if i < 0 || len(fields) < 2 {
			continue
		}
		parent, err1 := strconv.Atoi(fields[1])
		child, err2 := strconv.Atoi(filepath.Base(filepath.Dir(f)))
		if err1 == nil && err2 == nil {
			children[parent] = append(children[parent], child)
		}
	}
	var all []int
	for next := []int{pid}; len(next) > 0; {
		all = append(all, children[next[0]]...)
		next = append(next[1:], children[next[0]]...)
	}
	return all
}
