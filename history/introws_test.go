package history

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/internal/test/must"
)

// randomRow is a row in canonical form, and its integers if it is one of integers that stands packed.
func randomRow(r *rand.Rand) (row string, columns map[string]int64) {
	names := []string{"a", "b", "é", "k1", "k2", "key", `q\"`, strings.Repeat("x", 300)}
	var parts []string
	columns = map[string]int64{}
	for _, name := range names {
		if r.IntN(3) > 0 {
			continue
		}
		n := int64(r.Uint64()) >> r.IntN(64)
		switch r.IntN(12) {
		case 0:
			n = math.MinInt64
		case 1:
			n = math.MaxInt64
		case 2:
			n = 0
		}
		value := fmt.Sprint(n)
		if r.IntN(20) == 0 {
			value, columns = []string{"null", "true", `"1"`, `""`}[r.IntN(4)], nil
		}
		if name == `q\"` {
			columns = nil // needs an escape
		}
		if columns != nil {
			columns[name] = n
		}
		parts = append(parts, fmt.Sprintf(`"%s":%s`, name, value))
	}
	if len(parts) == 0 {
		columns = nil
	}
	return "{" + strings.Join(parts, ",") + "}", columns
}

// TestIntRows: a row is the text that it was, whether it stands packed or not, and its columns are what JSON says.
func TestIntRows(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 21))
	b := NewBuilder()
	type made struct {
		id   uint32
		text string
	}
	var all []made
	id := map[string]uint32{}
	packed := 0
	for range 8000 {
		text, columns := randomRow(r)
		v := b.RowValue([]byte(text))
		if was, ok := id[text]; ok && was != uint32(v.N) {
			t.Fatalf("%s is text %d and %d", text, was, v.N)
		}
		id[text] = uint32(v.N)
		all = append(all, made{uint32(v.N), text})
		must.Same(t, b.Texts.IsPacked(uint32(v.N)), columns != nil, "%s: packed", text)
		if columns == nil {
			continue
		}
		packed++
		shape, cells, ok := b.Texts.IntRow(uint32(v.N), nil)
		names := b.Texts.RowColumns(shape)
		must.Hold(t, ok && len(names) == len(columns) && len(cells) == len(columns),
			"%s: columns %q, cells %d", text, names, cells)
		for i, name := range names {
			if n, ok := columns[name]; !ok || n != cells[i] {
				t.Fatalf("%s: column %q is %d", text, name, cells[i])
			}
		}
		// What a reader makes of it by the shape is the same.
		s, ok := b.Shape([]byte(text))
		if again := b.PackedValue(AppendRow(nil, s.ID, cells)); !ok || again != v || s.ID != shape {
			t.Fatalf("%s: text %d by its shape; expected %d", text, again.N, v.N)
		}
		var heads []string
		for i, h := range s.Heads {
			heads = append(heads, string(h)+fmt.Sprint(cells[i]))
		}
		must.Same(t, strings.Join(heads, "")+"}", text, "by heads")
	}
	for _, s := range []string{"", "\xff", "\xff\x00", "\xff\x00a", "\xff\x01\x00\x00\x02", "{", "x"} {
		all = append(all, made{b.Text([]byte(s)), s})
	}
	check := func(what string, x *Texts) {
		t.Helper()
		for _, m := range all {
			if got := string(x.Text(m.id)); got != m.text || string(x.AppendText([]byte("."), m.id)) != "."+m.text {
				t.Fatalf("%s: text %d is %q; expected %q", what, m.id, got, m.text)
			}
		}
	}
	check("builder", &b.Texts)
	again := NewPackedTexts(b.Texts.Layout())
	check("layout", again)
	if bad, ok := again.Packed(0, uint32(again.Len())); !ok {
		t.Fatalf("text %d is said to be none", bad)
	}
	var plain Texts
	for i, s := range []string{"\xff", "a", "\xff\x01\x00\x00\x02"} {
		plain.Intern([]byte(s))
		must.Equal(t, string(plain.Text(uint32(i))), s, "text %d", i)
	}
	arena, off, shapes := plain.Layout()
	if x := NewTexts(arena, off); string(arena) != "\xffa\xff\x01\x00\x00\x02" || shapes != nil ||
		string(x.Text(2)) != "\xff\x01\x00\x00\x02" {
		t.Errorf("plain texts lie as %q", arena)
	}
	must.Be(t, packed >= len(all)/4 && packed <= len(all)*3/4, "%d of %d rows stand packed", packed, len(all))
}

// TestPackedWrong: what is cut off or altered is found to be wrong, or can be read.
func TestPackedWrong(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 21))
	b := NewBuilder()
	for range 40 {
		text, _ := randomRow(r)
		b.RowValue([]byte(text))
	}
	arena, off, shapes := b.Texts.Layout()
	found := 0
	for range 8000 {
		bad := append([]byte(nil), arena...)
		for range 1 + r.IntN(3) {
			bad[r.IntN(len(bad))] = []byte{0, 1, 2, 4, 0x7f, 0x80, 0xff, '"', byte(r.Uint32())}[r.IntN(9)]
		}
		x := NewPackedTexts(bad, off, shapes)
		if _, ok := x.Packed(0, uint32(x.Len())); !ok {
			found++
			continue
		}
		for id := range uint32(x.Len()) {
			if s := x.Text(id); x.IsPacked(id) {
				var row map[string]any
				if err := json.Unmarshal(s, &row); err != nil && !strings.ContainsFunc(string(s), func(c rune) bool {
					return c < ' ' || c == '\ufffd'
				}) {
					t.Fatalf("%q: %v", s, err)
				}
			}
		}
	}
	must.Be(t, found >= 1000, "%d found", found)
}
