// Package format lists the file formats of histories. It finds a file's format by its content, and reads and writes
// files of each format, plain or compressed.
//
// A format is a [Format] value in the list that [All] returns; its reader and writer live in a package of their own
// below this one. A new format is one new package and one new entry. A history is a file, a stream, or a folder (Cobra
// and Viper write one file a session); readers get an [Input], which gives them what they need: a stream, all bytes, or
// the folder's path.
//
// Stable: this package's API changes only with a new major version.
package format

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"isovet/history"
	"isovet/internal/slice"
)

// Confidence says how certain a format is that an input is in this format.
type Confidence uint8

const (
	No      Confidence = iota // it cannot be
	Maybe                     // it has the right beginning
	Likely                    // it has what files of the format have
	Certain                   // it says so itself
)

// Feature is a set of features that a format can express.
type Feature uint16

const (
	Times      Feature = 1 << iota // client times of transactions
	OpTimes                        // client times of operations
	Timestamps                     // the database's timestamps
	Aborted                        // aborted transactions
	Unknown                        // transactions of unknown outcome
	Lists                          // appends and reads of lists
	Predicates                     // predicate reads and writes
	Rows                           // values that are rows
	Initial                        // an initial transaction or value
	Levels                         // levels of single transactions
)

// Everything is the set of all features.
const Everything = Times | OpTimes | Timestamps | Aborted | Unknown | Lists | Predicates | Rows | Initial |
	Levels

var featureNames = [...]string{"times", "operation times", "timestamps", "aborted", "unknown", "lists", "predicates",
	"rows", "initial values", "levels of transactions"}

// Names returns the features' names.
func (f Feature) Names() []string {
	var names []string
	for i, n := range featureNames {
		if f&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

func (f Feature) String() string { return strings.Join(f.Names(), ", ") }

// Format is a file format.
type Format struct {
	Name  string   // as in --format
	About string   // one line
	Tool  string   // the tool that the format comes from
	Holds Feature  // what it can hold
	Ext   []string // usual endings of file names, with the dot; for the choice of a format to write
	Dir   bool     // a history is a folder
	// Events says that files list invocations and completions in the order of their occurrence, and that Read heeds
	// Options.RealTime.
	Events bool
	// tellsNil says that Read uses Options.Nil and Options.TextNumbers.
	tellsNil bool

	// Detect judges the first bytes of a file's decompressed content (at most HeadSize) or, if head is nil, the folder
	// at path. It must not use the file's name.
	Detect func(head []byte, path string) Confidence
	// Read reads a history. Errors about the content are *history.InputError.
	Read func(ctx context.Context, in *Input, o Options) (*history.History, error)
	// Write writes a history. It is nil if the format is only read. A history with features beyond Holds is refused
	// before the call, unless lossy is set: then Write drops them, and returns an error for content that it cannot
	// write at all.
	Write func(w io.Writer, h *history.History, lossy bool) error
	// WriteDir is Write for a format whose histories are folders: it fills an empty folder.
	WriteDir func(dir string, h *history.History) error
}

// HeadSize bounds the part of a file that Detect sees.
const HeadSize = 1 << 16

// Options say how to read. The zero value detects the format and uses all cores.
type Options struct {
	Format   string       // a format's name; "" or "auto": by content
	Workers  int          // cores to use; 0: all
	RealTime RealTime     // where real time comes from; "": by the file
	Initial  InitialValue // what registers hold at first; "": by the file
	Nil      Nil          // the meaning of a read of nil; "": as the file's own checker takes it
	// TextNumbers reads a text that is an integer as that integer, in keys and values of Jepsen's files.
	TextNumbers bool
	// Progress, if set, is called from time to time with the number of bytes read of the file, in its compressed size.
	// Any goroutine may call it, but only one at a time. Formats that read a whole file at once do not call it for a
	// plain file.
	Progress func(done, total int64)
	// MaxBytes bounds the decompressed size of a file. A larger file is an error. 0 means no bound.
	MaxBytes int64
	// Recorded is how many bytes of a growing recording to read; 0 means all.
	Recorded int64
}

// RealTime names the source of the transactions' real time.
type RealTime string

const (
	ByFile  RealTime = "auto"  // the file's times or positions; each format describes which
	ByTime  RealTime = "time"  // the file's times
	ByIndex RealTime = "index" // the order of invocations and completions in the file
	Untimed RealTime = "none"  // nothing: there is no real time
)

// RealTimes are the values of RealTime.
func RealTimes() []string {
	return []string{string(ByFile), string(ByTime), string(ByIndex), string(Untimed)}
}

// All returns the formats, the project's own first.
func All() []Format {
	return []Format{isovet, columnar, parquetTable, jepsenEDN, jepsenJSON, jepsenLog, jepsenTest, cobraLog,
		dbcopBincode, dbcopJSON, dbcopHist, plumeText, polysiText, awditText, viperJSON, timekillerJSON, porcupineLog,
		porcupineKV, otlpJSON, watchLog}
}

// ByName returns the format of that name.
func ByName(name string) (Format, bool) {
	i := slices.IndexFunc(All(), func(f Format) bool { return f.Name == name })
	if i < 0 {
		return Format{}, false
	}
	return All()[i], true
}

// Names returns the names of formats.
func Names(of []Format) []string { return slice.Map(of, func(f Format) string { return f.Name }) }

func named(name string) (Format, error) {
	f, ok := ByName(name)
	if !ok {
		return f, fmt.Errorf("unknown format %q; expected one of auto, %s", name, strings.Join(Names(All()), ", "))
	}
	return f, nil
}
