package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/escape"
)

// loading says how a command reads histories. The zero value is auto throughout.
type loading struct {
	format, realTime, initial, nilMeans string
	textNumbers                         bool
	// together says that the command's arguments are one history; sets has the files of such a one, by its name.
	together bool
	sets     map[string][]string
}

// togetherFlag adds the flag that makes arguments one history.
func (l *loading) togetherFlag(c *cobra.Command) {
	c.Flags().BoolVar(&l.together, "together", false, "all files are one history, in the order given (a folder of "+
		"parts is one anyway, and so is a quoted pattern such as 'h-*.jsonl')")
}

// histories returns the names of the histories that arguments are: each one, or all together.
func (l *loading) histories(args []string) []string {
	if !l.together || len(args) < 2 {
		return args
	}
	name := strings.Join(args, " + ")
	l.sets = map[string][]string{name: args}
	return []string{name}
}

// paths are the files of a history by its name.
func (l *loading) paths(name string) (paths []string) {
	args := []string{name}
	if set, ok := l.sets[name]; ok {
		args = set
	}
	for _, a := range args {
		paths = append(paths, split.Paths(a)...)
	}
	return paths
}

// flags adds the flags; name is that of the one that names the format, of what.
func (l *loading) flags(c *cobra.Command, name, of string) {
	l.format, l.realTime = auto, auto
	enumFlag(c, &l.format, name, "format", "format of "+of, formatNames())
	enumFlag(c, &l.realTime, "real-time", "real time", "what tells real time: the file's times, the order of its "+
		"events (index), nothing, or what fits the file (auto)", format.RealTimes())
	c.Flags().StringVar(&l.initial, "initial", "", "what registers hold at first, where the file does not say it or "+
		"is wrong: a `VALUE` of JSON such as 0, \"\" or null; KEY=VALUE, of one key; first-read, what was read of each "+
		"first; several with commas")
	c.Flags().Var(&enum{&l.nilMeans, "meaning of nil", format.Nils()}, "nil", "what an ok read of nil says in files "+
		"of "+
		"Jepsen's and Porcupine's: absent, unknown, initial (default: as the file's own checker takes it)")
	complete(c, "nil", []cobra.Completion{cobra.CompletionWithDesc("absent", "its key is absent"),
		cobra.CompletionWithDesc("unknown", "nothing"), cobra.CompletionWithDesc("initial", "its key is as at first")})
	c.Flags().BoolVar(&l.textNumbers, "text-numbers", false, "a text that is a number is that number, in Jepsen's "+
		"files: \"83\" is 83")
}

// options are the readers'.
func (l *loading) options() format.Options {
	return format.Options{Format: l.format, RealTime: format.RealTime(l.realTime),
		Initial: format.InitialValue(l.initial), Nil: format.Nil(l.nilMeans), TextNumbers: l.textNumbers}
}

// inPieces is an error where the flags say what no history in pieces is told by.
func (l *loading) inPieces() error {
	o := l.options()
	if err := o.OneFile(); err != nil {
		return usagef("%v", err)
	}
	return nil
}

// loadHistory reads a history; "-" is standard input. What its reader has to say is in the history's notes: sayNotes.
func loadHistory(ctx context.Context, path string, l loading) (*history.History, error) {
	return loadTold(ctx, path, l, nil)
}

// loadShown is loadHistory with its progress.
func loadShown(ctx context.Context, path string, l loading, p *progress) (*history.History, error) {
	p.Step(loadingStage(l.paths(path)), 0, 0)
	return loadTold(ctx, path, l, func(done, total int64) {
		p.Step("loading, MB", int(done/1e6), int(total/1e6))
	})
}

func loadTold(ctx context.Context, path string, l loading, told func(done, total int64)) (*history.History, error) {
	o := l.options()
	o.Progress = told
	h, err := split.Read(ctx, l.paths(path), o)
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, err
	}
	return h, nil
}

// loadingStage is the stage of reading a history, with its size.
func loadingStage(paths []string) string {
	if n := sizeOf(paths); n >= 1e6 {
		return fmt.Sprintf("loading %s", bytesText(n))
	}
	return "loading"
}

// sizeOf is how many bytes plain or compressed files, and parts in folders, have.
func sizeOf(paths []string) (n int64) {
	for _, path := range paths {
		st, err := os.Stat(path)
		switch {
		case path == "-" || err != nil:
		case st.Mode().IsRegular():
			n += st.Size()
		case format.IsParts(path):
			if parts, _, err := format.Parts(path); err == nil {
				n += sizeOf(parts)
			}
		}
	}
	return n
}

// sayNotes writes on standard error what the reader of a history has to say of it.
func (e *env) sayNotes(path string, h *history.History) {
	if h == nil {
		return
	}
	for _, n := range h.Notes {
		fmt.Fprintf(e.stderr, "isovet: %s: %s\n", escape.Line(path), escape.Line(n.Text))
	}
	if evidence.SizesOf(h).WritesOnly() {
		fmt.Fprintf(e.stderr, "isovet: %s: no client read anything, so nothing can contradict a level\n",
			escape.Line(path))
	}
}

// orInterrupted gives an error that comes from an interrupt its status and words.
func orInterrupted(err error, while string) error {
	if errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) {
		return &exitError{statusInterrupted, fmt.Errorf("interrupted while %s", while)}
	}
	if stopped, ok := errors.AsType[*stoppedError](err); ok { // the machine's memory
		return &exitError{statusUnknown, fmt.Errorf("stopped while %s: %w", while, stopped)}
	}
	return err
}

// orStopped is orInterrupted for errors that may say what broke when the context ended, and not that it did.
func orStopped(ctx context.Context, err error, while string) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errInterrupted) {
		err = cause
	}
	return orInterrupted(err, while)
}

// formatNames are the values of --format.
func formatNames() []string {
	names := []string{auto}
	for _, f := range format.All() {
		names = append(names, f.Name)
	}
	return names
}

// named puts a file's name on an input error that has none.
func named(err error, file string) error {
	if in, ok := errors.AsType[*history.InputError](err); ok && in.File == "" {
		in.File = file
	}
	return err
}

// writeFile writes a file so that it is there whole or not at all: to a temporary file beside it, then renamed. "-" is
// standard output.
func (e *env) writeFile(path string, write func(io.Writer) error) (err error) {
	if path == "-" {
		if terminalWidth(e.data) > 0 {
			return write(e.stdout)
		}
		return write(e.data)
	}
	if format.Special(path) {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
		if err := errors.Join(write(f), f.Close()); err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
		return nil
	}
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return usagef("cannot write %s: it is a folder; expected a file", path)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer e.temporary(f.Name())() // where this is left behind
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("cannot write %s: %w", path, err)
		}
	}()
	if err = write(f); err != nil {
		return err
	}
	if err = f.Chmod(0o644); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// stoppable is a writer that writes no more once its context has ended.
type stoppable struct {
	ctx context.Context
	w   io.Writer
}

func (s stoppable) Write(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.w.Write(p)
}

// temporary notes a file that is to be removed when the program ends, unless the function that it returns was called
// before.
func (e *env) temporary(path string) (done func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.temps == nil {
		e.temps = make(map[string]bool)
	}
	e.temps[path] = true
	e.kept.say(saysTemp, path)
	return func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.temps, path)
		e.kept.say(saysWhole, path)
	}
}

// removeTemporary removes what work that was left behind has begun to write.
func (e *env) removeTemporary() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for path := range e.temps {
		os.Remove(path)
	}
}

// copyStdin keeps standard input in a file, for what must be read more than once.
func copyStdin(path string) error {
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
