package closure

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// benchmarkKinds says up to how many transactions each kind is measured.
var benchmarkKinds = []struct {
	kind Kind
	most int
}{
	{KindWarshall, 2000},
	{KindPurdom, 10_000},
	{KindItaliano, 10_000},
	{KindItalianoPlus, 100_000},
	{KindPurdomPlus, 100_000},
}

func count(n int) string {
	if n >= 1000 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

// BenchmarkBuild is figure 8(a) of Vbox: 24 transactions at once, four known edges each.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{1000, 2000, 10_000, 100_000} {
		in := randomRun(rand.New(rand.NewPCG(1, 1)), n, 24, 0, 4)
		for _, k := range benchmarkKinds {
			if n > k.most {
				continue
			}
			b.Run(fmt.Sprintf("kind=%s/n=%s", k.kind, count(n)), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, cycle, err := New(k.kind, in, Options{}); err != nil || cycle != nil {
						b.Fatal(cycle, err)
					}
				}
			})
		}
	}
}

// BenchmarkBuildWide varies how many transactions run at once and how many stay open throughout.
func BenchmarkBuildWide(b *testing.B) {
	const n = 100_000
	for _, tc := range []struct{ overlap, long int }{{24, 1}, {24, 64}, {100, 0}, {500, 0}} {
		in := randomRun(rand.New(rand.NewPCG(1, 1)), n, tc.overlap, tc.long, 4)
		b.Run(fmt.Sprintf("kind=purdom+/n=100k/overlap=%d/long=%d", tc.overlap, tc.long), func(b *testing.B) {
			var c *Compact
			for b.Loop() {
				c, _, _ = PurdomPlus(in, Options{})
			}
			b.ReportMetric(float64(8*len(c.bits)), "bits-bytes")
			b.ReportMetric(float64(c.stragglers), "stragglers")
		})
	}
}

// BenchmarkUpdate is the update step of figure 8(b): edges between transactions that overlap, and the
// undoing of them.
func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{2000, 10_000, 100_000} {
		for _, long := range []int{0, 1} {
			in := randomRun(rand.New(rand.NewPCG(1, 1)), n, 24, long, 4)
			r := rand.New(rand.NewPCG(2, 2))
			const edges = 200
			pairs := make([][2]int32, edges)
			for i := range pairs {
				u := long + r.IntN(n-long-50)
				pairs[i] = [2]int32{int32(u), int32(u + 1 + r.IntN(20))}
				if r.IntN(2) == 0 {
					pairs[i][0], pairs[i][1] = pairs[i][1], pairs[i][0]
				}
			}
			for _, k := range benchmarkKinds {
				if n > k.most || k.kind == KindWarshall || k.kind == KindPurdom {
					continue // their matrix is updated as Italiano's
				}
				b.Run(fmt.Sprintf("kind=%s/n=%s/long=%d", k.kind, count(n), long), func(b *testing.B) {
					d, cycle, err := New(k.kind, in, Options{})
					if err != nil || cycle != nil {
						b.Fatal(cycle, err)
					}
					changes := 0
					for b.Loop() {
						mark := d.Mark()
						changes = 0
						for _, p := range pairs {
							if changed, _ := d.AddEdge(p[0], p[1], 0); changed {
								changes++
							}
						}
						d.Undo(mark)
					}
					if changes == 0 {
						b.Fatal("no edge changed anything")
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*edges), "ns/edge")
					b.ReportMetric(float64(changes), "changes")
				})
			}
		}
	}
}

func BenchmarkReaches(b *testing.B) {
	for _, long := range []int{0, 1} {
		const n = 100_000
		in := randomRun(rand.New(rand.NewPCG(1, 1)), n, 24, long, 4)
		c, _, _ := PurdomPlus(in, Options{})
		r := rand.New(rand.NewPCG(2, 2))
		const questions = 1 << 16
		near, far, swept := make([][2]int32, questions), make([][2]int32, questions), make([][2]int32, questions)
		for i := range questions {
			u := r.IntN(n - 100)
			near[i] = [2]int32{int32(u), int32(u + r.IntN(40))}
			swept[i] = [2]int32{int32(i), int32(i + r.IntN(40))}
			far[i] = [2]int32{int32(r.IntN(n)), int32(r.IntN(n))}
		}
		for _, set := range []struct {
			name  string
			pairs [][2]int32
		}{{"swept", swept}, {"near", near}, {"far", far}} {
			b.Run(fmt.Sprintf("kind=purdom+/n=100k/long=%d/pairs=%s", long, set.name), func(b *testing.B) {
				yes := 0
				for b.Loop() {
					yes = 0
					for _, p := range set.pairs {
						if c.Reaches(p[0], p[1]) {
							yes++
						}
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*questions), "ns/question")
				b.ReportMetric(float64(yes)/questions, "yes")
			})
		}
	}
}

func BenchmarkPath(b *testing.B) {
	const n = 100_000
	in := randomRun(rand.New(rand.NewPCG(1, 1)), n, 24, 0, 4)
	c, _, _ := PurdomPlus(in, Options{})
	r := rand.New(rand.NewPCG(2, 2))
	var pairs [][2]int32
	for len(pairs) < 1000 {
		u := r.IntN(n - 100)
		if v := int32(u + r.IntN(40)); c.Reaches(int32(u), v) && !c.paths.p.before(int32(u), v) {
			pairs = append(pairs, [2]int32{int32(u), v})
		}
	}
	for b.Loop() {
		for _, p := range pairs {
			if _, ok := c.Path(p[0], p[1], nil); !ok {
				b.Fatal("no path")
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(pairs)), "ns/path")
}
