package bench

import (
	"context"
	"fmt"
	"strconv"

	"isovet/datasets"
	"isovet/history"
	"isovet/level"
)

// The evaluation of [BCGraphs] §5: Jepsen's append workload, 24 clients, lists of about 20 appends, on a store with
// snapshot isolation. The checks use real time, which corresponds to start-dependencies.
const bcLevel = level.StrictSnapshotIsolation

func bcSource(ctx context.Context, lab *Lab, r *Report, txns int) (Source, error) {
	return lab.Source(ctx, datasets.Spec{Workload: "list-append", Variant: "short", Isolation: "snapshot-isolation",
		Sessions: 24, Txns: txns})
}

// bcSizes returns sizes from first to last, each twice the one before.
func bcSizes(first, last int) (out []int) {
	for n := first; n <= last; n *= 2 {
		out = append(out, n)
	}
	return out
}

func bcFig1(ctx context.Context, lab *Lab, r *Report) error {
	late := map[string]bool{} // who has timed out on a smaller history is not asked again
	for _, n := range bcSizes(lab.Pick(100, 500, 500), lab.Pick(200, 8000, 32000)) {
		src, err := bcSource(ctx, lab, r, n)
		if err != nil {
			return err
		}
		for _, c := range []string{"bc", "bc-full", "adya-si-full"} {
			m := Measured{Reason: timeoutBefore}
			if !late[c] {
				if m, err = lab.Run(ctx, src, bcLevel, Run{Checker: c}); err != nil {
					return err
				}
			}
			p := point("time", strconv.Itoa(n), c, &m, checkMS)
			late[c] = late[c] || p.TimedOut
			r.Add(p)
			if c != "bc" {
				r.Add(point("start", strconv.Itoa(n), c, &m, fixed(float64(m.Stats.Constraints))))
			}
		}
	}
	return nil
}

func bcFig2(ctx context.Context, lab *Lab, r *Report) error {
	for _, n := range bcSizes(lab.Pick(100, 1000, 1000), lab.Pick(200, 64_000, 512_000)) {
		src, err := bcSource(ctx, lab, r, n)
		if err != nil {
			return err
		}
		for _, c := range []string{"bc", "adya-si"} {
			m, err := lab.Run(ctx, src, bcLevel, Run{Checker: c})
			if err != nil {
				return err
			}
			r.Add(point("solving", strconv.Itoa(n), c, &m, stageMS("solving")))
			if c != "bc" {
				r.Add(point("start", strconv.Itoa(n), c, &m, fixed(float64(m.Stats.Constraints))))
			}
		}
	}
	return bcLong(ctx, lab, r)
}

// bcLong measures the search for cycles in a large component: one transaction is open throughout, so that all
// transactions during it are in its component.
func bcLong(ctx context.Context, lab *Lab, r *Report) error {
	late := false
	for rounds := 4; rounds <= lab.Pick(6, 20, 24); rounds += 2 {
		h, err := openThroughout(rounds)
		if err != nil {
			return err
		}
		src, err := lab.File(fmt.Sprintf("long-%d", rounds), h)
		if err != nil {
			return err
		}
		for _, c := range []string{"bc", "adya-si"} {
			if late && c != "bc" {
				continue
			}
			m, err := lab.Run(ctx, src, bcLevel, Run{Checker: c})
			if err != nil {
				return err
			}
			p := point("long", strconv.Itoa(h.NumTxns()), c, &m, stageMS("solving"))
			r.Add(p)
			late = late || p.TimedOut
		}
	}
	return nil
}

// openThroughout returns a snapshot-isolated history: rounds of four concurrent transactions, and one transaction that
// is open from before the first round until after the last. All read what they overwrite. The long one reads key 4,
// which the first round overwrites, and writes key 5, which the last round reads.
func openThroughout(rounds int) (*history.History, error) {
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	key := func(k int) uint32 { return b.Key(history.IntValue(int64(k))) }
	read := func(k, v int) { b.Read(key(k), history.IntValue(int64(v))) }
	write := func(k, v int) { b.Write(key(k), history.IntValue(int64(v))) }
	end := func(session, from, until int) {
		head := history.NewTxnHead()
		head.HasSess, head.Session = true, int64(session)
		head.Start, head.End = int64(from), int64(until)
		b.EndTxn(head)
	}
	read(4, 0)
	read(5, 0)
	write(5, 1)
	end(4, 0, 10*rounds+20)
	for i := range rounds {
		for c := range 4 {
			read(c, i)
			write(c, i+1)
			switch {
			case c == 0 && i == 0:
				read(4, 0)
				write(4, 1)
			case c == 0 && i == rounds-1:
				read(5, 0)
			}
			end(c, 10*i+10, 10*i+15)
		}
	}
	return b.Build()
}
