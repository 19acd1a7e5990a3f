package format

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// shape makes texts of one history in all formats: BlindW's, 24 sessions, 10,000 keys, transactions of eight operations
// that read or write, values unique, times that grow.
type shape struct {
	sessions [][]shapeTxn
	order    []shapePlace // of all sessions, as they ran
}

type shapeTxn struct {
	id         uint64
	start, end int64
	ops        []event
}

type shapePlace struct{ session, txn int }

func newShape(txns int) *shape {
	rnd := rand.New(rand.NewPCG(1, 2))
	s := &shape{sessions: make([][]shapeTxn, 24)}
	const keys = 10_000
	last := make([]uint64, keys)
	value, now := uint64(0), int64(1_795_229_138_282_797_876)
	for id := range txns {
		x := shapeTxn{id: uint64(id + 100), start: now, end: now + 20_000}
		now += 20_000 + rnd.Int64N(3)
		write := rnd.IntN(2) == 0
		for range 8 {
			k := rnd.Uint64N(keys)
			if write {
				value++
				last[k] = value
			}
			x.ops = append(x.ops, event{write, k, last[k], true})
		}
		i := rnd.IntN(len(s.sessions))
		s.order = append(s.order, shapePlace{i, len(s.sessions[i])})
		s.sessions[i] = append(s.sessions[i], x)
	}
	return s
}

func letter(write bool) byte {
	if write {
		return 'w'
	}
	return 'r'
}

// one writes the history of one text for each place in the order in which the transactions ran.
func (s *shape) one(f func(dst []byte, session int, t shapeTxn, last bool) []byte) func() []byte {
	return func() []byte {
		var dst []byte
		for i, p := range s.order {
			dst = f(dst, p.session, s.sessions[p.session][p.txn], i == len(s.order)-1)
		}
		return dst
	}
}

// by writes it session by session.
func (s *shape) by(parted string, f func(dst []byte, session int, t shapeTxn, last bool) []byte) func() []byte {
	return func() []byte {
		var dst []byte
		for i, session := range s.sessions {
			if i > 0 {
				dst = append(dst, parted...)
			}
			for j, t := range session {
				dst = f(dst, i, t, j == len(session)-1)
			}
		}
		return dst
	}
}

// between puts a text between two others.
func between(before string, text func() []byte, after string) func() []byte {
	return func() []byte { return slices.Concat([]byte(before), text(), []byte(after)) }
}

// micro appends micro-operations: of an invocation, which does not know what it will read, or of a completion.
func (t shapeTxn) micro(dst []byte, form string, sep string, ok bool, null string) []byte {
	for i, e := range t.ops {
		if i > 0 {
			dst = append(dst, sep...)
		}
		v := null
		if e.write || ok {
			v = fmt.Sprint(e.value)
		}
		dst = fmt.Appendf(dst, form, letter(e.write), e.variable, v)
	}
	return dst
}

// operations appends Jepsen's two operations of a transaction.
func operations(dst []byte, form string, session int, t shapeTxn, value func(ok bool) []byte) []byte {
	for i, kind := range [...]string{"invoke", "ok"} {
		at := [...]int64{t.start, t.end}[i]
		dst = fmt.Appendf(dst, form, 2*(t.id-100)+uint64(i), kind, session, value(i == 1), at)
	}
	return dst
}

