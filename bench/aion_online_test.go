package bench

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestOnlineClaims: what the results of AION end to end conclude follows from their points.
func TestOnlineClaims(t *testing.T) {
	for name, claims := range map[string]func(r *Report){"online-rate": rateClaims, "online-flips": flipClaims,
		"online-memory": memoryClaims} {
		text, err := os.ReadFile(filepath.Join("results", "aion", name+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var r Report
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatal(err)
		}
		want := r.Claims
		r.Claims = nil
		if claims(&r); !slices.Equal(r.Claims, want) || len(want) == 0 {
			t.Errorf("%s: claims %v; its points say %v", name, want, r.Claims)
		}
	}
}
