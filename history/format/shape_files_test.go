package format

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shapeFile is a history as a file, or a folder, of a format.
type shapeFile struct {
	Name   string // the format's, and which of its forms
	Format string
	// A folder's name has a place for the part's number; parts without content are none.
	parts func() (name string, each [][]byte)
}

func text(name, format string, data func() []byte) shapeFile {
	return shapeFile{name, format, func() (string, [][]byte) { return "", [][]byte{data()} }}
}

// anew empties what a text is made with before it is made.
func anew[K comparable, V any](state map[K]V, data func() []byte) func() []byte {
	return func() []byte {
		clear(state)
		return data()
	}
}

// write writes it into an empty folder.
func (f *shapeFile) write(dir string) (path string, size int64, err error) {
	name, each := f.parts()
	path = dir
	if name == "" {
		path = filepath.Join(dir, "history")
	}
	for i, data := range each {
		to := path
		if name != "" {
			to = filepath.Join(dir, fmt.Sprintf(name, i))
		}
		if data == nil {
			continue
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			return "", 0, err
		}
		size += int64(len(data))
	}
	return path, size, nil
}

// traceEvents writes a span with an event for each operation.
func traceEvents(dst []byte, session int, t shapeTxn, _ bool) []byte {
	return span(dst, session, t, func(dst []byte) []byte {
		dst = append(dst, `],"events":[`...)
		for i, e := range t.ops {
			if i > 0 {
				dst = append(dst, ',')
			}
			name := "read"
			if e.write {
				name = "write"
			}
			dst = fmt.Appendf(dst, `{"timeUnixNano":"%d","name":"isovet.%s","attributes":[{"key":"isovet.key","value":`+
				`{"intValue":"%d"}},{"key":"isovet.value","value":{"intValue":"%d"}}]}`, t.start+int64(i), name,
				e.variable, e.value)
		}
		return dst
	})
}

// traceOps writes a span with all operations in an attribute.
func traceOps(dst []byte, session int, t shapeTxn, _ bool) []byte {
	return span(dst, session, t, func(dst []byte) []byte {
		dst = append(dst, `,{"key":"isovet.ops","value":{"stringValue":"[`...)
		return append(t.micro(dst, `[\"%c\",%d,%s]`, ",", true, ""), `]"}}`...)
	})
}

// span writes a trace of one span, a line.
func span(dst []byte, session int, t shapeTxn, ops func(dst []byte) []byte) []byte {
	dst = fmt.Appendf(dst, `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":`+
		`"shop"}}]},"scopeSpans":[{"scope":{"name":"app"},"spans":[{"traceId":"%032x","spanId":"%016x","name":"txn",`+
		`"kind":3,"startTimeUnixNano":"%d","endTimeUnixNano":"%d","attributes":[{"key":"isovet.session","value":`+
		`{"intValue":"%d"}}`, t.id, t.id, t.start, t.end, session)
	return append(ops(dst), "],\"status\":{}}]}]}]}\n"...)
}

// shapeFiles makes files of all formats, of this many transactions each. Their content is made when they are written.
func shapeFiles(txns int) []shapeFile {
	s := newShape(txns)
	seq := map[int]int{}
	comma := func(last bool) string {
		if last {
			return ""
		}
		return ","
	}
	jsonl := anew(seq, s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		dst = fmt.Appendf(dst, `{"id":%d,"session":%d,"seq":%d,"start":%d,"end":%d,"ops":[`, t.id, i, seq[i], t.start, t.end)
		seq[i]++
		return append(t.micro(dst, `["%c",%d,%s]`, ",", true, ""), "]}\n"...)
	}))
	const ednForm = "{:index %d, :type :%s, :process %d, :f :txn, :value %s, :time %d}\n"
	edn := s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		return operations(dst, ednForm, i, t, func(ok bool) []byte {
			return append(t.micro([]byte("["), "[:%c %d %s]", " ", ok, "nil"), ']')
		})
	})
	lists := make(map[uint64][]uint64)
	ednLists := anew(lists, s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
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
	}))
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
			func(ok bool) []byte { return append(t.micro([]byte("["), `["%c",%d,%s]`, ",", ok, "null"), ']') })
	})
	jepsenLines := s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
		for _, kind := range [...]string{"invoke", "ok"} {
			dst = fmt.Appendf(dst, "%d\t:%s\t:txn\t", i, kind)
			dst = append(t.micro(append(dst, '['), "[:%c %d %s]", " ", kind == "ok", "nil"), "]\n"...)
		}
		return dst
	})
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
	kv := anew(tokens, s.one(func(dst []byte, i int, t shapeTxn, _ bool) []byte {
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
	}))
	return []shapeFile{
		text("isovet-history", "isovet-history", jsonl),
		{"isovet-watch", "isovet-watch", func() (string, [][]byte) {
			return "segment-%08d.log", [][]byte{nil, watch(jsonl())}
		}},
		text("jepsen-edn: registers in transactions", "jepsen-edn", edn),
		text("jepsen-edn: lists", "jepsen-edn", ednLists),
		text("jepsen-edn: single registers", "jepsen-edn", registers),
		text("jepsen-json", "jepsen-json", jepsenText),
		text("jepsen-log", "jepsen-log", jepsenLines),
		{"cobra", "cobra", s.cobra},
		text("dbcop", "dbcop", s.bincode),
		text("dbcop-json: objects", "dbcop-json", dbcopObjects),
		text("dbcop-json: arrays", "dbcop-json", dbcopArrays),
		text("dbcop-json: a value a line", "dbcop-json", lines(dbcopObjects)),
		text("dbcop-hist", "dbcop-hist", hist),
		text("plume", "plume", plumeText),
		text("awdit", "awdit", awditText),
		{"viper", "viper", s.viper},
		text("timekiller", "timekiller", killer),
		text("timekiller: a value a line", "timekiller", lines(killer)),
		text("porcupine", "porcupine", console),
		text("porcupine-kv", "porcupine-kv", kv),
		text("otlp-json: events", "otlp-json", s.one(traceEvents)),
		text("otlp-json: operations", "otlp-json", s.one(traceOps)),
	}
}
