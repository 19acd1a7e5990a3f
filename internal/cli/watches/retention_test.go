package watches

import (
	"testing"
	"time"

	"isovet/watch"
)

func TestKeeping(t *testing.T) {
	for s, want := range map[string]watch.Keep{
		"all": {}, "24h": {Age: 24 * time.Hour}, "10GiB": {Bytes: 10 << 30}, "5m": {Age: 5 * time.Minute},
		"1h30m, 500MB": {Age: 90 * time.Minute, Bytes: 500e6}, "2GiB,1h": {Age: time.Hour, Bytes: 2 << 30},
	} {
		if got, err := keeping(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v; expected %+v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "24", "0s", "-1h", "1h,2h", "1GB,2GB", "none", "1h,", "10GiB;1h"} {
		if got, err := keeping(s); err == nil {
			t.Errorf("%q: %+v; expected an error", s, got)
		}
	}
}
