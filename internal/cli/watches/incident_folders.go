package watches

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"isovet/check/shrink"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/cli/checks"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/internal/safego"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/report/incident"
	"isovet/watch"
	"isovet/watch/seen"
)

// IncidentFolders writes a folder for the database's maintainers for each incident of a watch that has a history with a
// certificate. It works in parallel with the watch, from files.
type IncidentFolders struct {
	State  string // the watch's folder
	Most   int    // folders
	Of     *watch.Incidents
	Log    *slog.Logger
	Tried  map[int64]bool               // incidents, by number
	check  checks.CheckFlags            // the watch's options; the certificate names level and checker
	made   map[int64]*incident.Incident // what the last sweep could not write
	failed bool                         // a folder could not be written; this has been said
	quit   chan struct{}
	ended  chan struct{}
}

const (
	// folderLook is the interval of looking for new incidents; folderShrinks bounds the shrinking of one.
	folderLook    = time.Second
	folderShrinks = 5 * time.Second
)

// begin starts writing folders, until end.
func (f *IncidentFolders) begin(ctx context.Context, group *safego.Group) {
	f.Tried, f.quit, f.ended = map[int64]bool{}, make(chan struct{}), make(chan struct{})
	if f.Most == 0 {
		close(f.ended)
		return
	}
	group.Go(func() {
		defer close(f.ended)
		look := time.NewTicker(folderLook)
		defer look.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-f.quit:
				f.Sweep(ctx)
				return
			case <-look.C:
				f.Sweep(ctx)
			}
		}
	})
}

// end writes the remaining folders, unless the context is over, and returns then.
func (f *IncidentFolders) end() {
	close(f.quit)
	<-f.ended
}

// Sweep writes the folders of the newest incidents that have none, and deletes the oldest beyond the bound.
func (f *IncidentFolders) Sweep(ctx context.Context) {
	told := slice.Filter(f.Of.List(), func(x watch.Incident) bool {
		return slices.ContainsFunc(x.Evidence, hasCertificate)
	})
	told, was := told[max(0, len(told)-f.Most):], f.made
	f.made = map[int64]*incident.Incident{}
	for _, x := range told {
		dir := filepath.Join(f.State, filepath.FromSlash(seen.FolderOf(x.ID)))
		if f.Tried[x.ID] || ctx.Err() != nil {
			continue
		}
		f.Tried[x.ID] = true
		if _, err := os.Stat(filepath.Join(dir, incident.JSONFile)); err == nil {
			continue // it is of an earlier run
		}
		err := f.write(ctx, &x, dir, was[x.ID])
		var file *fs.PathError
		if again := errors.As(err, &file) && !errors.Is(err, fs.ErrNotExist); again && ctx.Err() == nil {
			delete(f.Tried, x.ID) // the disk may be full
			if f.failed {
				continue
			}
			f.failed = true
		}
		if err != nil && ctx.Err() == nil {
			f.Log.Error("the folder of an incident could not be written", "incident", x.ID, "folder", dir, "error", err)
		}
	}
	if err := f.prune(); err != nil {
		f.Log.Error("an old folder of an incident could not be deleted", "folder", f.State, "error", err)
	}
}

func hasCertificate(e watch.Evidence) bool { return e.Certificate != "" }

// write writes the folder of an incident. told is what an earlier call could not write, or nil.
func (f *IncidentFolders) write(ctx context.Context, x *watch.Incident, dir string,
	told *incident.Incident) (err error) {
	if told == nil {
		if told, err = f.tell(ctx, x); err != nil {
			return err
		}
	}
	f.made[x.ID] = told
	if err := told.Write(dir); err != nil {
		return err
	}
	delete(f.made, x.ID)
	return nil
}

// tell shrinks an incident's first history with a certificate.
func (f *IncidentFolders) tell(ctx context.Context, x *watch.Incident) (*incident.Incident, error) {
	has := x.Evidence[slices.IndexFunc(x.Evidence, hasCertificate)]
	h, err := format.Read(ctx, filepath.Join(f.State, filepath.FromSlash(has.History)), format.Options{})
	if err != nil {
		return nil, err
	}
	file, err := os.Open(filepath.Join(f.State, filepath.FromSlash(has.Certificate)))
	if err != nil {
		return nil, err
	}
	c, err := evidence.ReadCertificate(file, h)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, folderShrinks)
	defer cancel()
	o := shrink.Options{Checker: c.Checker, Check: f.check.Options(c.Level, nil)}
	for i := range c.Anomalies {
		if kind := c.Anomalies[i].Kind; string(kind) == x.Class || string(kind) == x.Kind {
			o.Kinds = []level.Anomaly{kind} // keep the incident's kind
		}
	}
	small, err := shrink.History(limited, h, c.Level, o)
	if err != nil {
		return nil, err
	}
	if small.Answer.Verdict != evidence.Violated {
		return nil, fmt.Errorf("%s does not violate %s", has.History, c.Level)
	}
	return incident.Of(small, console.BuildVersion().String()), nil
}

var folderNumber = regexp.MustCompile(`^[0-9]{6,}$`)

// prune deletes the folders of the oldest incidents beyond the bound.
func (f *IncidentFolders) prune() error {
	in := filepath.Join(f.State, seen.Folders)
	entries, err := os.ReadDir(in)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	dirs := slice.Filter(entries, func(d fs.DirEntry) bool { return d.IsDir() && folderNumber.MatchString(d.Name()) })
	for _, d := range dirs[:max(0, len(dirs)-f.Most)] { // in order, as long as there are less than a million
		err = errors.Join(err, os.RemoveAll(filepath.Join(in, d.Name())))
	}
	return err
}

// incidentFlags configure the reports of violations.
type incidentFlags struct {
	every bool
	max   int64
	kept  int
	early bool
	// folders is the number of incidents that have a folder.
	folders int
}

// minViolations is the least bound for the files of violations.
const minViolations = 64 << 10

func (f *incidentFlags) add(fl *pflag.FlagSet) {
	f.max = 256 << 20
	fl.BoolVar(&f.every, "all-violations", false, "write every violation of an incident")
	fl.Var(console.Size(&f.max), "violations-max", "most `BYTES` of the files of violations")
	fl.BoolVar(&f.early, "suspects", false, "print reads that wait for a writer")
	fl.IntVar(&f.kept, "evidence", 100, "small histories to keep in FOLDER/evidence")
	fl.IntVar(&f.folders, "incident-folders", 20, "incident folders to keep in FOLDER/incidents")
}

func (f *incidentFlags) check() error {
	if f.max < minViolations {
		return console.Usagef("--violations-max %v; expected %d at least", console.Size(&f.max), minViolations)
	}
	if f.folders < 0 {
		return console.Usagef("--incident-folders %d is negative", f.folders)
	}
	if f.kept < 0 {
		return console.Usagef("--evidence %d is negative", f.kept)
	}
	return nil
}

// say reports the number of incidents at the end.
func (f *incidentFlags) say(w io.Writer, state string, of *watch.Incidents) {
	all := of.List()
	total, found := int64(0), int64(0)
	for _, x := range all {
		if !x.Unjudged {
			found++
			total += x.Count
		}
	}
	if found > 0 {
		fmt.Fprintf(w, "isovet: violations %d, incidents %d: %s\n", total, found,
			escape.Shell(state+"/incidents.jsonl"))
	}
}
