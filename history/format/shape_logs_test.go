package format

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

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

// watch makes the log of isovet watch, of lines of the project's format.
func watch(lines []byte) []byte {
	var log []byte
	for n := 0; len(lines) > 0; n++ {
		end := bytes.IndexByte(lines, '\n') + 1
		log = append(fmt.Appendf(log, "%d\t", n), lines[:end]...)
		lines = lines[end:]
	}
	return log
}

// bincode makes dbcop's binary history.
func (s *shape) bincode() []byte {
	le := binary.LittleEndian.AppendUint64
	var b []byte
	for _, n := range []uint64{7, 2, 2, 1, 2} {
		b = le(b, n)
	}
	for _, text := range []string{"testdb", "2020-01-02T03:04:05Z", "2020-01-02T03:04:05.5+08:00"} {
		b = append(le(b, uint64(len(text))), text...)
	}
	b = le(b, uint64(len(s.sessions)))
	for _, session := range s.sessions {
		b = le(b, uint64(len(session)))
		for _, t := range session {
			b = le(b, uint64(len(t.ops)))
			for _, e := range t.ops {
				kind := byte(0)
				if e.write {
					kind = 1
				}
				b = append(le(le(append(b, kind), e.variable), e.value), 1)
			}
			b = append(b, 1)
		}
	}
	return b
}
