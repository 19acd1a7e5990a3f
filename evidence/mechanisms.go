package evidence

import (
	"encoding/json"
	"maps"

	"isovet/internal/slice"
)

// Mechanisms is what a checker found that verifies how a database works inside, not only what it promises (Leopard). It
// is separate from the verdict: a violation here depends on the profile, an assumption about the database; the verdict
// is Violated only if the history proves it without.
type Mechanisms struct {
	Profile    string               `json:"profile"`
	Found      map[string]int       `json:"found"` // violations by mechanism, all of them
	Violations []MechanismViolation `json:"violations"`
	Warnings   int                  `json:"warnings,omitempty"` // dangerous structures, which need not be violations
	// Deduced counts the dependencies deduced, by kind; Undecided counts the pairs of versions that nothing orders.
	Deduced   map[string]int `json:"deduced"`
	Undecided int            `json:"undecided"`
}

// Total returns the number of violations.
func (m *Mechanisms) Total() int { return slice.Sum(maps.Values(m.Found)) }

// MechanismViolation is one case in which a mechanism failed.
type MechanismViolation struct {
	Mechanism string          `json:"mechanism"`
	Kind      string          `json:"kind"`
	Txns      []int64         `json:"txns"` // ids in the file
	Key       json.RawMessage `json:"key,omitempty"`
	Assumes   string          `json:"assumes"`
	Text      string          `json:"text"`
	// Proved is set if these transactions violate the level whatever the database does inside; the anomaly is among
	// Result.Anomalies.
	Proved bool `json:"proved,omitempty"`
}
