package check

import (
	"strconv"
	"testing"

	"isovet/evidence"
	"isovet/internal/test/cases"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
	"isovet/level"
)

// The histories of errata §1 on which a checker that follows the letter of the Vbox paper errs.
func TestVboxErrata(t *testing.T) {
	for _, c := range cases.Read(t, "testdata/vbox-errata.tsv") {
		h := notation.MustParse(c[1])
		for i, l := range []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable} {
			mustBe(t, h, Options{Level: l}, verdictOf(t, c[2+i]))
		}
		if len(c) > 5 {
			skew := must.Get(strconv.ParseInt(c[5], 10, 64))(t)
			mustBe(t, h, Options{Level: level.StrictSerializable, ClockSkew: skew}, verdictOf(t, c[6]))
		}
		if t.Failed() {
			t.Fatal(c[0])
		}
	}
}

// verdictOf is the verdict of a name.
func verdictOf(t *testing.T, name string) (v evidence.Verdict) {
	t.Helper()
	must.OK(t, v.UnmarshalText([]byte(name)))
	return v
}
