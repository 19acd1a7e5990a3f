package format

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkForeign reads about 20 MB in the formats that are large in practice; bytes are the file's. One core.
func BenchmarkForeign(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	const txns, ops = 30_000, 8
	var log, edn []byte
	var sessions [][][]event
	next := uint64(100)
	for s := range 8 {
		var session [][]event
		for range txns / 8 {
			var t []event
			id := next
			next++
			log = be(log, 'S', id)
			edn = fmt.Appendf(edn, "{:type :ok, :f :txn, :process %d, :value [", s)
			for range ops {
				key, value := rnd.Uint64N(10_000), next
				next++
				write := rnd.IntN(2) == 0
				t = append(t, event{write, key, value, true})
				if write {
					log = be(log, 'W', value, key, value)
					edn = fmt.Appendf(edn, "[:w %d %d] ", key, value)
				} else {
					log = be(log, 'R', 0xBEBEEBEE, 0xBEBEEBEE, key, 0)
					edn = fmt.Appendf(edn, "[:r %d %d] ", key, value)
				}
			}
			log = be(log, 'C', id)
			edn = append(edn, "]}\n"...)
			session = append(session, t)
		}
		sessions = append(sessions, session)
	}
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "T1.log"), log, 0o600); err != nil {
		b.Fatal(err)
	}
	bin := bincode(sessions...)
	for _, c := range []struct {
		name string
		size int
		f    Format
		in   *Input
	}{
		{"dbcop", len(bin), dbcopBincode, &Input{Name: "b", mapped: bin}},
		{"cobra", len(log), cobraLog, &Input{Name: dir, Path: dir, Dir: true}},
		{"jepsen-edn", len(edn), jepsenEDN, &Input{Name: "b", mapped: edn}},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(c.size))
			for b.Loop() {
				if _, err := c.f.Read(b.Context(), c.in, Options{Workers: 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
