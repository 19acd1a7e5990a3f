package sqlstmt

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
)

// frame is a place in the source of the running program.
type frame struct {
	at     string // file:line
	behind bool   // it is of a recorder or of a client library, not of the program
	main   bool   // it is of the program's own module
}

// frames caches frames by program counter.
var frames sync.Map // uintptr → []frame

// caller returns the file and the line from which a statement comes: the nearest call in the program's own module or,
// if there is none, in a package that is neither a recorder's nor a client library's. It returns "" if there is no
// such call. Cost: one or two microseconds.
func caller() string {
	var pcs [64]uintptr
	other := ""
	for _, pc := range pcs[:runtime.Callers(2, pcs[:])] {
		known, ok := frames.Load(pc)
		if !ok {
			known, _ = frames.LoadOrStore(pc, framesOf(pc))
		}
		for _, f := range known.([]frame) {
			switch {
			case f.behind:
			case f.main:
				return f.at
			case other == "":
				other = f.at
			}
		}
	}
	return other
}

// program returns the path of the program's module; ours is the prefix of function names in isovet's module.
var program, ours = sync.OnceValue(func() string {
	if b, ok := debug.ReadBuildInfo(); ok {
		return b.Main.Path
	}
	return ""
}), sync.OnceValue(func() string {
	pc, _, _, _ := runtime.Caller(0)
	prefix, _, _ := strings.Cut(runtime.FuncForPC(pc).Name(), "internal/sqlstmt.")
	return prefix
})

func framesOf(pc uintptr) (out []frame) {
	for in, more := runtime.CallersFrames([]uintptr{pc}), true; more; {
		var f runtime.Frame
		f, more = in.Next()
		x := frame{at: fmt.Sprintf("%s:%d", fromRepository(f.File), f.Line)}
		for _, p := range []string{"database/sql.", "github.com/jackc/", "runtime.", "testing.", ours() +
			"internal/sqlstmt.", ours() + "record/sql.", ours() + "record/pgx."} {
			x.behind = x.behind || strings.HasPrefix(f.Function, p)
		}
		x.main = strings.HasPrefix(f.Function, "main.") || program() != "" && strings.HasPrefix(f.Function, program())
		out = append(out, x)
	}
	return out
}

// fromRepository returns a source file's name relative to the folder with .git, if the program runs beside its source.
func fromRepository(file string) string {
	for dir := filepath.Dir(file); filepath.IsAbs(dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
			if rel, err := filepath.Rel(dir, file); err == nil {
				return filepath.ToSlash(rel)
			}
		}
	}
	return file
}
