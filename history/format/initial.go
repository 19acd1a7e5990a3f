package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"isovet/history"
	"isovet/internal/plural"
)

// InitialValue gives registers an initial value instead of the file's; "" keeps the file's. It is a value as JSON (an
// integer, a string in quotes, true, false or null) for all keys, KEY=VALUE for one key, [FirstRead], or a list of
// these separated by commas.
type InitialValue string

// FirstRead takes a register's first read for its initial value, unless a transaction wrote that value before. It is
// for databases that were not empty at the start.
const FirstRead InitialValue = "first-read"

// Check returns an error if v is no valid InitialValue.
func (v InitialValue) Check() error {
	_, err := v.parse()
	return err
}

// ofKeys reports whether v sets values of single keys. That needs the whole history.
func (v InitialValue) ofKeys() bool {
	says, err := v.parse()
	return err == nil && (says.first || len(says.keys) > 0)
}

type initial struct {
	first bool
	all   *scalar
	keys  []keyValue
}

type keyValue struct {
	key   string // as JSON, or a word
	value scalar
}

// scalar is a value, and the text of a string.
type scalar struct {
	value history.Value
	text  []byte
}

func (s scalar) in(h *history.History) history.Value {
	if s.value.Kind == history.String {
		s.value.N = int64(h.Texts.Intern(s.text))
	}
	return s.value
}

func (v InitialValue) parse() (says initial, err error) {
	if v == "" {
		return says, nil
	}
	wrong := fmt.Errorf("initial value %.40q; expected an integer, a string in quotes, true, false or null, "+
		"KEY=VALUE, or first-read", string(v))
	if !utf8.ValidString(string(v)) {
		return says, wrong
	}
	for rest := string(v); ; {
		part := rest[:outside(rest, ',')]
		switch at := outside(part, '='); {
		case strings.TrimSpace(part) == string(FirstRead):
			says.first = true
		case at < len(part):
			x, ok := parseScalar(part[at+1:])
			key := strings.TrimSpace(part[:at])
			if !ok || key == "" {
				return says, wrong
			}
			says.keys = append(says.keys, keyValue{key, x})
		default:
			x, ok := parseScalar(part)
			if !ok || says.all != nil {
				return says, wrong
			}
			says.all = &x
		}
		if len(part) == len(rest) {
			return says, nil
		}
		rest = rest[len(part)+1:]
	}
}

// outside returns the index of the first c outside quotes, or the text's length if there is none.
func outside(text string, c byte) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case quoted && text[i] == '\\':
			i++
		case text[i] == '"':
			quoted = !quoted
		case text[i] == c && !quoted:
			return i
		}
	}
	return len(text)
}

func parseScalar(s string) (x scalar, ok bool) {
	text := bytes.TrimSpace([]byte(s))
	switch string(text) {
	case "null":
		return x, true
	case "true", "false":
		return scalar{value: history.BoolValue(string(text) == "true")}, true
	}
	if len(text) > 0 && text[0] == '"' {
		var s string
		if json.Unmarshal(text, &s) != nil {
			return x, false
		}
		return scalar{history.Value{Kind: history.String}, []byte(s)}, true
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return scalar{value: history.IntValue(n)}, err == nil
}

// Apply sets a history's initial values; "" changes nothing.
func (v InitialValue) Apply(h *history.History) error {
	says, err := v.parse()
	if err != nil {
		return err
	}
	if says.all != nil {
		h.SetInitial(says.all.in(h))
	}
	if !says.first && len(says.keys) == 0 {
		return nil
	}
	var keys []uint32
	var values []history.Value
	named := map[uint32]bool{}
	for _, kv := range says.keys {
		k, ok := keyNamed(h, kv.key)
		if !ok {
			h.AddNote(history.NoteInitial, 1, "--initial gives key %s a value, but no operation names this key", kv.key)
			continue
		}
		if named[k] {
			return fmt.Errorf("initial value %.40q; expected each key once", string(v))
		}
		named[k] = true
		keys, values = append(keys, k), append(values, kv.value.in(h))
	}
	if says.first {
		first, held := h.FirstReads()
		n := 0
		for i, k := range first {
			if !named[k] {
				keys, values = append(keys, k), append(values, held[i])
				n++
			}
		}
		h.AddNote(history.NoteInitial, n, "%s: isovet takes the first value read that nobody had written as the "+
			"initial value", plural.Of(n, "key"))
	}
	return h.SetFirst(keys, values)
}

// keyNamed finds a key by its name on the command line: as JSON, or, if there is no such key, as a word.
func keyNamed(h *history.History, name string) (uint32, bool) {
	word := uint32(history.None)
	for k := range h.Keys {
		if h.KeyString(uint32(k)) == name {
			return uint32(k), true
		}
		if x := h.Keys[k]; x.Kind == history.String && string(h.Texts.Text(uint32(x.N))) == name {
			word = uint32(k)
		}
	}
	return word, word != history.None
}

// Nil is what a read of nil means in files of Jepsen and Porcupine. Their checkers disagree about it.
type Nil string

const (
	NilAbsent  Nil = "absent"  // its key is absent, as in Porcupine's logs and transactions
	NilUnknown Nil = "unknown" // nothing, as in Knossos's registers
	NilInitial Nil = "initial" // its key holds what it held at first
)

// Nils are the values of Nil.
func Nils() []string { return []string{string(NilAbsent), string(NilUnknown), string(NilInitial)} }

// OneFile returns an error if an option needs a history that is one file, read at once.
func (o *Options) OneFile() error {
	if o.Nil != "" || o.TextNumbers || o.Initial.ofKeys() {
		return fmt.Errorf("--nil, --text-numbers, --initial KEY=VALUE and --initial first-read need a history in " +
			"one file, all in memory")
	}
	return nil
}

// tells returns an error if an option sets something that files of the format say themselves.
func (o *Options) tells(f Format) error {
	switch {
	case f.tellsNil:
	case o.Nil != "":
		return fmt.Errorf("--nil is for Jepsen's and Porcupine's files; format %s defines null itself", f.Name)
	case o.TextNumbers:
		return fmt.Errorf("--text-numbers is for files of Jepsen's; format %s tells numbers from text", f.Name)
	}
	return nil
}
