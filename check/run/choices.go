package run

import (
	"fmt"
	"slices"
	"strings"

	"isovet/internal/slice"
	"isovet/solver/external"
)

// These are the names of choices that are not settings.
const (
	ChoiceSolver = "solver"
	ChoiceTheory = "theory"
)

// Choices returns the checker's choices with their values: its settings and, if it uses a solver, solver and theory.
func (in *Info) Choices() []Setting {
	out := slices.Clone(in.Settings)
	if len(in.Solvers) > 0 {
		out = append(out, Setting{ChoiceSolver, in.Solvers}, Setting{ChoiceTheory, Theories()})
	}
	return out
}

// ParseChoices parses the text after a checker's name and a colon, as in vbox:gini or vbox:encoding=cobra,theory=lazy.
// It returns the values by the name of the choice. Colons and commas separate them; "all" is a value of each choice,
// and by itself means all solvers. A solver external:COMMAND comes last.
func (in *Info) ParseChoices(text string) (map[string][]string, error) {
	values := map[string][]string{}
	for text != "" {
		word, rest := text, ""
		if i := strings.IndexAny(text, ":,"); i >= 0 {
			word, rest = text[:i], text[i+1:]
		}
		if bare := strings.TrimPrefix(text, ChoiceSolver+"="); external.Is(bare) {
			if err := TakesSolver(*in, bare); err != nil {
				return nil, err
			}
			values[ChoiceSolver] = append(values[ChoiceSolver], bare)
			return values, nil
		}
		text = rest
		if word = strings.TrimSpace(word); word == "" {
			continue
		}
		name, value, err := in.choice(word)
		if err != nil {
			return nil, err
		}
		if name != "" {
			values[name] = append(values[name], value)
		}
	}
	return values, nil
}

// choice returns the choice that a word makes, and its value. Without a name it is "all", for a checker without
// solvers.
func (in *Info) choice(word string) (name, value string, _ error) {
	name, value, named := strings.Cut(word, "=")
	if !named {
		name, value = "", word
		if word == "all" {
			name = ChoiceSolver
		}
	}
	var fits []string
	for _, s := range in.Choices() {
		has := value == "all" || slices.Contains(s.Values, value)
		switch {
		case named && s.Name == name && !has:
			return "", "", fmt.Errorf("checker %s has no %s %q; expected one of %s", in.Name, name, value,
				strings.Join(s.Values, ", "))
		case has && (name == "" || s.Name == name):
			fits = append(fits, s.Name)
		}
	}
	switch {
	case len(fits) > 1:
		return "", "", fmt.Errorf("checker %s: %q can be its %s; say which, as in %s=%s", in.Name, word,
			strings.Join(fits, " or its "), fits[0], word)
	case len(fits) == 1:
		return fits[0], value, nil
	case word == "all":
		return "", "", nil
	case HasSolver(word):
		return "", "", TakesSolver(*in, word)
	}
	return "", "", fmt.Errorf("checker %s cannot use solver %s, and has no such setting; %s", in.Name, word,
		in.describe())
}

// describe says which texts may follow the checker's name.
func (in *Info) describe() string {
	parts := slice.Map(in.Choices(), func(s Setting) string {
		return s.Name + " (" + strings.Join(s.Values, ", ") + ")"
	})
	if parts == nil {
		return "it has no settings"
	}
	return "expected a value of " + strings.Join(parts, ", ")
}

// WithTheory returns the solver that keeps the graph acyclic in the given way: cdcl-lazy for cdcl and lazy. It returns
// an error if the solver's name implies another way; "" is the default solver.
func WithTheory(name, theory string) (string, error) {
	s, err := SolverByName(name)
	if err != nil {
		return "", err
	}
	if s.Name != s.Backend && s.Theory != theory {
		return "", fmt.Errorf("solver %s has theory %s, not %s; leave one out", s.Name, s.Theory, theory)
	}
	to, ok := SolverFor(s.Backend, theory)
	if !ok {
		return "", fmt.Errorf("solver %s has no theory %s; isovet solvers lists all theories", s.Backend, theory)
	}
	return to, nil
}
