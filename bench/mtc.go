package bench

import (
	"context"
	"strconv"

	"isovet/datasets"
	"isovet/internal/slice"
	"isovet/level"
)

// The evaluation of [MTC] §V. The paper's histories come from PostgreSQL and MongoDB. Ours come from the store in
// memory and, from Figure 10 on, where databases are measured, also from servers. Serializability and snapshot
// isolation respect sessions in the paper (errata M6), so that all checkers are asked for the session forms.

// mtcPanels measures checkers on mini-transactions, one parameter varied at a time.
func mtcPanels(ctx context.Context, lab *Lab, r *Report, at level.Level, isolation string, names ...string) error {
	rivals := r.builtIn(names...)
	late := map[string]bool{}
	n := lab.Pick(300, 3000, 10_000)
	measure := func(metric, group string, spec datasets.Spec) error {
		spec.Workload, spec.Isolation, spec.Times = "mini", isolation, datasets.TxnTimes
		src, err := lab.Source(ctx, spec)
		if err != nil {
			return err
		}
		for _, c := range rivals {
			if late[metric+c] { // has timed out on a smaller one
				continue
			}
			m, err := lab.Run(ctx, src, at, rival(c))
			if err != nil {
				return err
			}
			p := point(metric, group, c, &m, checkMS)
			late[metric+c] = p.TimedOut && metric == "txns"
			r.Add(p)
		}
		return nil
	}
	for _, v := range []string{"default", "zipf", "hotspot", "exponential"} {
		name := v
		if v == "default" {
			name = "uniform"
		}
		if err := measure("dist", name, datasets.Spec{Variant: v, Txns: n, Keys: n / 10}); err != nil {
			return err
		}
	}
	for _, k := range []int{n / 100, n / 20, n / 5, n} {
		if err := measure("objects", strconv.Itoa(k), datasets.Spec{Txns: n, Keys: k}); err != nil {
			return err
		}
	}
	for _, s := range []int{5, 10, 20, 40} {
		if err := measure("sessions", strconv.Itoa(s), datasets.Spec{Txns: n, Keys: n / 10, Sessions: s}); err != nil {
			return err
		}
	}
	return slice.Each([]int{n / 2, n, 2 * n, 4 * n}, func(t int) error {
		return measure("txns", strconv.Itoa(t), datasets.Spec{Txns: t, Keys: n / 10})
	})
}

func mtcFig7(ctx context.Context, lab *Lab, r *Report) error {
	if err := mtcPanels(ctx, lab, r, level.SessionSerializable, "serializable", "mtc", "cobra",
		"cobra"+byPurdom, "vbox", "replay"); err != nil {
		return err
	}
	r.Note("Cobra runs without a GPU. " + purdomNote)
	return nil
}

func mtcFig8(ctx context.Context, lab *Lab, r *Report) error {
	return mtcPanels(ctx, lab, r, level.SessionSnapshotIsolation, "snapshot-isolation", "mtc", "polysi", "viper",
		"replay")
}

// searched returns how long Porcupine's search took, or a lower bound. Before the search it only runs the pre-pass.
func (m *Measured) searched() float64 {
	before, begun := m.Stats.Stages["prepass"]
	if own, ok := m.Stats.Stages["solving"]; ok || !begun {
		return own
	}
	return m.Stats.CheckMS - before
}

func mtcFig9(ctx context.Context, lab *Lab, r *Report) error {
	measure := func(metric, group string, spec datasets.Spec) error {
		spec.Workload, spec.Times = "lwt", datasets.TxnTimes
		src, err := lab.Source(ctx, spec)
		if err != nil {
			return err
		}
		for _, c := range []string{"lwt", "porcupine"} {
			m, err := lab.Run(ctx, src, level.Linearizable, Run{Checker: c})
			if err != nil {
				return err
			}
			of := checkMS
			if c == "porcupine" {
				of = (*Measured).searched // its evidence is ours
			}
			r.Add(point(metric, group, c, &m, of))
		}
		return nil
	}
	n := lab.Pick(200, 10_000, 100_000)
	for _, s := range []int{2, 10, 25, 50, 100} {
		if err := measure("concurrency", strconv.Itoa(s), datasets.Spec{Txns: n, Keys: 1, Sessions: s}); err != nil {
			return err
		}
	}
	return slice.Each([]int{n / 2, n, 2 * n, 4 * n}, func(t int) error {
		return measure("txns", strconv.Itoa(t), datasets.Spec{Txns: t, Keys: 1, Sessions: 50})
	})
}
