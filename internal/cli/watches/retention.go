package watches

import (
	"strings"
	"time"

	"isovet/internal/cli/console"
	"isovet/watch"
)

// keeping reads --keep.
func keeping(s string) (watch.Keep, error) {
	var k watch.Keep
	if s == "all" {
		return k, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if d, err := time.ParseDuration(part); err == nil && d > 0 && k.Age == 0 {
			k.Age = d
			continue
		}
		if k.Bytes != 0 || Bare.MatchString(part) || (console.Size(&k.Bytes)).Set(part) != nil {
			return k, console.Usagef("--keep %s; expected a duration such as 24h, a size such as 10GiB, both with a "+
				"comma between them, or all", s)
		}
	}
	return k, nil
}
