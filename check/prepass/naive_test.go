package prepass_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"isovet/check/prepass"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
)

// naive is the view by definition, as sorted lines of text: what counts, what is open, who installs what, what each
// read may have seen, and which reads are anomalies.
func naive(h *history.History) string {
	type op struct {
		at   uint32
		kind history.OpKind
		ver  uint32
	}
	ops := make(map[uint32][]op)
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for o := lo; o < hi; o++ {
			ops[t] = append(ops[t], op{o, h.Ops.Kind[o], h.Ops.Ver[o]})
		}
	}
	key := func(ver uint32) uint32 { return h.VerKey[ver] }
	// installs: t's last write of its key is of ver.
	installs := func(t, ver uint32) bool {
		for _, o := range slices.Backward(ops[t]) {
			if o.kind == history.Write && key(o.ver) == key(ver) {
				return o.ver == ver
			}
		}
		return false
	}
	wrote := func(t, ver uint32) bool {
		return slices.ContainsFunc(ops[t], func(o op) bool { return o.kind == history.Write && o.ver == ver })
	}
	// external reads: neither a read nor a write of the key comes before.
	external := make(map[uint32][]op)
	var lines []string
	anomalies := make(map[uint32][]string)
	for t := range uint32(h.NumTxns()) {
		for i, o := range ops[t] {
			if o.kind != history.Read {
				continue
			}
			var before []op // of the same key
			for _, p := range ops[t][:i] {
				if key(p.ver) == key(o.ver) {
					before = append(before, p)
				}
			}
			if len(before) == 0 {
				external[t] = append(external[t], o)
				continue
			}
			write := -1
			for j, p := range before {
				if p.kind == history.Write {
					write = j
				}
			}
			kind := ""
			switch {
			case write < 0 && before[0].ver != o.ver:
				kind = "non-repeatable-read"
			case write >= 0 && before[write].ver != o.ver:
				kind = "not-my-own-write"
				for _, p := range before[:write] {
					if p.kind == history.Write && p.ver == o.ver {
						kind = "not-my-last-write"
					}
				}
			}
			if kind != "" {
				anomalies[t] = append(anomalies[t], fmt.Sprintf("anomaly %s of %d at %d", kind, t, o.at))
			}
		}
	}
	// who: the transactions that could have installed what a read of t saw; None is the initial version.
	dead := make(map[uint32]bool)
	who := func(t, ver uint32) (out []uint32) {
		if h.InitVer[key(ver)] == ver {
			out = append(out, history.None)
		}
		for w := range uint32(h.NumTxns()) {
			if w != t && w != h.Init && h.Txns.Status[w] != history.Aborted && !dead[w] && installs(w, ver) {
				out = append(out, w)
			}
		}
		return out
	}
	counts := make(map[uint32]bool)
	open := make(map[uint32]bool)
	for t := range uint32(h.NumTxns()) {
		counts[t] = t != h.Init && h.Txns.Status[t] == history.Committed
	}
	count := func() {
		for range h.NumTxns() { // to a fixpoint
			for t := range uint32(h.NumTxns()) {
				for _, o := range external[t] {
					if c := who(t, o.ver); counts[t] && len(c) == 1 && c[0] != history.None {
						counts[c[0]] = true
					}
				}
			}
		}
	}
	count()
	for range h.NumTxns() {
		for t := range uint32(h.NumTxns()) {
			if h.Txns.Status[t] != history.Unknown || counts[t] {
				continue
			}
			if len(anomalies[t]) > 0 {
				dead[t] = true
			}
			for _, o := range external[t] {
				if len(who(t, o.ver)) == 0 {
					dead[t] = true
				}
			}
		}
	}
	count()
	for range h.NumTxns() {
		for t := range uint32(h.NumTxns()) {
			for _, o := range external[t] {
				for _, w := range who(t, o.ver) {
					if (counts[t] || open[t]) && w != history.None && !counts[w] {
						open[w] = true
					}
				}
			}
		}
	}
	for t := range uint32(h.NumTxns()) {
		if !counts[t] && !open[t] {
			continue
		}
		if counts[t] {
			lines = append(lines, fmt.Sprintf("counts %d", t))
			lines = append(lines, anomalies[t]...)
		} else {
			lines = append(lines, fmt.Sprintf("open %d", t))
		}
		seen := make(map[uint32]bool)
		for _, o := range ops[t] {
			if o.kind == history.Write && installs(t, o.ver) && !seen[o.ver] {
				seen[o.ver] = true
				lines = append(lines, fmt.Sprintf("%d installs %d", t, o.ver))
			}
		}
		for _, o := range external[t] {
			c := who(t, o.ver)
			if len(c) > 0 {
				lines = append(lines, fmt.Sprintf("read %d of %d at %d saw %v", o.ver, t, o.at, c))
				if len(c) > 1 || c[0] != history.None && !counts[c[0]] {
					lines = append(lines, fmt.Sprintf("ambiguous %d", o.at))
				}
				continue
			}
			kind := "thin-air-read"
			for w := range uint32(h.NumTxns()) {
				if wrote(w, o.ver) {
					kind = "G1"
				}
			}
			if wrote(t, o.ver) {
				kind = "future-read"
			}
			for w := range dead {
				if w != t && installs(w, o.ver) {
					kind = "G1 of the dead"
				}
			}
			lines = append(lines, fmt.Sprintf("anomaly %s of %d at %d", kind, t, o.at))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// text is what Run says, in naive's lines.
func text(v *prepass.View) string {
	h := v.H
	var lines []string
	n := 0
	for t, c := range v.Counts {
		if c {
			n++
			lines = append(lines, fmt.Sprintf("counts %d", t))
		}
	}
	if n != v.NumCounts {
		lines = append(lines, fmt.Sprintf("NumCounts %d", v.NumCounts))
	}
	for _, t := range v.Open {
		lines = append(lines, fmt.Sprintf("open %d", t))
	}
	for k := range h.NumKeys() {
		if v.WTxn[k] != history.None || v.WKey[k] != uint32(k) || v.WVer[k] != h.InitVer[k] || !v.Initial(uint32(k)) {
			lines = append(lines, fmt.Sprintf("initial version of %d is wrong", k))
		}
	}
	for t := range uint32(h.NumTxns()) {
		for w := v.WOff[t]; w < v.WOff[t+1]; w++ {
			lines = append(lines, fmt.Sprintf("%d installs %d", t, v.WVer[w]))
			if v.WTxn[w] != t || v.WKey[w] != h.VerKey[v.WVer[w]] || v.Initial(w) {
				lines = append(lines, fmt.Sprintf("write %d is wrong", w))
			}
		}
		for r := v.ROff[t]; r < v.ROff[t+1]; r++ {
			var c []uint32
			if i, amb := slices.BinarySearch(v.Amb, r); amb {
				lines = append(lines, fmt.Sprintf("ambiguous %d", v.ROp(r)))
				for _, w := range v.Cand[v.CandOff[i]:v.CandOff[i+1]] {
					c = append(c, v.WTxn[w])
				}
				if v.RW[r] != history.None {
					lines = append(lines, "an ambiguous read has a writer")
				}
			} else {
				c = append(c, v.WTxn[v.RW[r]])
				if v.WVer[v.RW[r]] != v.RVer(r) {
					lines = append(lines, fmt.Sprintf("read %d is of another version", r))
				}
			}
			lines = append(lines, fmt.Sprintf("read %d of %d at %d saw %v", v.RVer(r), t, v.ROp(r), c))
		}
	}
	for _, a := range v.Anomalies {
		kind, at := string(a.Kind), a.Ops[0]
		switch kind {
		case "G1a", "G1b":
			if kind = "G1"; len(a.Dead) > 0 {
				kind = "G1 of the dead"
			}
		case "non-repeatable-read":
			at = a.Ops[1]
		}
		lines = append(lines, fmt.Sprintf("anomaly %s of %d at %d", kind, h.TxnOf(a.Ops[0]), at))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestAgainstNaive holds Run against the definitions on random histories of every kind.
func TestAgainstNaive(t *testing.T) {
	lines := map[string]int{}
	options := []random.Options{
		{Aborted: true, Unknown: true},
		{Aborted: true, Unknown: true, Duplicates: true, Deletes: true, Txns: 7},
		{Ops: 8, Keys: 1, Duplicates: true},
	}
	histtest.Each(t, 20_000, func(seed uint64) *history.History {
		if seed%4 == 3 {
			return random.ManyUnknown(seed)
		}
		return random.Tiny(seed/4, options[seed%4])
	}, func(t testing.TB, seed uint64, h *history.History) {
		got, want := text(prepass.Run(h)), naive(h)
		if got != want {
			t.Fatalf("seed %d: %s\ngot:\n%s\nwant:\n%s", seed, notation.Format(h), got, want)
		}
		for line := range strings.SplitSeq(got, "\n") {
			f := strings.Fields(line)
			if strings.Contains(line, "of the dead") {
				lines["of the dead"]++
			} else if len(f) > 1 && f[0] == "anomaly" {
				lines[f[1]]++
			} else if len(f) > 1 {
				lines[f[0]]++
			}
		}
	})
	t.Log(lines)
	// Random histories have no thin-air reads; TestAnomalies has.
	for _, l := range []string{"open", "ambiguous", "G1", "of the dead", "future-read", "non-repeatable-read",
		"not-my-own-write", "not-my-last-write"} {
		histtest.Mix(t, lines[l] < 20, "%q came up %d times only", l, lines[l])
	}
}
