package elaborate_test

import (
	"testing"

	"isovet/check"
	"isovet/history/format"
)

// TestReaderThatDoesNotCount: of transactions of unknown outcome that are assumed not to take part the graph has no
// edges. It had, and found the same cycles for ever.
func TestReaderThatDoesNotCount(t *testing.T) {
	if n := ends(t, "cycle-through-a-reader-that-does-not-count"); n.violated == 0 {
		t.Error(n)
	}
}

// TestOtherReaders: where an element was appended more than once, it may take a reader whom the evidence does not name
// to say whose it is.
func TestOtherReaders(t *testing.T) {
	for _, name := range []string{"list-order-shown-by-another-reader",
		"list-order-shown-by-an-early-and-a-late-reader", "list-lost-update-shown-by-another-reader"} {
		if n := ends(t, name); n.refused > 0 || n.violated == 0 {
			t.Error(name, n)
		}
	}
}

func ends(t *testing.T, name string) *tally {
	t.Helper()
	n := &tally{why: map[string]int{}}
	h, err := format.Read(t.Context(), "testdata/"+name+".jsonl", format.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range six {
		c, err := check.ByName("replay")
		if err != nil {
			t.Fatal(err)
		}
		r, err := check.Run(t.Context(), c, h, check.Options{Level: l})
		if err != nil {
			t.Fatal(err)
		}
		judge(t, r, n)
	}
	return n
}
