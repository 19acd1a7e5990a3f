package incident

import (
	_ "embed"
	"regexp"
	"strings"
)

// Known is a public report of a violation of one kind, or the tracker where to report a new one.
type Known struct {
	Name    string `json:"name"`
	Link    string `json:"link"`
	Tracker bool   `json:"tracker,omitempty"`
}

//go:embed known.tsv
var knownText string

// knownOf returns the reports in known.tsv about an anomaly of a server at an isolation level. If there are none, it
// returns the server's tracker.
func knownOf(server, isolation, anomaly string) (reports []Known) {
	var trackers []Known
	for line := range strings.Lines(knownText) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 5 || f[0] == "server" || !regexp.MustCompile(f[0]).MatchString(server) {
			continue
		}
		switch {
		case f[2] == "":
			trackers = append(trackers, Known{f[3], f[4], true})
		case regexp.MustCompile(f[1]).MatchString(isolation) && regexp.MustCompile(f[2]).MatchString(anomaly):
			reports = append(reports, Known{f[3], f[4], false})
		}
	}
	if reports == nil {
		return trackers
	}
	return reports
}
