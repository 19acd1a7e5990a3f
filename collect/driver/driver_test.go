package driver

import (
	"reflect"
	"slices"
	"testing"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"postgres://me:s3cret@host:5432/db?sslmode=disable": "postgres://…@host:5432/db?sslmode=disable",
		"postgres://host/db?user=me&password=s3cret&x=1":    "postgres://host/db?user=me&password=…&x=1",
		"mysql://root@h/d": "mysql://…@h/d",
		"sqlite:":          "sqlite:",
		"redis://:p@w@h/0": "redis://…@h/0",
	} {
		if got := Redact(in); got != want {
			t.Errorf("Redact(%s) = %s, expected %s", in, got, want)
		}
	}
}

// TestTexts: what key-value stores hold comes back as it was.
func TestTexts(t *testing.T) {
	for _, r := range []Row{{}, {Version: 7, Payload: -5}, {Version: 1 << 52, Payload: 1 << 62},
		{Version: 9, Dead: true}, {Version: 3, Wide: []int64{}}, {Version: 3, Payload: 1, Wide: []int64{5, -7,
			1 << 60}}} {
		got, err := parseRow(string(RowText(r)))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v came back as %+v, %v", r, got, err)
		}
	}
	list := ""
	for _, e := range []int64{5, 1, 12} {
		list = string(appended(list, e))
	}
	if got, err := ParseList(nil, list); err != nil || !slices.Equal(got, []int64{5, 1, 12}) {
		t.Errorf("list %q: %v, %v", list, got, err)
	}
	if slices.Compare(KVKey("r", -1), KVKey("r", 0)) >= 0 || slices.Compare(KVKey("r", 255), KVKey("r", 256)) >= 0 {
		t.Error("keys are not in the order of their numbers")
	}
	if _, err := parseRow("x y"); err == nil {
		t.Error("a bad row is taken")
	}
}
