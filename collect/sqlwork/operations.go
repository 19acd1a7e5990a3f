package sqlwork

import (
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"isovet/internal/sqltext"
)

//go:embed jepsen
var jepsen embed.FS

// Jepsen lists Jepsen's workloads that databases can run.
func Jepsen() (names []string) {
	files, _ := jepsen.ReadDir("jepsen") // it is embedded
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// OfJepsen returns one of Jepsen's workloads.
func OfJepsen(name string) (*Workload, error) {
	text, err := jepsen.ReadFile("jepsen/" + name + ".yaml")
	if err != nil {
		return nil, err
	}
	return Parse(text, false)
}

// For returns the workload with the steps for a dialect of SQL and for a variant; "" is the first variant.
func (w *Workload) For(dialect, variant string) (*Workload, error) {
	x := *w
	x.Transactions = nil
	for _, t := range w.Transactions {
		y := *t
		y.Steps = slices.DeleteFunc(slices.Clone(t.Steps), func(s *Step) bool {
			return s.Only != nil && !slices.Contains(s.Only, dialect) && !slices.Contains(s.Only, w.Variant(variant))
		})
		if len(y.Steps) == 0 {
			return nil, fmt.Errorf("workload %s: %s has no step for %s; expected one without only, or with it", w.Name,
				t.Name, strings.Trim(dialect+", "+w.Variant(variant), ", "))
		}
		x.Transactions = append(x.Transactions, &y)
	}
	return &x, nil
}

// Variant returns a variant's name; "" is the first one's.
func (w *Workload) Variant(name string) string {
	if len(w.Variants) > 0 {
		name = cmp.Or(name, w.Variants[0])
	}
	return name
}

// checkOperation returns an error about the fields of a transaction that describe an operation.
func (w *Workload) checkOperation(t *Transaction) error {
	for i, name := range sqltext.Named(t.Value) {
		if i%2 == 1 && w.Parameters[name] == nil {
			return fmt.Errorf("%s: value %q: no parameter :%s", t.Name, t.Value, name)
		}
	}
	switch {
	case !w.Operations && (t.Value != "" || t.Last):
		return fmt.Errorf("%s: value and last describe operations; expected operations: true", t.Name)
	case !json.Valid([]byte(t.Call(nil))):
		return fmt.Errorf("%s: value %q; expected JSON with parameters, such as {\"from\": :from}", t.Name, t.Value)
	}
	return nil
}

// checkStep is the same for a step. Steps of operations are not recorded themselves.
func (w *Workload) checkStep(s *Step) error {
	switch {
	case !w.Operations && (s.Some || s.Answer != ""):
		return errors.New("some and answer describe operations; expected operations: true")
	case !slices.Contains([]string{"", "map", "list", "value"}, s.Answer):
		return fmt.Errorf("answer %q; expected map, list or value", s.Answer)
	}
	s.Unrecorded = s.Unrecorded || w.Operations
	return nil
}

// DrawUniques draws the workload's unique parameters.
func (w *Workload) DrawUniques(values map[string]any, next func() int64) {
	for name, p := range w.Parameters {
		if p.Unique {
			values[name] = next()
		}
	}
}

// Call returns the value with which the operation is invoked, in JSON.
func (t *Transaction) Call(values map[string]any) string {
	parts := sqltext.Named(cmp.Or(t.Value, "null"))
	for i := 1; i < len(parts); i += 2 {
		parts[i] = text(values[parts[i]])
	}
	return strings.Join(parts, "")
}

func text(v any) string {
	b, _ := json.Marshal(v) // a number, a text or null
	return string(b)
}

// Result returns what an operation returns, in JSON, by the answer to the step: a map from its first column to the
// second, a list of the first column, or the first value.
func (s *Step) Result(rows [][]any) (string, error) {
	var b strings.Builder
	for i, row := range rows {
		switch {
		case s.Answer == "value":
			return text(row[0]), nil
		case s.Answer == "map" && len(row) < 2:
			return "", errors.New(s.SQL + ": one column; expected two for answer: map")
		case i > 0:
			b.WriteString(", ")
		}
		if s.Answer == "map" {
			b.WriteString(text(fmt.Sprint(row[0])) + ": " + text(row[1]))
		} else {
			b.WriteString(text(row[0]))
		}
	}
	switch s.Answer {
	case "map":
		return "{" + b.String() + "}", nil
	case "list":
		return "[" + b.String() + "]", nil
	}
	return "null", nil
}
