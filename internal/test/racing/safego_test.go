package racing

import (
	"strings"
	"sync/atomic"
	"testing"

	"isovet/internal/safego"
	"isovet/internal/test/must"
)

func TestPanicsComeHome(t *testing.T) {
	var g safego.Group
	var ran atomic.Int32
	for i := range 8 {
		g.Go(func() {
			ran.Add(1)
			if i == 3 {
				panic("boom")
			}
		})
	}
	defer func() {
		p, ok := recover().(*safego.Panic)
		if !ok || p.Value != "boom" || !strings.Contains(p.Error(), "safego_test.go") {
			t.Errorf("recovered %v", p)
		}
		must.Equal(t, ran.Load(), 8, "ran")
	}()
	g.Wait()
	t.Error("Wait returned")
}

func TestNoPanic(t *testing.T) {
	var g safego.Group
	n := 0
	g.Go(func() { n++ })
	g.Wait()
	must.Equal(t, n, 1, "ran")
}
