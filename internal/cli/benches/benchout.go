package benches

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"isovet/bench"
	"isovet/internal/atomicfile"
	"isovet/internal/cli/console"
)

// validateOutputs returns an error if the results cannot be written, before hours are spent on them.
func (f *compareFlags) validateOutputs() error {
	switch {
	case !bench.HasCharts() && strings.HasSuffix(f.tidy, ".parquet"):
		return console.Usagef("this program cannot write Parquet; --tidy %s: expected a file whose name "+
			"ends in .csv, or the full isovet", f.tidy)
	case !bench.HasCharts() && f.plot != "":
		return console.Usagef("this program cannot draw; --plot %s: expected the full isovet", f.plot)
	}
	for _, of := range []struct{ flag, file string }{{"tidy", f.tidy}, {"plot", f.plot}} {
		switch {
		case of.file == "" || of.file == "-" || atomicfile.Special(of.file):
		case console.Folderish(of.file):
			return console.Usagef("--%s %s is a folder; expected a file", of.flag, of.file)
		default:
			if err := canCreateIn(filepath.Dir(of.file)); err != nil {
				return console.Usagef("--%s %s cannot be written: %v", of.flag, of.file, err)
			}
		}
	}
	if f.out == "" {
		return nil
	}
	dir := f.out // it is made, with those above it
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	if err := canCreateIn(dir); err != nil {
		return console.Usagef("--out %s cannot be written: %v", f.out, err)
	}
	return nil
}

// canCreateIn tries whether files can be created in a folder.
func canCreateIn(dir string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is a file; expected a folder", dir)
	}
	file, err := os.CreateTemp(dir, ".isovet-*")
	if err != nil {
		return err
	}
	file.Close()
	return os.Remove(file.Name())
}
