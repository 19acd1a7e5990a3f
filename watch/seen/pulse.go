package seen

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"isovet/watch"
)

// pulse has the states of a watch over the last minutes, one for each second.
type pulse struct {
	mu   sync.Mutex
	ring []beat // the latest is the last one
}

// beat is the state at a moment.
type beat struct {
	at              time.Time
	arrived, judged int64
	lag, memory     float64
}

const (
	beats     = 300 // moments in memory
	beatEvery = time.Second
	points    = 60 // of a line
)

// note adds the present state, if it has changed.
func (p *pulse) note(s *watch.Snapshot, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.ring); n > 0 && now.Sub(p.ring[n-1].at) < beatEvery*9/10 {
		return
	}
	if len(p.ring) == beats {
		p.ring = p.ring[:copy(p.ring, p.ring[1:])]
	}
	p.ring = append(p.ring, beat{now, s.Arrived, max(s.Txns-int64(s.Window), 0), since(s.Waiting, now), memory()})
}

// recent returns the states in memory.
func (p *pulse) recent() []beat {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]beat(nil), p.ring...)
}

// spark is a small line chart of the last minutes, in a box of 100 by 28.
type spark struct {
	Line string // points of SVG
	Says string // the same in words
}

// series draws one value of each state or, with perSecond, its growth per second.
func series(ring []beat, what func(beat) float64, perSecond bool, says func(float64) string) *spark {
	if len(ring) < 3 {
		return nil
	}
	step := max(1, (len(ring)-1+points-1)/points)
	var v []float64
	for i := (len(ring) - 1) % step; i < len(ring); i += step {
		if !perSecond {
			v = append(v, what(ring[i]))
			continue
		}
		j := max(i-step, 0)
		if d := ring[i].at.Sub(ring[j].at).Seconds(); d > 0 {
			v = append(v, max(what(ring[i])-what(ring[j]), 0)/d)
		}
	}
	if len(v) < 2 {
		return nil
	}
	least, most := v[0], v[0]
	for _, x := range v {
		least, most = min(least, x), max(most, x)
	}
	var b strings.Builder
	for i, x := range v {
		y := 26.0
		if most > 0 {
			y -= 24 * x / most
		}
		fmt.Fprintf(&b, "%.1f,%.1f ", 100*float64(i)/float64(len(v)-1), y)
	}
	over := ring[len(ring)-1].at.Sub(ring[0].at).Round(time.Second)
	return &spark{strings.TrimSpace(b.String()), fmt.Sprintf("%s to %s in the last %s", says(least), says(most),
		lasting(over))}
}

// speed returns the recent growth of a value per second.
func speed(ring []beat, what func(beat) float64) float64 {
	n := len(ring) - 1
	if n < 1 {
		return 0
	}
	from := ring[max(n-5, 0)]
	d := ring[n].at.Sub(from.at).Seconds()
	if d <= 0 {
		return 0
	}
	return max(what(ring[n])-what(from), 0) / d
}
