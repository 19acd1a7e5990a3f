package bench

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"isovet/evidence"
	"isovet/internal/escape"
	"isovet/internal/slice"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
)

// WriteJSON writes the rows as one array.
func WriteJSON(w io.Writer, rows []Row) error {
	if rows == nil {
		rows = []Row{}
	}
	b, err := json.Marshal(rows)
	if err != nil {
		return err
	}
	b = bytes.ReplaceAll(b, []byte("},{\"checker\""), []byte("},\n {\"checker\""))
	_, err = w.Write(append(b, '\n'))
	return err
}

// column is a column of the tables for people.
type column struct {
	name string
	left bool
	get  func(*Row) string
	// always shows the column even if no row has a value.
	always bool
}

func columns(rows []Row) []column {
	ms := milliText
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	// These counts exist for checkers that make constraints or clauses. For other checkers they would wrongly be zero.
	sat := func(get func(*Row) int64) func(*Row) string {
		return func(r *Row) string {
			if r.Solver == "" && r.Before == 0 && r.Variables == 0 {
				return ""
			}
			return n(get(r))
		}
	}
	several := false
	for i := range rows {
		several = several || rows[i].source() != rows[0].source()
	}
	cols := []column{
		{"history", true, func(r *Row) string {
			if !several {
				return ""
			}
			return r.source().Name()
		}, false},
		{"checker", true, func(r *Row) string { return r.Checker }, true},
		{"settings", true, func(r *Row) string { return r.Settings }, false},
		{"solver", true, func(r *Row) string { return r.Solver }, false},
		{"verdict", true, func(r *Row) string {
			if r.Timestamps || r.Items {
				return ""
			}
			return r.verdictText()
		}, true},
		{"items: verdict", true, func(r *Row) string {
			if !r.Items {
				return ""
			}
			return r.verdictText()
		}, false},
		{"ts: verdict", true, func(r *Row) string {
			if !r.Timestamps {
				return ""
			}
			return r.verdictText()
		}, false},
		{"decided by", true, func(r *Row) string { return r.DecidedBy }, false},
		{"load ms", false, func(r *Row) string { return ms(r.LoadMS) }, true},
		{"check ms", false, func(r *Row) string { return ms(r.CheckMS) }, true},
		{"min-max", false, (*Row).spread, false},
		{"95 %", false, (*Row).interval, false},
		{"peak MB", false, (*Row).peakText, true},
		{"constraints", false, sat(func(r *Row) int64 { return int64(r.Before) }), false},
		{"left", false, sat(func(r *Row) int64 { return int64(r.Left) }), false},
		{"variables", false, sat(func(r *Row) int64 { return int64(r.Variables) }), false},
		{"clauses", false, sat(func(r *Row) int64 { return int64(r.Clauses) }), false},
		{"conflicts", false, sat(func(r *Row) int64 { return r.Conflicts }), false},
		{"wall ms", false, func(r *Row) string {
			if !slices.ContainsFunc(rows, func(r Row) bool { return r.Program }) {
				return ""
			}
			return ms(r.WallMS)
		}, false},
		{"theory", true, func(r *Row) string { return r.UsedTheory }, false},
	}
	return slices.DeleteFunc(cols, func(c column) bool {
		return !c.always && !slices.ContainsFunc(rows, func(r Row) bool { return c.get(&r) != "" })
	})
}

// spread returns the shortest and the longest of several checks.
func (r *Row) spread() string {
	if r.Repeat < 2 {
		return ""
	}
	return cmp.Or(milliText(r.CheckMin), "0") + "-" + cmp.Or(milliText(r.CheckMax), "0")
}

// interval returns the interval, by the bootstrap, of the median of the checks. It returns "" if there is none, or if
// it equals the spread, as for five runs.
func (r *Row) interval() string {
	text := milliText(r.CheckLow) + "-" + milliText(r.CheckHigh)
	if r.CheckHigh == 0 || text == r.spread() {
		return ""
	}
	return text
}

// peakText returns the greatest memory of the runs, or "".
func (r *Row) peakText() string {
	if r.PeakMB == 0 {
		return ""
	}
	return strconv.FormatFloat(r.PeakMB, 'f', 0, 64)
}

