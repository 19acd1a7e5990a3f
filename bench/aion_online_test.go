package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestOnlineClaims: what the results of AION end to end conclude follows from their points. -update
// writes it anew.
func TestOnlineClaims(t *testing.T) {
	for name, claims := range map[string]func(r *Report){"online-rate": rateClaims, "online-flips": flipClaims,
		"online-memory": memoryClaims, "online-datasets": datasetClaims, "online-rectified": rectifiedClaims,
		"overhead": overheadClaims} {
		path := filepath.Join("results", "aion", name+".json")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var r Report
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		want := r.Claims
		r.Claims = nil
		claims(&r)
		if *update {
			b, err := json.MarshalIndent(&r, "", " ")
			if err == nil {
				err = os.WriteFile(path, append(b, '\n'), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		if !slices.Equal(r.Claims, want) || len(want) == 0 {
			t.Errorf("%s: claims %v; its points say %v", name, want, r.Claims)
		}
	}
}
