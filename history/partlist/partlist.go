// Package partlist defines the list of the files of a history in parts, isovet-parts.json, and writes it. Package
// format reads it.
//
// Experimental: this package may still change.
package partlist

import (
	"encoding/json"
	"path/filepath"

	"isovet/internal/atomicfile"
)

// Name is the file's name in the folder.
const Name = "isovet-parts.json"

// Format and Version are at the beginning of the file.
const Format, Version = "isovet-parts", 1

// Part is an entry of the list: one of the files of a history.
type Part struct {
	File  string `json:"file"` // its name in the folder
	Bytes int64  `json:"bytes"`
	Txns  int64  `json:"transactions"`
	Ops   int64  `json:"operations"`
}

// List is the content of the file. It lists complete files.
type List struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Unfinished says that parts are still being written, or that the writing was interrupted. The listed files are
	// then not a whole history.
	Unfinished bool `json:"unfinished,omitempty"`
	// Recording says that the history is still being recorded, or that the recording was interrupted. The history goes
	// on in the folder's files with the ending [Recording].
	Recording bool   `json:"recording,omitempty"`
	Parts     []Part `json:"parts"`
	// More has the writer's own data about the history, by name.
	More map[string]any `json:"more,omitempty"`
}

// Recording is the ending of a part that is being recorded, such as part-00003.partial.
const Recording = ".partial"

// Write writes the list of a folder's parts atomically.
func Write(dir string, l List) error {
	l.Format, l.Version = Format, Version
	if l.Parts == nil {
		l.Parts = []Part{}
	}
	data, err := json.MarshalIndent(l, "", " ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, Name)
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	return atomicfile.End(f, path, true, err)
}
