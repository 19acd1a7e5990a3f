package bench

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"isovet/datasets"
	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/slice"
)

// Source is a history to run on: generated from a workload, or a file of the user's.
type Source struct {
	Workload, Variant string
	Txns              int            // as generated
	File              string         // the user's file; "" where it was generated
	Path              string         // where it lies
	Sizes             evidence.Sizes // of a generated one
	id                string         // what it was made of
}

// Name returns the source's name for rows and messages.
func (s Source) Name() string {
	if s.File != "" {
		return filepath.Base(s.File)
	}
	return s.Workload + " " + cmp.Or(s.Variant, "default")
}

// Variants returns the variants of a workload that a flag means: "" is the first, "all" all.
func Variants(name, variant string) ([]string, error) {
	in, err := workload.Lookup(name)
	if err != nil {
		return nil, err
	}
	if variant == "" {
		return []string{in.Variants[0].Name}, nil
	}
	named := func(vs []workload.Variant) []string {
		return slice.Map(vs, func(v workload.Variant) string { return v.Name })
	}
	names := named(slice.Filter(in.Variants, func(v workload.Variant) bool {
		return variant == "all" && !v.SQL || strings.EqualFold(v.Name, variant)
	}))
	if names == nil {
		return nil, fmt.Errorf("workload %s has no variant %q; expected all or one of %s", in.Name, variant,
			strings.Join(named(in.Variants), ", "))
	}
	return names, nil
}

// Generate generates a history and writes it to a folder, from which the runs read it.
func Generate(ctx context.Context, spec datasets.Spec, dir string) (Source, error) {
	h, err := datasets.Generate(ctx, spec)
	if err != nil {
		return Source{}, err
	}
	s := Source{Workload: spec.Workload, Variant: spec.Variant, Txns: spec.Txns, Sizes: evidence.SizesOf(h)}
	s.Path = filepath.Join(dir, strings.ToLower(fmt.Sprintf("%s-%s-%d", s.Workload, cmp.Or(s.Variant, "default"),
		spec.Seed))+".jsonl")
	return s, format.Write(s.Path, h, "", false)
}
