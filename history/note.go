package history

import "fmt"

// Note says that a reader changed the file's content, or understood it in an unexpected way, which a person must know
// to judge the verdict. Notes are about the file; no checker uses them.
type Note struct {
	Kind  string `json:"kind"`            // one of the constants below: stable, for programs
	Count int    `json:"count,omitempty"` // how many lines, transactions or operations it is about; 0: the file
	Text  string `json:"text"`            // a sentence without the file's name and a full stop
}

// Kinds of notes.
const (
	NoteSkipped = "lines-passed-over" // lines, records or operations that say nothing the history can hold
	// Transactions of unknown outcome that were added as writers that the file lacks.
	NoteInvented = "invented-writers"
	NoteTimes    = "times"          // how real time was told, where the file's times do not tell it
	NoteInitial  = "initial-values" // what keys hold at first, where that was guessed from the reads
	NoteIgnored  = "ignored"        // parts of operations that nothing is made of
	NoteNil      = "nil-reads"      // reads of nil that are not judged
	NoteTwice    = "twice-in-a-set" // elements that stood twice in one read of a set
	NoteTorn     = "torn-end"       // the file ends within a line or record
)

// Note adds a note. If a note with the same kind and text exists, it adds n to that note's count.
func (b *Builder) Note(kind string, n int, format string, args ...any) {
	b.notes = addNote(b.notes, Note{kind, n, fmt.Sprintf(format, args...)})
}

// AddNote adds a note to a built history. Only readers may call it, before they return the history.
func (h *History) AddNote(kind string, n int, format string, args ...any) {
	h.Notes = addNote(h.Notes, Note{kind, n, fmt.Sprintf(format, args...)})
}

func addNote(all []Note, n Note) []Note {
	for i := range all {
		if all[i].Kind == n.Kind && all[i].Text == n.Text {
			all[i].Count += n.Count
			return all
		}
	}
	return append(all, n)
}

// Invented returns how many transactions were added as writers that the file lacks. No client ran them, as far as the
// file says.
func (h *History) Invented() int {
	n := 0
	for i := range h.Notes {
		if h.Notes[i].Kind == NoteInvented {
			n += h.Notes[i].Count
		}
	}
	return n
}