// spread puts JSON onto a line for each value, as encoders of JSON do for people.
func spread(compact []byte) []byte {
	dst := make([]byte, 0, 4*len(compact))
	depth := 0
	line := func() { dst = append(append(dst, '\n'), strings.Repeat(" ", 4*depth)...) }
	for _, c := range compact {
		switch c {
		case '[', '{':
			depth++
			dst = append(dst, c)
			line()
		case ']', '}':
			depth--
			line()
			dst = append(dst, c)
		case ',':
			dst = append(dst, c)
			line()
		case ':':
			dst = append(dst, ": "...)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}

// rate is a file of a format, for measuring how fast it is read.
type rate struct {
	name, format string
	in           func() (in *Input, size int)
}

func text(name, format string, data func() []byte) rate {
	return rate{name, format, func() (*Input, int) {
		data := data()
		return &Input{Name: "b", mapped: data}, len(data)
	}}
}

// cobra makes the logs of Cobra's clients.
func (s *shape) cobra() (names string, logs [][]byte) {
	writer := map[uint64]uint64{} // by value
	for _, session := range s.sessions {
		for _, t := range session {
			for _, e := range t.ops {
				if e.write {
					writer[e.value] = t.id
				}
			}
		}
	}
	for _, session := range s.sessions {
		var c []byte
		for _, t := range session {
			c = be(c, 'S', t.id)
			for _, e := range t.ops {
				switch {
				case e.write:
					c = be(c, 'W', e.value, e.variable, e.value)
				case e.value == 0:
					c = be(c, 'R', 0xBEBEEBEE, 0xBEBEEBEE, e.variable, 0)
				default:
					c = be(c, 'R', writer[e.value], e.value, e.variable, e.value)
				}
			}
			c = be(c, 'C', t.id)
		}
		logs = append(logs, c)
	}
	return "T%d.log", logs
}

// viper makes the logs of Viper's.
func (s *shape) viper() (names string, logs [][]byte) {
	for _, session := range s.sessions {
		var v []byte
		for _, t := range session {
			v = append(v, `{"value":[`...)
			for j, e := range t.ops {
				switch {
				case e.write:
					v = fmt.Appendf(v, `["w",%d,%d,true]`, e.variable, e.value)
				case e.value == 0:
					v = fmt.Appendf(v, `["r",%d,null,false]`, e.variable)
				default:
					v = fmt.Appendf(v, `["r",%d,%d,false]`, e.variable, e.value)
				}
				if j < len(t.ops)-1 {
					v = append(v, ',')
				}
			}
			v = fmt.Appendf(v, `],"preBeginTS":%d,"postCommitTS":%d}`+"\n", t.start, t.end)
		}
		logs = append(logs, v)
	}
	return "J%d.log", logs
}

// rates makes files of all formats, of this many transactions each.
func rates(tb testing.TB, txns int) []rate {
	s := newShape(txns)
	seq := make([]int, len(s.sessions))
	comma := func(last bool) string {
		if last {
			return ""
		}
		return ","
	}
	jsonl := s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		dst = fmt.Appendf(dst, `{"id":%d,"session":%d,"seq":%d,"start":%d,"end":%d,"ops":[`, t.id, i, seq[i], t.start, t.end)
		seq[i]++
		return append(t.micro(dst, `["%c",%d,%s]`, ",", true, ""), "]}\n"...)
	})
	const ednForm = "{:index %d, :type :%s, :process %d, :f :txn, :value %s, :time %d}\n"
	edn := s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		return operations(dst, ednForm, i, t, func(ok bool) []byte {
			return append(t.micro([]byte("["), "[:%c %d %s]", " ", ok, "nil"), ']')
		})
	})
	lists := make(map[uint64][]uint64)
	ednLists := s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		t.ops = slices.Clone(t.ops)
		for j := range t.ops {
			e := &t.ops[j]
			// As Elle's generator does, another key once a list has 32 elements.
			for len(lists[e.variable]) >= 32 {
				e.variable += 10_000
			}
			if e.write {
				l := lists[e.variable]
				lists[e.variable] = append(l[:len(l):len(l)], e.value)
			}
		}
		return operations(dst, ednForm, i, t, func(ok bool) []byte {
			v := []byte("[")
			for j, e := range t.ops {
				if j > 0 {
					v = append(v, ' ')
				}
				switch l := lists[e.variable]; {
				case e.write:
					v = fmt.Appendf(v, "[:append %d %d]", e.variable, e.value)
				case ok:
					v = fmt.Appendf(v, "[:r %d %d]", e.variable, l)
				default:
					v = fmt.Appendf(v, "[:r %d nil]", e.variable)
				}
			}
			return append(v, ']')
		})
	})
	registers := s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		e := t.ops[0]
		f, asked := "read", "nil"
		if e.write {
			f, asked = "write", fmt.Sprint(e.value)
		}
		dst = fmt.Appendf(dst, "{:process %d, :type :invoke, :f :%s, :value [%d %s], :time %d, :index %d}\n", i, f,
			e.variable, asked, t.start, 2*(t.id-100))
		return fmt.Appendf(dst, "{:process %d, :type :ok, :f :%s, :value [%d %d], :time %d, :index %d}\n", i, f,
			e.variable, e.value, t.end, 2*(t.id-100)+1)
	})
	jepsenText := s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		return operations(dst, `{"index":%d,"type":"%s","process":%d,"f":"txn","value":%s,"time":%d}`+"\n", i, t,
			func(ok bool) []byte {
				return append(t.micro([]byte("["), `["%c",%d,%s]`, ",", ok, "null"), ']')
			})
	})
	jepsenLines := s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		for _, kind := range [...]string{"invoke", "ok"} {
			dst = fmt.Appendf(dst, "%d\t:%s\t:txn\t", i, kind)
			dst = append(t.micro(append(dst, '['), "[:%c %d %s]", " ", kind == "ok", "nil"), "]\n"...)
		}
		return dst
	})
	var bins [][][]event
	for _, session := range s.sessions {
		var b [][]event
		for _, t := range session {
			b = append(b, t.ops)
		}
		bins = append(bins, b)
	}
	object := func(dst []byte, _ int, t shapeTxn, last bool) []byte {
		dst = append(dst, `{"events":[`...)
		for j, e := range t.ops {
			kind := "Read"
			if e.write {
				kind = "Write"
			}
			version := fmt.Sprint(e.value)
			if e.value == 0 {
				version = "null"
			}
			dst = fmt.Appendf(dst, `{"%s":{"variable":%d,"version":%s}}%s`, kind, e.variable, version,
				comma(j == len(t.ops)-1))
		}
		return append(append(dst, `],"committed":true}`...), comma(last)...)
	}
	dbcopObjects := between("[[", s.by("],[", object), "]]")
	dbcopArrays := between("[[", s.by("],[", func(dst []byte, _ int, t shapeTxn, last bool) []byte {
		dst = t.micro(append(dst, `{"events":[`...), `["%c",%d,%s]`, ",", true, "")
		return append(append(dst, `],"committed":true}`...), comma(last)...)
	}), "]]")
	hist := s.by("---\n", func(dst []byte, _ int, t shapeTxn, _ bool) []byte {
		dst = append(dst, '[')
		for j, e := range t.ops {
			op := "=="
			if e.write {
				op = ":="
			}
			if j > 0 {
				dst = append(dst, ' ')
			}
			dst = fmt.Appendf(dst, "x%d%s%d", e.variable, op, e.value)
		}
		return append(dst, "]\n"...)
	})
	plumeText := s.by("", func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		for _, e := range t.ops {
			dst = fmt.Appendf(dst, "%c(%d,%d,%d,%d)\n", letter(e.write), e.variable, e.value, i, t.id)
		}
		return dst
	})
	awditText := s.by("====\n", func(dst []byte, _ int, t shapeTxn, last bool) []byte {
		for _, e := range t.ops {
			dst = fmt.Appendf(dst, "%c %d %d\n", letter(e.write), e.variable, e.value)
		}
		if !last {
			dst = append(dst, "----\n"...)
		}
		return dst
	})
	killer := s.one(func(dst []byte, i int, t shapeTxn, last bool) []byte {
		dst = fmt.Appendf(dst, `{"cts":{"l":0,"p":%d},"ops":[`, t.end)
		for j, e := range t.ops {
			dst = fmt.Appendf(dst, `{"k":%d,"t":"%c","v":%d}%s`, e.variable, letter(e.write), e.value,
				comma(j == len(t.ops)-1))
		}
		return fmt.Appendf(dst, `],"sid":"%d","sts":{"l":0,"p":%d},"tid":"%d"}%s`, i, t.start, t.id, comma(last))
	})
	killer = between("[", killer, "]")
	lines := func(compact func() []byte) func() []byte { return func() []byte { return spread(compact()) } }
	console := s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		for _, e := range t.ops {
			f, asked := ":read", "nil"
			if e.write {
				f, asked = ":write", fmt.Sprint(e.value)
			}
			dst = fmt.Appendf(dst, "INFO  jepsen.util - %d\t:invoke\t%s\t%s\n", i, f, asked)
			dst = fmt.Appendf(dst, "INFO  jepsen.util - %d\t:ok\t%s\t%d\n", i, f, e.value)
		}
		return dst
	})
	tokens := map[uint64][]string{}
	kv := s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		for j, e := range t.ops {
			f, v := "get", ""
			l := tokens[e.variable]
			answer := strings.Join(l, "")
			if e.write {
				f, v = "append", fmt.Sprintf("x %d %d y", t.id, j)
				if len(l) == 5 {
					f, l = "put", nil
				}
				tokens[e.variable] = append(l, v)
				answer = v
			}
			asked := `"` + v + `"`
			if !e.write {
				asked = "nil"
			}
			dst = fmt.Appendf(dst, "{:process %d, :type :invoke, :f :%s, :key \"%d\", :value %s}\n", i, f, e.variable,
				asked)
			dst = fmt.Appendf(dst, "{:process %d, :type :ok, :f :%s, :key \"%d\", :value %q}\n", i, f, e.variable,
				answer)
		}
		return dst
	})
	folder := func(name string, logs func() (names string, each [][]byte)) rate {
		return rate{name, name, func() (*Input, int) {
			names, each := logs()
			dir, size := tb.TempDir(), 0
			for i, data := range each {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf(names, i)), data, 0o600); err != nil {
					tb.Fatal(err)
				}
				size += len(data)
			}
			return &Input{Name: dir, Path: dir, Dir: true}, size
		}}
	}
	return []rate{
		// A file, since the reader lets go of parts of a mapping.
		{"isovet-history", "isovet-history", func() (*Input, int) {
			data := jsonl()
			path := filepath.Join(tb.TempDir(), "h.jsonl")
			if err := os.WriteFile(path, data, 0o600); err != nil {
				tb.Fatal(err)
			}
			in, err := Open(path)
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() { in.Close() })
			return in, len(data)
		}},
		text("jepsen-edn: registers in transactions", "jepsen-edn", edn),
		text("jepsen-edn: lists", "jepsen-edn", ednLists),
		text("jepsen-edn: single registers", "jepsen-edn", registers),
		text("jepsen-json", "jepsen-json", jepsenText),
		text("jepsen-log", "jepsen-log", jepsenLines),
		folder("cobra", s.cobra),
		text("dbcop", "dbcop", func() []byte { return bincode(bins...) }),
		text("dbcop-json: objects", "dbcop-json", dbcopObjects),
		text("dbcop-json: arrays", "dbcop-json", dbcopArrays),
		text("dbcop-json: a value a line", "dbcop-json", lines(dbcopObjects)),
		text("dbcop-hist", "dbcop-hist", hist),
		text("plume", "plume", plumeText),
		text("awdit", "awdit", awditText),
		folder("viper", s.viper),
		text("timekiller", "timekiller", killer),
		text("timekiller: a value a line", "timekiller", lines(killer)),
		text("porcupine", "porcupine", console),
		text("porcupine-kv", "porcupine-kv", kv),
	}
}

