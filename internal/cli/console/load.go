package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/atomicfile"
	"isovet/internal/escape"
	"isovet/internal/guard"
	"isovet/internal/slice"
)

// Loading has the flags for reading histories. The zero value means auto for all.
type Loading struct {
	Format, RealTime, Initial, nilMeans string
	textNumbers                         bool
	// Together says that the arguments are one history. sets maps the name of such a history to its files.
	Together bool
	Sets     map[string][]string
}

// TogetherFlag adds the flag that makes all arguments one history.
func (l *Loading) TogetherFlag(c *cobra.Command) {
	c.Flags().BoolVar(&l.Together, "together", false, "all files are parts of one history, in this order")
}

// Histories returns the names of the histories: each argument, or all together.
func (l *Loading) Histories(args []string) []string {
	if !l.Together || len(args) < 2 {
		return args
	}
	name := strings.Join(args, " + ")
	l.Sets = map[string][]string{name: args}
	return []string{name}
}

// Paths returns the files of a history by its name.
func (l *Loading) Paths(name string) []string {
	args := []string{name}
	if set, ok := l.Sets[name]; ok {
		args = set
	}
	paths := slices.Concat(slice.Map(args, split.Paths)...)
	// With all files of a folder comes the list of its parts.
	if parts := slice.Filter(paths, func(p string) bool { return filepath.Base(p) != format.PartsName }); parts != nil {
		return parts
	}
	return paths
}

// Flags adds the flags. name is the name of the flag for the format; of says of what.
func (l *Loading) Flags(c *cobra.Command, name, of string) {
	l.Format, l.RealTime = Auto, Auto
	EnumFlag(c, &l.Format, name, "format", "format of "+of, FormatNames())
	EnumFlag(c, &l.RealTime, "real-time", "real time", "real time from: time, index, none, auto", format.RealTimes())
	c.Flags().StringVar(&l.Initial, "initial", "", "initial values: JSON `VALUE`, KEY=VALUE, or first-read")
	c.Flags().Var(&Enum{&l.nilMeans, "meaning of nil", format.Nils()}, "nil",
		"meaning of Jepsen's nil: absent, unknown, initial")
	Complete(c, "nil", []cobra.Completion{cobra.CompletionWithDesc("absent", "its key is absent"),
		cobra.CompletionWithDesc("unknown", "nothing"), cobra.CompletionWithDesc("initial", "its key is as at first")})
	c.Flags().BoolVar(&l.textNumbers, "text-numbers", false, "read Jepsen's \"83\" as the number 83")
}

// Options returns the options for readers.
func (l *Loading) Options() format.Options {
	return format.Options{Format: l.Format, RealTime: format.RealTime(l.RealTime),
		Initial: format.InitialValue(l.Initial), Nil: format.Nil(l.nilMeans), TextNumbers: l.textNumbers}
}

// InPieces returns an error if a flag is impossible for a history in pieces.
func (l *Loading) InPieces() error {
	o := l.Options()
	if err := o.OneFile(); err != nil {
		return Usagef("%v", err)
	}
	return nil
}

// LoadHistory reads a history; "-" is standard input. Messages of the reader are in the history's notes; SayNotes
// prints them.
func LoadHistory(ctx context.Context, path string, l Loading) (*history.History, error) {
	return LoadShown(ctx, path, l, nil)
}

// LoadShown is LoadHistory with progress.
func LoadShown(ctx context.Context, path string, l Loading, p *Progress) (*history.History, error) {
	p.Step(loadingStage(l.Paths(path)), 0, 0)
	o := l.Options()
	o.Progress = func(done, total int64) { p.Step("loading, MB", int(done/1e6), int(total/1e6)) }
	h, err := split.Read(ctx, l.Paths(path), o)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return h, nil
}

// loadingStage returns the name of the stage in which a history is read, with its size.
func loadingStage(paths []string) string {
	if n := SizeOf(paths); n >= 1e6 {
		return fmt.Sprintf("loading %s", guard.BytesText(n))
	}
	return "loading"
}

// SizeOf returns the size of files, plain or compressed, and of parts in folders.
func SizeOf(paths []string) (n int64) {
	for _, path := range paths {
		st, err := os.Stat(path)
		switch {
		case path == "-" || err != nil:
		case st.Mode().IsRegular():
			n += st.Size()
		case format.IsParts(path):
			if parts, _, err := format.Parts(path); err == nil {
				n += SizeOf(parts)
			}
		}
	}
	return n
}