// milliText returns a time for a table, or "".
func milliText(v float64) string {
	switch {
	case v == 0:
		return ""
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// verdictText returns the verdict with its reason, if there is one.
func (r *Row) verdictText() string {
	switch {
	case r.Reason != "":
		return r.Verdict.String() + " (" + short(r) + ")"
	case r.Timestamps && r.BadTxns > 0:
		return fmt.Sprintf("%s (%d transactions)", r.Verdict, r.BadTxns)
	}
	return r.Verdict.String()
}

// short returns a reason shortened for a cell.
func short(r *Row) string {
	if r.Fault != "" {
		return "fault of isovet's"
	}
	s := []rune(strings.TrimSpace(r.Reason))
	if len(s) > 60 {
		return string(s[:59]) + "…"
	}
	return string(s)
}

// WriteTable writes the rows for people, as ASCII or Markdown.
func WriteTable(w io.Writer, rows []Row, markdown bool) error {
	cols := columns(rows)
	plain := slice.Map(cols, func(c column) tableColumn { return tableColumn{c.name, c.left} })
	cells := slice.Map(rows, func(r Row) []string {
		return slice.Map(cols, func(c column) string { return c.get(&r) })
	})
	return renderTable(w, plain, cells, markdown)
}

// tableColumn is a column's head, and whether its cells are texts rather than numbers.
type tableColumn struct {
	name string
	left bool
}

// renderTable writes a table as ASCII or Markdown.
func renderTable(w io.Writer, cols []tableColumn, rows [][]string, markdown bool) error {
	align := tw.CellAlignment{}
	var header []string
	for _, c := range cols {
		header = append(header, c.name)
		if c.left {
			align.PerColumn = append(align.PerColumn, tw.AlignLeft)
		} else {
			align.PerColumn = append(align.PerColumn, tw.AlignRight)
		}
	}
	opts := []tablewriter.Option{
		tablewriter.WithHeaderAutoFormat(tw.Off), // it would turn "load ms" into "LOAD MS"
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignmentConfig(align),
		tablewriter.WithRowAlignmentConfig(align),
	}
	if markdown {
		opts = append(opts, tablewriter.WithRenderer(renderer.NewMarkdown()))
	} else {
		ascii := tw.Rendition{Symbols: tw.NewSymbols(tw.StyleASCII)} // by WithRendition, v1.1.0 prints a debug line
		opts = append(opts, tablewriter.WithRenderer(renderer.NewBlueprint(ascii)))
	}
	var table bytes.Buffer // tablewriter does not return a file's errors
	t := tablewriter.NewTable(&table, opts...)
	t.Header(header)
	for _, row := range rows {
		cells := slices.Clone(row)
		for j := range cells {
			cells[j] = escape.Line(cells[j])
			switch {
			case !markdown:
			case strings.ContainsAny(strings.ReplaceAll(cells[j], "< ", ""), "<[`\\"): // no words of ours
				cells[j] = escape.Cell(cells[j])
			default:
				cells[j] = strings.ReplaceAll(cells[j], "|", `\|`) // the renderer does not
			}
		}
		if err := t.Append(cells); err != nil {
			return err
		}
	}
	if err := t.Render(); err != nil {
		return err
	}
	_, err := table.WriteTo(w)
	return err
}

// WriteCSV writes the rows with the names of the JSON fields as header.
func WriteCSV(w io.Writer, rows []Row) error {
	return writeFields(w, rows, "json", strings.Fields(`checker solver workload variant level history txns ops sessions
		keys verdict reason load_ms check_ms check_ms_min check_ms_max certify_ms peak_mb known_edges constraints
		constraints_left variables clauses decisions conflicts propagations restarts rounds repeat settings closure
		encoding theory wall_ms cpu_ms check_ms_low check_ms_high`),
		map[string]func(*Row) any{"level": func(r *Row) any { return r.label() }})
}

// writeFields writes rows as CSV, with names as header. Columns are the fields that have these names in a tag, or what
// other returns for a name.
func writeFields[T any](w io.Writer, rows []T, tag string, names []string, other map[string]func(*T) any) error {
	fields := reflect.VisibleFields(reflect.TypeFor[T]())
	lines := [][]string{names}
	for i := range rows {
		var line []string
		for _, name := range names {
			var v any
			if get := other[name]; get != nil {
				v = get(&rows[i])
			} else {
				at := slices.IndexFunc(fields, func(f reflect.StructField) bool {
					is, _, _ := strings.Cut(f.Tag.Get(tag), ",")
					return is == name
				})
				v = reflect.ValueOf(rows[i]).FieldByIndex(fields[at].Index).Interface()
			}
			text := fmt.Sprint(v)
			if x, ok := v.(float64); ok {
				text = strconv.FormatFloat(x, 'f', -1, 64)
			}
			line = append(line, text)
		}
		lines = append(lines, line)
	}
	if err := csv.NewWriter(w).WriteAll(lines); err != nil {
		return fmt.Errorf("cannot write CSV: %w", err)
	}
	return nil
}

// label names the level as verdicts do.
func (r *Row) label() string {
	l := evidence.Label(r.Level, r.Timestamps)
	if r.Items {
		return evidence.ItemsMark + l
	}
	return l
}
