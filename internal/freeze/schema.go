package freeze

import (
	"fmt"
	"reflect"
	"strings"
)

// node is a type in a file. It refers to other types by their indexes in the list of all.
type node struct {
	Kind   string  `json:"k"`
	Len    int     `json:"l,omitempty"` // of an array
	Elem   int     `json:"e,omitempty"` // of an array, a slice, a pointer, a map
	Key    int     `json:"m,omitempty"` // of a map
	Fields []field `json:"f,omitempty"`
}

type field struct {
	Name string `json:"n"`
	Type int    `json:"t"`
}

// schema lists the types in a value. The value's own type is the first.
type schema struct {
	nodes []node
	of    map[reflect.Type]int
}

func newSchema(t reflect.Type) (*schema, error) {
	s := &schema{of: map[reflect.Type]int{}}
	_, err := s.add(t, t.String())
	return s, err
}

// add adds a type unless it is in the list. at says where it was found.
func (s *schema) add(t reflect.Type, at string) (int, error) {
	if i, ok := s.of[t]; ok {
		return i, nil
	}
	i := len(s.nodes)
	s.of[t] = i
	s.nodes = append(s.nodes, node{})
	n := node{Kind: t.Kind().String()}
	var err error
	switch k := t.Kind(); {
	case scalar(k) || k == reflect.String:
	case k == reflect.Slice || k == reflect.Pointer || k == reflect.Array || k == reflect.Map:
		if k == reflect.Array {
			n.Len = t.Len()
		}
		if n.Elem, err = s.add(t.Elem(), at+"[]"); err == nil && k == reflect.Map {
			n.Key, err = s.add(t.Key(), at+"[key]")
		}
	case k == reflect.Struct:
		if p := t.PkgPath(); p == "sync" || p == "sync/atomic" {
			return 0, fmt.Errorf("%s: a %v cannot be written; expected it to be tagged `freeze:\"-\"`", at, t)
		}
		fields := map[string]bool{}
		for _, f := range taken(t) {
			if fields[f.Name] {
				return 0, fmt.Errorf("%s: a %v has two fields %s; expected names that differ", at, t, f.Name)
			}
			fields[f.Name] = true
			var j int
			if j, err = s.add(f.Type, at+"."+f.Name); err != nil {
				break
			}
			n.Fields = append(n.Fields, field{f.Name, j})
		}
	default:
		err = fmt.Errorf("%s: a %v cannot be written; expected it to be tagged `freeze:\"-\"`", at, t)
	}
	s.nodes[i] = n
	return i, err
}

// taken returns the fields that are written, with their offsets in the outer struct and their names in the file.
func taken(t reflect.Type) (out []reflect.StructField) {
	for i := range t.NumField() {
		f := t.Field(i)
		switch tag := f.Tag.Get("freeze"); {
		case tag == "-" || f.Name == "_":
		case tag == "flat":
			for _, in := range taken(f.Type) {
				in.Offset += f.Offset
				out = append(out, in)
			}
		default:
			if name, ok := strings.CutPrefix(tag, "as="); ok {
				f.Name = name
			}
			out = append(out, f)
		}
	}
	return out
}

func scalar(k reflect.Kind) bool {
	return k >= reflect.Bool && k <= reflect.Float64 && k != reflect.Uintptr
}

// width returns the number of bytes of a scalar in the file.
func width(k reflect.Kind) int {
	switch k {
	case reflect.Bool, reflect.Int8, reflect.Uint8:
		return 1
	case reflect.Int16, reflect.Uint16:
		return 2
	case reflect.Int32, reflect.Uint32, reflect.Float32:
		return 4
	}
	return 8
}

// family returns a group of kinds; a kind can be read as another one of its group that is not narrower.
func family(k reflect.Kind) byte {
	switch {
	case k == reflect.Bool:
		return 'b'
	case k >= reflect.Int && k <= reflect.Int64:
		return 'i'
	case k >= reflect.Uint && k <= reflect.Uint64:
		return 'u'
	}
	return 'f'
}

var kinds = func() map[string]reflect.Kind {
	m := map[string]reflect.Kind{}
	for k := reflect.Bool; k <= reflect.UnsafePointer; k++ {
		m[k.String()] = k
	}
	return m
}()

// run is a part of a value that has the same bytes in the file and in memory.
type run struct{ off, size uintptr }

// runs returns these parts for a type that consists only of scalars, or nil if memory and file differ.
func runs(t reflect.Type) []run {
	if !littleEndian {
		return nil
	}
	out, ok := appendRuns(nil, t, 0)
	if !ok {
		return nil
	}
	return out
}

func appendRuns(out []run, t reflect.Type, at uintptr) ([]run, bool) {
	switch k := t.Kind(); {
	case scalar(k):
		size := t.Size()
		if int(size) != width(k) {
			return nil, false
		}
		if n := len(out); n > 0 && out[n-1].off+out[n-1].size == at {
			out[n-1].size += size
			return out, true
		}
		return append(out, run{at, size}), true
	case k == reflect.Array:
		ok := t.Len() <= 64
		for i := 0; i < t.Len() && ok; i++ {
			out, ok = appendRuns(out, t.Elem(), at+uintptr(i)*t.Elem().Size())
		}
		return out, ok
	case k == reflect.Struct:
		if reflect.PointerTo(t).Implements(thawedType) {
			return nil, false
		}
		ok := true
		for _, f := range taken(t) {
			if out, ok = appendRuns(out, f.Type, at+f.Offset); !ok {
				return nil, false
			}
		}
		return out, len(out) > 0
	}
	return nil, false
}
