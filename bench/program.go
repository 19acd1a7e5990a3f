package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"isovet/check"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/room"
)

// Program is another checker, a separate program, that takes part in a comparison. Its command line is split at
// blanks; {history} stands for the file, {history:FORMAT} for the same history in another of isovet's formats. Without
// either the file comes last. Its time is that of the whole process, including loading.
//
// Its verdict is that of the last line of output that has one of the words ACCEPT, REJECT, valid, invalid, violation
// (in any case), or ends in true or false. Without such a line the exit status decides: 0 valid, 1 violation. But
// status 1 with text on standard error means unknown, since a Java program ends so after an uncaught exception.
type Program struct {
	Name    string
	Command []string
}

// ParseProgram reads NAME=COMMAND.
func ParseProgram(text string) (Program, error) {
	name, command, ok := strings.Cut(text, "=")
	p := Program{Name: strings.TrimSpace(name), Command: strings.Fields(command)}
	if !ok || p.Name == "" || len(p.Command) == 0 {
		return p, fmt.Errorf("program %q; expected NAME=COMMAND", text)
	}
	if _, err := exec.LookPath(p.Command[0]); err != nil {
		return p, fmt.Errorf("program %q: no such program: %s", name, p.Command[0])
	}
	if f, ok := p.format(); ok {
		if i := slices.IndexFunc(format.All(), func(x format.Format) bool { return x.Name == f }); i < 0 ||
			format.All()[i].Write == nil && format.All()[i].WriteDir == nil {
			return p, fmt.Errorf("program %q: format %q; expected one that isovet convert can write", name, f)
		}
	}
	return p, nil
}

// Distinct returns an error about a name that two programs or contenders have, or nil.
func Distinct(programs []Program, contenders []Contender) error {
	for i, p := range programs {
		if slices.ContainsFunc(programs[:i], func(q Program) bool { return q.Name == p.Name }) {
			return fmt.Errorf("two programs are named %q; expected a name for each", p.Name)
		}
		if slices.ContainsFunc(contenders, func(c Contender) bool { return c.Checker == p.Name }) {
			return fmt.Errorf("%q is the name of one of isovet's checkers in the table; expected another name", p.Name)
		}
	}
	return nil
}

const placeholder = "{history"

// format returns the format that the program's command requests.
func (p *Program) format() (string, bool) {
	for _, w := range p.Command {
		if _, rest, ok := strings.Cut(w, placeholder+":"); ok {
			f, _, closed := strings.Cut(rest, "}")
			return f, closed
		}
	}
	return "", false
}

// args returns the words of the command for a file.
func (p *Program) args(path string) []string {
	out := slices.Clone(p.Command)
	named := false
	f, _ := p.format()
	for i, w := range out {
		out[i] = strings.ReplaceAll(strings.ReplaceAll(w, placeholder+":"+f+"}", path), placeholder+"}", path)
		named = named || out[i] != w
	}
	if !named {
		out = append(out, path)
	}
	return out
}

// file writes the history in the form that the program reads, to a folder that the caller removes.
func (p *Program) file(ctx context.Context, src Source, dir string) (string, error) {
	f, ok := p.format()
	if !ok {
		return src.Path, nil
	}
	h, err := split.Read(ctx, split.Paths(src.Path), format.Options{})
	if err != nil {
		return "", &BadHistory{err.Error()}
	}
	to := dir + "/history." + f
	return to, format.WriteContext(ctx, to, h, f, true)
}

func (p *Program) run(ctx context.Context, path string, timeout time.Duration) (Measured, error) {
	limited := ctx
	if timeout > 0 {
		var stop context.CancelFunc
		limited, stop = context.WithTimeout(ctx, timeout)
		defer stop()
	}
	args := p.args(path)
	cmd := exec.CommandContext(limited, args[0], args[1:]...)
	cmd.WaitDelay = drainAfter
	var out, errs tail
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Run()
	m := Measured{WallMS: milliseconds(time.Since(began))}
	m.Stats.CheckMS = m.WallMS
	if ctx.Err() != nil {
		return Measured{}, ctx.Err()
	}
	if cmd.ProcessState != nil {
		m.CPUMS = milliseconds(cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime())
		m.Stats.PeakMB = room.ChildPeakMB(cmd.ProcessState)
	}
	if limited.Err() != nil {
		m.Reason = timeoutReason(timeout)
		return m, nil
	}
	exit, ran := errors.AsType[*exec.ExitError](err)
	if err != nil && !ran {
		m.Reason = fmt.Sprintf("%s: %v", p.Name, err)
		return m, nil
	}
	status := 0
	if ran {
		status = exit.ExitCode()
	}
	if m.Verdict = said(out.b); m.Verdict == evidence.Unknown {
		switch complaint := check.LastLine(errs.String()); {
		case status == 0:
			m.Verdict = evidence.Holds
		case status == 1 && complaint == "":
			m.Verdict = evidence.Violated
		default:
			m.Reason = fmt.Sprintf("%s: exit status %d, and no verdict%s", p.Name, status, complaint)
		}
	}
	return m, nil
}

// programs runs the programs on every history.
func (o *Options) programs(ctx context.Context, sources []Source, told func(string, int)) (rows []Row, err error) {
	if len(o.Programs) == 0 {
		return nil, nil
	}
	dir, err := os.MkdirTemp("", "isovet-program-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	done, repeat := 0, max(o.Repeat, 1)
	for k, src := range sources {
		for j := range o.Programs {
			p := &o.Programs[j]
			at := fmt.Sprintf("%s/%d-%d", dir, k, j)
			if err := os.Mkdir(at, 0o755); err != nil {
				return rows, err
			}
			path, err := p.file(ctx, src, at)
			if err != nil {
				return rows, err
			}
			var runs []Measured
			for i := range repeat {
				told(p.Name+" on "+src.Name(), done)
				m, err := p.run(ctx, path, o.Timeout)
				if err != nil {
					return rows, err
				}
				runs, done = append(runs, m), done+1
				if m.Verdict == evidence.Unknown {
					done += repeat - i - 1
					break
				}
			}
			row := newRow(src, Contender{Checker: p.Name}, o.Level, runs)
			row.Program = true
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// said returns the verdict in a program's output, or unknown.
func said(out []byte) evidence.Verdict {
	v := evidence.Unknown
	for line := range bytes.Lines(out) {
		words := strings.FieldsFunc(strings.ToLower(string(line)), func(r rune) bool { return r < 'a' || r > 'z' })
		for i, w := range words {
			switch {
			case w == "accept" || w == "accepted" || w == "valid" || w == "true" && i == len(words)-1:
				v = evidence.Holds
			case w == "reject" || w == "rejected" || w == "invalid" || w == "violation" ||
				w == "false" && i == len(words)-1:
				v = evidence.Violated
			}
		}
	}
	return v
}
