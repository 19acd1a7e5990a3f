package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"isovet/datasets"
	"isovet/level"
)

// Figures 12c, 12d, 13b and 15 of AION, end to end: isovet watch runs in a process of its own, with time-outs by the
// clock and a log. If memory is bounded, keys are on disk.

// aionDatasets measures Figures 12c and 12d: RUBiS and Twitter.
func aionDatasets(ctx context.Context, lab *Lab, r *Report) error {
	return onDatasets(ctx, lab, r, "serializable", level.SessionSerializable)
}

// aionFig23 measures Figure 23: Figures 12c and 12d at snapshot isolation.
func aionFig23(ctx context.Context, lab *Lab, r *Report) error {
	return onDatasets(ctx, lab, r, "snapshot-isolation", chronosLevel)
}

func onDatasets(ctx context.Context, lab *Lab, r *Report, isolation string, at level.Level) error {
	txns := lab.Pick(2000, 200_000, 500_000)
	for _, c := range []struct {
		name, workload string
		keys           int
	}{{"RUBiS", "rubis", 200}, {"Twitter", "ctwitter", 500}} {
		spec := datasets.Spec{Workload: c.workload, Txns: txns, Sessions: 24, Keys: c.keys, Isolation: isolation,
			DBTimes: true, Times: datasets.NoTimes, NoAborted: true}
		first, lines, err := lab.sent(ctx, spec, batched, 25_000, 100, 10)
		if err != nil {
			return err
		}
		err = lab.eachMemory(ctx, r, c.name, first, lines, at, func(name string, last map[string]float64) {
			r.Add(decided("keys", "100", name, last["keys"]))
			late := last[`violations_total{axiom="LATE"}`]
			r.Add(decided("late", "100", name, late))
			r.Add(decided("wrong", "100", name, last["violations_total"]-late))
		})
		if err != nil {
			return err
		}
		if at != level.SessionSerializable {
			continue
		}
		for _, way := range []cobraWay{cobraDefault, cobraPurdom} {
			f, err := lab.follow(ctx, spec, way)
			if err != nil {
				return err
			}
			f.addRates(r, c.name+", "+way.String(), 5)
			f.addWhole(r, c.name+", "+way.String())
		}
	}
	if at == level.SessionSerializable {
		r.Note(cobraNote + " Loading counts only in the whole run.")
	} else {
		r.Note("Cobra decides only serializability; see aion/online-datasets.")
	}
	r.Note("isovet watch runs in a process of its own and reads JSON lines from a pipe at full speed, in batches of "+
		"%d with delays of N(100, 10²) ms; 24 sessions; --lateness %v by the clock; the log is written and synced. "+
		"The histories are isovet's versions of RUBiS (200 users at first) and of a small Twitter (500 users), %s, "+
		"not Dgraph's.", batched, lab.patience(), isolation)
	return nil
}

// aionRectified measures Figure 13b: how long wrong verdicts last before they are corrected.
func aionRectified(ctx context.Context, lab *Lab, r *Report) error {
	txns, batch := lab.Pick(600, 10_000, 10_000), lab.Pick(50, batched, batched)
	first, lines, err := lab.sent(ctx, tableI(txns), batch, paperRate, 100, 10)
	if err != nil {
		return err
	}
	ways := []string{eachDelayed, wholeBatches}
	runs, err := lab.together(ctx, len(ways), txns, func(i int) (head, []arrival, error) {
		lines := slices.Clone(lines)
		if ways[i] == wholeBatches { // its transactions in the order of their delays
			atOnce(lines, batch)
		}
		return first, lines, nil
	})
	if err != nil {
		return err
	}
	for i, name := range ways {
		r.Add(decided("flips", "all", name, addRectified(r, name, runs[i].last)))
		r.Add(decided("wrong", "all", name, runs[i].last["violations_total"]))
	}
	r.Note("%d transactions, of which %d commit a second, sent in batches of %d with delays of N(100, 10²) ms; "+
		"verdicts are final %v later, by the clock. The paper does not say whether a transaction arrives after its "+
		"own delay or with its batch, in the order of the delays: both are measured. A verdict is wrong from the "+
		"arrival of the read, or of another version, until the version read arrives.", txns, paperRate, batch,
		lab.patience())
	return nil
}

// rectifiedWithin are the bounds, in seconds, by which isovet watch counts corrected verdicts.
var rectifiedWithin = []string{"0.001", "0.01", "0.05", "0.1", "0.5", "1", "2", "5", "+Inf"}

// addRectified adds which share of wrong verdicts had been corrected within each time, and returns their number.
func addRectified(r *Report, name string, metrics map[string]float64) float64 {
	all := metrics["rectified_seconds_count"]
	for _, le := range rectifiedWithin {
		within := le
		if le == "+Inf" {
			within = "ever"
		}
		r.Add(decided("rectified", within, name, 100*metrics[`rectified_seconds_bucket{le="`+le+`"}`]/max(all, 1)))
	}
	return all
}

