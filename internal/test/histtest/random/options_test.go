package random

import "testing"

// TestEveryOption: any two options go together, and all of them do.
func TestEveryOption(t *testing.T) {
	set := []func(o *Options){
		func(o *Options) { o.Duplicates = true }, func(o *Options) { o.Deletes = true },
		func(o *Options) { o.Aborted = true }, func(o *Options) { o.Unknown = true },
		func(o *Options) { o.NoTimes = true }, func(o *Options) { o.Mini = true },
		func(o *Options) { o.Single = true }, func(o *Options) { o.Predicates = true },
		func(o *Options) { o.Lists = true },
	}
	for bits := range 1 << len(set) {
		var o Options
		for i, f := range set {
			if bits>>i&1 == 1 {
				f(&o)
			}
		}
		func() {
			defer func() {
				if f := recover(); f != nil {
					t.Errorf("%+v: %v", o, f)
				}
			}()
			for seed := range uint64(8) {
				Tiny(seed, o)
				Odd(seed, o)
			}
			Medium(1, o)
		}()
	}
}