// SayNotes writes the notes of a history's reader to standard error.
func (e *Env) SayNotes(path string, h *history.History) {
	if h == nil {
		return
	}
	for _, n := range h.Notes {
		fmt.Fprintf(e.Stderr, "isovet: %s: %s\n", escape.Line(path), escape.Line(n.Text))
	}
	if evidence.SizesOf(h).WritesOnly() {
		fmt.Fprintf(e.Stderr, "isovet: %s: no client read anything, so nothing can contradict a level\n",
			escape.Line(path))
	}
}

// OrInterrupted adds the status and the words of an interruption to an error that comes from one.
func OrInterrupted(err error, while string) error {
	if errors.Is(err, guard.ErrInterrupted) || errors.Is(err, context.Canceled) {
		return &ExitError{StatusInterrupted, fmt.Errorf("interrupted while %s", while)}
	}
	if stopped, ok := errors.AsType[*guard.StoppedError](err); ok { // the machine's memory
		return &ExitError{StatusUnknown, fmt.Errorf("stopped while %s: %w", while, stopped)}
	}
	return err
}

// OrStopped is OrInterrupted for errors that may only say what failed because the context ended.
func OrStopped(ctx context.Context, err error, while string) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, guard.ErrInterrupted) {
		err = cause
	}
	return OrInterrupted(err, while)
}

// FormatNames are the values of --format.
func FormatNames() []string {
	return append([]string{Auto}, format.Names(format.All())...)
}

// Named sets the file's name in an input error that has none.
func Named(err error, file string) error {
	if in, ok := errors.AsType[*history.InputError](err); ok && in.File == "" {
		in.File = file
	}
	return err
}

// Open opens a file, plain or compressed, "-" being standard input.
func Open(path string) (r io.Reader, closing func() error, err error) {
	in, err := format.Open(path)
	if err != nil {
		return nil, nil, err
	}
	r, err = in.Reader()
	return r, in.Close, err
}

// WriteText writes a history as WriteFile does, compressed as the ending of its name says.
func (e *Env) WriteText(path, text string) error {
	return e.WriteFile(path, func(to io.Writer) error {
		w, err := format.Compressed(to, path)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, text)
		return errors.Join(err, w.Close())
	})
}

// WriteFile writes a file atomically: a temporary file in the same folder, then renamed. "-" is standard output.
func (e *Env) WriteFile(path string, write func(io.Writer) error) error {
	if path == "-" {
		if TerminalWidth(e.Data) > 0 {
			return write(e.Stdout)
		}
		return write(e.Data)
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return Usagef("cannot write %s: it is a folder; expected a file", path)
	}
	f, err := atomicfile.Create(path)
	if err == nil {
		if f.Name() != path {
			defer e.temporary(f.Name())() // where this is left behind
		}
		err = atomicfile.End(f, path, false, write(f))
	}
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	return nil
}

// temporary registers a file that is removed when the program ends, unless done is called before.
func (e *Env) temporary(path string) (done func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	slice.MakeMap(&e.temps)
	e.temps[path] = true
	e.Kept.say(SaysTemp, path)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.temps, path)
		e.Kept.say(SaysWhole, path)
	}
}

// removeTemporary removes unfinished files of work that was abandoned.
func (e *Env) removeTemporary() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for path := range e.temps {
		os.Remove(path)
	}
}

// CopyStdin copies standard input to a file, so that it can be read several times.
func CopyStdin(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, os.Stdin); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// HistoryFiles completes names of files that may have histories.
func HistoryFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveDefault
}

// Writable returns an error, before any work, if a file cannot be written. flag is the flag that names its format.
func Writable(out, to, flag string) error {
	err := format.Writable(out, to)
	if errors.Is(err, format.ErrEnding) && flag != "" {
		return fmt.Errorf("%w; or %s FORMAT", err, flag)
	}
	return err
}

// Cleaned waits until work that was left behind has removed its files. It was told to stop, but a current write may be
// large.
func Cleaned(finished <-chan struct{}) {
	if !guard.LeftBehind.Load() {
		return
	}
	select {
	case <-finished:
	case <-time.After(10 * time.Second):
	}
}

// Folderish reports whether a name means a folder.
func Folderish(path string) bool {
	if path == "" || path == "-" {
		return false
	}
	st, err := os.Stat(path)
	return slices.Contains([]byte("/\\"), path[len(path)-1]) || err == nil && st.IsDir()
}

// Numbered adds a history's number before the extension if there are several histories.
func Numbered(path string, i, n int) string {
	if n == 1 || path == "-" {
		return path
	}
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), i+1, ext)
}
