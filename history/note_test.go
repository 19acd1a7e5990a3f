package history

import "testing"

// Notes outlive Build, are added up, and come with a merged builder.
func TestNotes(t *testing.T) {
	a, b := NewBuilder(), NewBuilder()
	a.Note(NoteSkipped, 2, "lines were passed over")
	a.Note(NoteSkipped, 3, "lines were passed over")
	b.Note(NoteSkipped, 1, "lines were passed over")
	b.Note(NoteInvented, 4, "writers")
	a.Merge(b, 0)
	h, err := a.Build()
	if err != nil {
		t.Fatal(err)
	}
	h.AddNote(NoteInvented, 5, "other writers")
	want := []Note{{NoteSkipped, 6, "lines were passed over"}, {NoteInvented, 4, "writers"}, {NoteInvented, 5,
		"other writers"}}
	if len(h.Notes) != len(want) {
		t.Fatalf("%v; want %v", h.Notes, want)
	}
	for i, n := range h.Notes {
		if n != want[i] {
			t.Errorf("note %d: %v; want %v", i, n, want[i])
		}
	}
	if n := h.Invented(); n != 9 {
		t.Errorf("%d invented writers; want 9", n)
	}
}