// BenchmarkRead reads files of every format, 20 MB and more, on one core, and prints a table of how many megabytes of
// the file a second of the processor's time reads: garbage collection, the join and everything else included.
func BenchmarkRead(b *testing.B) {
	var table bytes.Buffer
	for _, r := range rates(b, 250_000) {
		f, ok := ByName(r.format)
		if !ok {
			b.Fatal(r.format)
		}
		b.Run(r.name, func(b *testing.B) {
			in, size := r.in()
			runtime.GC()
			b.SetBytes(int64(size))
			best, ops := 0.0, 0
			for b.Loop() {
				cpu := cpuTime()
				h, err := f.Read(b.Context(), in, Options{Workers: 1})
				if err != nil {
					b.Fatal(err)
				}
				ops = h.NumOps()
				best = max(best, float64(size)/1e6/(cpuTime()-cpu).Seconds())
			}
			b.ReportMetric(best, "MB/cpu-s")
			fmt.Fprintf(&table, "| %-38s | %4.0f | %9.1f | %4.0f |\n", r.name, float64(size)/1e6,
				float64(size)/float64(ops), best)
		})
	}
	fmt.Printf("| %-38s | %4s | %9s | %4s |\n|%s|\n%s", "format", "MB", "B per op.", "MB/s", strings.Repeat("-", 66),
		table.Bytes())
}

// TestRates: the files that are measured are those of their formats, and hold what they should.
func TestRates(t *testing.T) {
	for _, r := range rates(t, 300) {
		in, size := r.in()
		f, err := Detect(in)
		if err != nil || f.Name != r.format {
			t.Errorf("%s: detected %s: %v", r.name, f.Name, err)
			continue
		}
		h, err := f.Read(t.Context(), in, Options{Workers: 1})
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		t.Logf("%s: %d bytes, %d transactions, %d operations, notes %v", r.name, size, h.NumTxns(), h.NumOps(),
			h.Notes)
	}
}
