package hard

import (
	"fmt"
	"strings"

	"isovet/datasets"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// Anomaly returns one of datasets.SynthesizedAnomalies as an Instance; it violates serializability. It returns an
// error if the name is unknown.
func Anomaly(name string) (*Instance, error) {
	for _, a := range datasets.SynthesizedAnomalies() {
		if strings.EqualFold(a.Name, name) {
			return &Instance{Name: a.Name, About: a.About, Level: level.Serializable, Violates: true,
				build: func(int, uint64) (*history.History, error) { return a.History(), nil }}, nil
		}
	}
	return nil, fmt.Errorf("unknown anomaly %q; expected one of %s", name, strings.Join(AnomalyNames(), ", "))
}

// AnomalyNames returns the names that Anomaly knows.
func AnomalyNames() []string {
	return slice.Map(datasets.SynthesizedAnomalies(), func(a datasets.Synthesized) string { return a.Name })
}
