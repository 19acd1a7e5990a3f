// Package partlist is the list that a folder has of the files that one history is in, isovet-parts.json: what it looks
// like and how it is written. Package format reads it.
//
// Experimental: this package may still change.
package partlist

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// Name is the file's name in the folder.
const Name = "isovet-parts.json"

// Format and Version are what the file begins with.
const Format, Version = "isovet-parts", 1

// Part is one of the files that a history is in, as the list in their folder has it.
type Part struct {
	File  string `json:"file"` // its name in the folder
	Bytes int64  `json:"bytes"`
	Txns  int64  `json:"transactions"`
	Ops   int64  `json:"operations"`
}

// List is the content of the file: it lists files that are whole.
type List struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Unfinished says that parts are still being written, or that this was broken off: those that are there are not a
	// history.
	Unfinished bool `json:"unfinished,omitempty"`
	// Recording says that the history is still being recorded, or that this was broken off: it goes on in the folder's
	// files whose names end in [Recording].
	Recording bool   `json:"recording,omitempty"`
	Parts     []Part `json:"parts"`
	// More is what the writer has to say of the history beside that, by name.
	More map[string]any `json:"more,omitempty"`
}

// Recording is the ending of a part that is being recorded, behind the name without its own ending: part-00003.partial.
const Recording = ".partial"

// Write writes the list of a folder's parts, whole or not at all.
func Write(dir string, l List) error {
	l.Format, l.Version = Format, Version
	if l.Parts == nil {
		l.Parts = []Part{}
	}
	data, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "."+Name+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, Name))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
