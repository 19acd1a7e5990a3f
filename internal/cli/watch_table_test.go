package cli

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"isovet/internal/cli/watches"
	"isovet/internal/test/must"
	"isovet/watch"
)

// screen is a terminal of some width: it knows what the table writes, moves up, clears below, and wraps long lines.
type screen struct {
	width, x, y int
	cells       map[[2]int]rune
}

var escapeCode = regexp.MustCompile(`^\x1b\[(\d*)([AJK])`)

func (s *screen) Write(b []byte) (int, error) {
	text := string(b)
	for text != "" {
		if m := escapeCode.FindStringSubmatch(text); m != nil {
			n, _ := strconv.Atoi(m[1])
			switch m[2] {
			case "A":
				s.y = max(s.y-n, 0)
			case "J":
				for at := range s.cells {
					if at[1] > s.y || at[1] == s.y && at[0] >= s.x {
						delete(s.cells, at)
					}
				}
			}
			text = text[len(m[0]):]
			continue
		}
		r := []rune(text)[0]
		text = text[len(string(r)):]
		switch r {
		case '\r':
			s.x = 0
		case '\n':
			s.x, s.y = 0, s.y+1
		default:
			if s.x == s.width {
				s.x, s.y = 0, s.y+1
			}
			s.cells[[2]int{s.x, s.y}] = r
			s.x++
		}
	}
	return len(b), nil
}

// lines are the screen's lines.
func (s *screen) lines() (all []string) {
	for y := range s.y + 1 {
		line := []rune(strings.Repeat(" ", s.width))
		for x := range s.width {
			if r := s.cells[[2]int{x, y}]; r != 0 {
				line[x] = r
			}
		}
		all = append(all, strings.TrimRight(string(line), " "))
	}
	return all
}

// TestWatchTableRepaints: whatever the width, the screen has each violation once and whole, in order, and the last
// table, once, below them.
func TestWatchTableRepaints(t *testing.T) {
	for _, width := range []int{40, 80, 100, 120} {
		term := &screen{width: width, cells: map[[2]int]rune{}}
		var s watch.Snapshot
		table := &watches.Table{W: term, Get: func() watch.Snapshot { return s }, Shown: true,
			Width: func() int { return width }}
		out := watches.AboveTable{T: table, To: term}
		var violations []string
		for i := range 12 {
			s.Txns, s.Keys = int64(1000*i), 50
			s.Violations = map[string]int64{"lost-update": int64(i), "write-skew": 3, "LATE": 1234567}
			s.More = []watch.Count{{Short: "contradicting reads", N: 1482}, {Short: "clock jumps", N: int64(i)},
				{Short: "duplicates", N: 9}, {Short: "truncated", N: 1}}
			table.Draw(float64(100 * i))
			if i%3 == 1 {
				v := fmt.Sprintf(`{"violation":%d,"text":%q}`, i, strings.Repeat("x", 70))
				violations = append(violations, v)
				fmt.Fprintln(out, v)
			}
		}
		got := strings.Join(term.lines(), "\n")
		var want bytes.Buffer
		for _, v := range violations {
			for len(v) > width {
				want.WriteString(v[:width] + "\n")
				v = v[width:]
			}
			want.WriteString(v + "\n")
		}
		for _, row := range watches.Rows(&s, 1100, width) {
			want.WriteString(row + "\n")
			if len(row) >= width {
				t.Errorf("%d columns: a row has %d: %s", width, len(row), row)
			}
		}
		must.Equal(t, got, strings.TrimRight(want.String(), "\n")+"\n", "%d columns", width)
	}
}