// atOnce makes the lines of each batch arrive together, in their order.
func atOnce(lines []arrival, batch int) {
	period := time.Duration(float64(batch) / paperRate * float64(time.Second))
	for i := range lines {
		lines[i].at = lines[i].at/period*period + 150*time.Millisecond
	}
	slices.SortStableFunc(lines, func(a, b arrival) int { return int(a.at - b.at) })
}

// The ways in which a batch arrives.
const (
	eachDelayed  = "each after its delay"
	wholeBatches = "a batch at once"
)

// aionOverhead measures Figure 15: the cost of collecting a history for the database.
func aionOverhead(ctx context.Context, lab *Lab, r *Report) error {
	txns, rounds := lab.Pick(40, 3000, 20_000), lab.Pick(1, 11, 11)
	for _, db := range []struct{ name, url string }{{"PostgreSQL", "postgres:start"}, {"SQLite", "sqlite:"}} {
		urls := []string{db.url}
		if db.url == "postgres:start" {
			s, err := lab.serve(ctx, r, db.url)
			if err != nil {
				return err
			}
			if s == nil {
				continue
			}
			urls = s.URLs
		}
		for _, ops := range lab.sizes([]int{5}, []int{5, 15, 30}, []int{5, 15, 30, 50, 100}) {
			err := lab.step(r, fmt.Sprintf("%s, %d", db.name, ops), func() error {
				rates, loss := map[string][]float64{}, map[string][]float64{}
				n := max(txns*5/ops, 10)    // as many operations
				for round := range rounds { // in turns, so that what else the machine does is shared
					ways := []string{notCollected, toFile, toWatch}
					if round%2 == 1 {
						slices.Reverse(ways)
					}
					for _, how := range ways {
						lab.tell(fmt.Sprintf("%s, %d operations, %s, %d of %d", db.name, ops, how, round+1, rounds))
						rate, err := lab.collecting(ctx, urls, how, ops, n)
						if err != nil {
							return fmt.Errorf("%s, %s: %w", db.name, how, err)
						}
						rates[how] = append(rates[how], rate)
					}
					for _, how := range []string{toFile, toWatch} {
						loss[how] = append(loss[how], 100*(1-rates[how][round]/max(rates[notCollected][round], 1)))
					}
				}
				group := fmt.Sprintf("%s, %d operations", db.name, ops)
				for _, how := range []string{notCollected, toFile, toWatch} {
					r.Add(decided("rate", group, how, median(rates[how])))
				}
				for _, how := range []string{toFile, toWatch} {
					r.Add(decided("loss", group, how, median(loss[how])))
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	r.Note("Half of the operations read and half write 1,000 keys in order, in 24 sessions; %d runs of %d "+
		"operations each take turns. The table has the medians of the rates, and of the loss against the "+
		"neighbouring run without collection. Package record records the transactions; isovet watch (--checker "+
		"replay) gets them over HTTP and judges them on the same machine and cores as the database and its clients; "+
		"the paper's checker has a machine of its own.", rounds, 5*txns)
	return nil
}

// The ways to collect a history.
const (
	notCollected = "not collected"
	toFile       = "to a file"
	toWatch      = "to isovet watch"
)

// collecting runs a load and returns how many transactions commit per second.
func (l *Lab) collecting(ctx context.Context, urls []string, how string, ops, txns int) (rate float64, err error) {
	to := ""
	switch how {
	case toFile:
		to = filepath.Join(l.dir, "collected.jsonl")
	case toWatch:
		var end func() error
		if to, end, err = l.listening(ctx); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, end()) }()
	}
	return databases.Rate(ctx, urls, datasets.Spec{Ops: ops, Txns: txns, Seed: l.Seed}, to)
}

// listening starts an isovet watch that receives lines over HTTP.
func (l *Lab) listening(ctx context.Context) (url string, end func() error, err error) {
	at, err := freeAddress()
	if err != nil {
		return "", nil, err
	}
	url = "http://" + at
	dir := filepath.Join(l.dir, fmt.Sprintf("collect-%d", time.Now().UnixNano()))
	cmd := exec.CommandContext(ctx, l.self[0], append(slices.Clone(l.self[1:]), "watch", "--checker", "replay",
		"--level", "snapshot-isolation", "--state", dir, "--source", url, "--quiet", "--keep", "64MiB")...)
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	end = func() error {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		return cmd.Wait()
	}
	for until := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err = databases.Get(ctx, url+"/position"); err == nil {
			return url, end, nil
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return "", nil, errors.Join(fmt.Errorf("isovet watch does not answer: %w", err), end())
		}
	}
}
