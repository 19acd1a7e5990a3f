package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"isovet/history/format/logline"
	"isovet/internal/test/must"
)

func FuzzLoglineLine(f *testing.F) {
	for _, s := range []string{"", `{"ops":[]}`, "!clock 17", "a\tb", "~", "\x00"} {
		f.Add(int64(17), "", s, uint16(3))
		f.Add(int64(-1), "name of ~it", s, uint16(0))
		f.Add(int64(1)<<62, "@1 2", s, uint16(99))
	}
	f.Fuzz(func(t *testing.T, place int64, of, text string, at uint16) {
		if bytes.ContainsAny([]byte(of), "\t\n") || bytes.ContainsRune([]byte(text), '\n') {
			return
		}
		line := logline.Append(nil, place, of, text)
		line = line[:len(line)-1]
		var r logline.Reader
		p, o, x, err := r.Cut(line)
		must.Hold(t, err == nil && p == place && string(o) == of && string(x) == text && r.Summed,
			"%q is %d, %q, %q (%v)", line, p, o, x, err)
		for bit := range 8 { // each single bit is missed
			bad := bytes.Clone(line)
			bad[int(at)%len(bad)] ^= 1 << bit
			r := logline.Reader{Summed: true}
			if p, o, x, err := r.Cut(bad); err == nil && !bytes.EqualFold(bad, line) || err != nil &&
				!errors.Is(err, logline.ErrDamaged) {
				t.Fatalf("%q is taken for %d, %q, %q (%v)", bad, p, o, x, err)
			}
		}
	})
}

// TestLoglineCut: lines of former versions are read until one has a checksum; a torn end is told from damage in the
// midst.
func TestLoglineCut(t *testing.T) {
	var r logline.Reader
	for _, x := range []struct{ line, want string }{
		{"17\tx", `17 "" "x"`},
		{"17 name of\tx", `17 "name of" "x"`},
		{"17", "damaged"}, {"no place", "damaged"}, {"\tx", "damaged"}, {"17x\tx", "damaged"},
		{"17~1234567\tx", "damaged"}, {"17~123456789\tx", "damaged"}, {"17~00000000\tx", "damaged"},
		{string(bytes.TrimSpace(logline.Append(nil, 18, "", "x"))), `18 "" "x"`},
		{"19\tx", "damaged"}, // there have been checksums
	} {
		place, of, text, err := r.Cut([]byte(x.line))
		got := fmt.Sprintf("%d %q %q", place, of, text)
		if errors.Is(err, logline.ErrDamaged) {
			got = "damaged"
		}
		must.Equal(t, got, x.want, "%q (%v)", x.line, err)
	}
	whole := string(logline.Append(nil, 20, "", "y"))
	for behind, want := range map[string]bool{"": true, "zz": true, "zz\n\x00\x00\n": true, "zz\n" + whole: false,
		whole: false, whole[:5]: true, "20\ty\n": true} {
		must.Equal(t, r.Torn([]byte(behind)), want, "%q: torn", behind)
	}
	if (&logline.Reader{}).Torn(nil) {
		t.Error("without checksums nobody knows")
	}
}
