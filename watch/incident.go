package watch

import (
	"bytes"
	"encoding/json"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"

	"isovet/internal/keyed"
	"isovet/internal/slice"
)

// Incident is a group of violations of one kind, on one key or a range of keys, without a long pause in between. Like
// the violations, it depends only on the log.
type Incident struct {
	ID int64 `json:"incident"` // from 1, by the time of opening
	// Class is the label of the metrics: an axiom, a mechanism, or a verdict. Kind is finer and may be "": how an
	// axiom fails, the kind of a mechanism's violation, or the anomaly.
	Class string `json:"class"`
	Kind  string `json:"kind,omitempty"`
	// Unjudged says that transactions were not judged, so that the incident accuses nobody.
	Unjudged bool `json:"unjudged,omitempty"`
	Open     bool `json:"open"` // it may still grow
	// Low and High are the least and the greatest key, as JSON; numbers by value come before other keys by text. They
	// are equal if the incident has one key, and nil if it has none.
	Low  json.RawMessage `json:"low,omitempty"`
	High json.RawMessage `json:"high,omitempty"`
	// Count is the number of violations. Keys and Txns are the numbers of different keys and transactions: exact up to
	// 256, beyond that an estimate within a few per cent.
	Count int64 `json:"count"`
	Keys  int64 `json:"keys,omitempty"`
	Txns  int64 `json:"txns"`
	// Proved says that one of the violations is proved to violate the level (judges leopard and replay).
	Proved bool `json:"proved,omitempty"`
	// FirstN and LastN are the numbers of the first and the last violation.
	FirstN int64 `json:"first_n"`
	LastN  int64 `json:"last_n"`
	// Began and Last are the times, by the clock in the log, when these two became final; zero if unknown.
	Began time.Time `json:"began,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	// New is the number of violations that this run found.
	New int64 `json:"-"`
	// Lines are the first few violations, as in the file of violations.
	Lines []json.RawMessage `json:"lines,omitempty"`
	// Evidence has small histories of the first proved violations.
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence is a small history that shows a violation, and its certificate, for isovet check and isovet verify. File
// names are relative to the file of violations and have slashes.
type Evidence struct {
	N           int64  `json:"n"` // the violation's
	History     string `json:"history,omitempty"`
	Certificate string `json:"certificate,omitempty"`
	// Why says why the history or the certificate is missing.
	Why string `json:"why,omitempty"`
}

// Bounds of incidents.
const (
	// incidentKeys bounds the open incidents of a kind that have one key each. Further keys share one.
	incidentKeys = 4
	// incidentLines is the number of an incident's violations that are always reported in full and stay in memory.
	// kindLines bounds the violations of a kind that are reported in full beyond that.
	incidentLines = 5
	kindLines     = 20
	// maxIncidents bounds the incidents in memory. The oldest closed ones are dropped first.
	maxIncidents = 1000
	// DefaultPause is how long an incident stays open without a violation.
	DefaultPause = 10 * time.Minute
)

// Incidents has the incidents of a watch. The zero value is empty and can be used for Config.Incidents. Several
// goroutines may use it.
type Incidents struct {
	mu    sync.Mutex
	s     incidentState
	pause time.Duration
	open  map[incidentKind][]*incident
	all   []*incident // by number
	gone  []Evidence  // whose files are no longer needed
}

type incidentKind struct{ class, kind string }

type incidentState struct {
	Next    int64       `json:"next"`            // number of the next one, from 0
	Dropped int64       `json:"dropped"`         // number of incidents dropped from memory
	Clock   int64       `json:"clock,omitempty"` // ns since 1970
	Kinds   []KindCount `json:"kinds,omitempty"` // in the order of their first violations
	All     []*incident `json:"all,omitempty"`
}

// KindCount is the number of violations of a kind.
type KindCount struct {
	Class string `json:"class"`
	Kind  string `json:"kind,omitempty"`
	N     int64  `json:"n"`
}

// incident is an Incident with the state for adding violations.
type incident struct {
	Incident
	Full     int64    `json:"full"`               // violations reported in full
	Wide     bool     `json:"wide,omitempty"`     // it takes any key
	KeySeen  distinct `json:"key_seen,omitzero"`  // while it is open
	TxnsSeen distinct `json:"txns_seen,omitzero"` // likewise
}

// List returns the incidents in memory, by number. Old ones may be missing.
func (s *Incidents) List() []Incident {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Incident, len(s.all))
	for i, x := range s.all {
		out[i] = x.Incident
		out[i].Lines, out[i].Evidence = slices.Clone(x.Lines), slices.Clone(x.Evidence)
	}
	return out
}

// Dropped returns the number of incidents that are no longer in memory.
func (s *Incidents) Dropped() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.s.Dropped
}

// counts returns the number of incidents so far, the number of open incidents that accuse the database, and the number
// of violations of each kind.
func (s *Incidents) counts() (total, open int64, kinds []KindCount) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.open {
		for _, x := range list {
			if !x.Unjudged {
				open++
			}
		}
	}
	return s.s.Next, open, slices.Clone(s.s.Kinds)
}

// state returns a copy for a checkpoint.
func (s *Incidents) state() incidentState {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.s
	out.Kinds = slices.Clone(out.Kinds)
	for _, x := range s.all {
		y := *x
		y.Lines, y.Evidence = slices.Clone(x.Lines), slices.Clone(x.Evidence)
		y.KeySeen, y.TxnsSeen = x.KeySeen.clone(), x.TxnsSeen.clone()
		out.All = append(out.All, &y)
	}
	return out
}

func (s *Incidents) restore(from incidentState, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s, s.all, s.open, s.pause = from, from.All, map[incidentKind][]*incident{}, pause
	s.s.All = nil
	for _, x := range s.all {
		if x.Open {
			k := incidentKind{x.Class, x.Kind}
			s.open[k] = append(s.open[k], x)
		}
	}
}

// clock sets the time, and closes incidents that had no violation for long.
func (s *Incidents) clock(now int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.s.Clock = max(s.s.Clock, now)
	for k, open := range s.open {
		left := slices.DeleteFunc(open, func(x *incident) bool {
			if s.pause <= 0 || x.Last.IsZero() || s.s.Clock-x.Last.UnixNano() < int64(s.pause) {
				return false
			}
			x.Open, x.KeySeen, x.TxnsSeen = false, distinct{}, distinct{}
			return true
		})
		if s.open[k] = left; len(left) == 0 {
			delete(s.open, k)
		}
	}
}

// add adds violation n to its incident and opens one if needed. full says that the violation is one of the first and
// must be reported in full.
func (s *Incidents) add(f *Finding, n int64) (x *incident, full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x = s.of(f, n)
	x.Count++
	x.LastN = n
	if s.s.Clock > 0 {
		x.Last = time.Unix(0, s.s.Clock).UTC()
	}
	if f.Key != "" {
		if x.Low == nil || lessKey(f.Key, string(x.Low)) {
			x.Low = json.RawMessage(f.Key)
		}
		if x.High == nil || lessKey(string(x.High), f.Key) {
			x.High = json.RawMessage(f.Key)
		}
		if x.KeySeen.add(xxhash.Sum64String(f.Key)) {
			x.Keys = x.KeySeen.count()
		}
	}
	for _, t := range f.Txns {
		if x.TxnsSeen.add(keyed.Scramble(uint64(t) + 1)) {
			x.Txns = x.TxnsSeen.count()
		}
	}
	i := slices.IndexFunc(s.s.Kinds, func(k KindCount) bool { return k.Class == f.Class && k.Kind == f.Kind })
	if i < 0 {
		i = len(s.s.Kinds)
		s.s.Kinds = append(s.s.Kinds, KindCount{Class: f.Class, Kind: f.Kind})
	}
	s.s.Kinds[i].N++
	told := int64(0)
	for _, y := range s.open[incidentKind{f.Class, f.Kind}] {
		told += y.Full
	}
	return x, x.Count <= incidentLines || told < kindLines
}

// of finds or opens the incident of a violation.
func (s *Incidents) of(f *Finding, n int64) *incident {
	k := incidentKind{f.Class, f.Kind}
	open := s.open[k]
	for _, x := range open {
		if x.Wide || string(x.Low) == f.Key {
			return x
		}
	}
	s.s.Next++
	x := &incident{Wide: f.Key == "" || len(open) >= incidentKeys, Incident: Incident{ID: s.s.Next, Class: f.Class,
		Kind: f.Kind, Unjudged: f.Unjudged, Open: true, FirstN: n}}
	if s.s.Clock > 0 {
		x.Began = time.Unix(0, s.s.Clock).UTC()
	}
	slice.MakeMap(&s.open)
	if x.Wide { // incidents on one key come first
		s.open[k] = append(open, x)
	} else {
		s.open[k] = append([]*incident{x}, open...)
	}
	if s.all = append(s.all, x); len(s.all) > maxIncidents {
		if i := slices.IndexFunc(s.all, func(y *incident) bool { return !y.Open }); i >= 0 {
			s.gone = append(s.gone, s.all[i].Evidence...)
			s.all = slices.Delete(s.all, i, i+1)
			s.s.Dropped++
		}
	}
	return x
}

// noted adds a violation's line to its incident. full: the file has the line; proved: the violation is proved; fresh:
// this run found it first.
func (s *Incidents) noted(x *incident, line []byte, full, proved, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fresh {
		x.New++
	}
	x.Proved = x.Proved || proved
	if full {
		x.Full++
	}
	if line != nil && len(x.Lines) < incidentLines {
		x.Lines = append(x.Lines, bytes.Clone(line))
	}
}

// short returns an incident without its lines and evidence.
func (x *incident) short() Incident {
	out := x.Incident
	out.Lines, out.Evidence = nil, nil
	return out
}

// lessKey orders keys as Incident.Low says.
func lessKey(a, b string) bool {
	x, isX := number(a)
	y, isY := number(b)
	switch {
	case isX && isY:
		return x < y
	case isX != isY:
		return isX
	}
	return a < b
}

func number(key string) (n int64, is bool) {
	n, err := strconv.ParseInt(key, 10, 64)
	return n, err == nil
}

// distinct counts different things by their hashes: exactly up to exactDistinct, then by HyperLogLog (Flajolet, Fusy,
// Gandouet, Meunier 2007) with a standard error of 1.04/√1024, 3 %. It takes one or two kilobytes.
type distinct struct {
	Few  []uint64 `json:"few,omitempty"`  // sorted
	Most []byte   `json:"most,omitempty"` // the longest run of zeros in each part of the hashes, plus 1
}

const (
	exactDistinct = 256
	distinctParts = 1024
)

// add reports whether count may have changed.
func (d *distinct) add(hash uint64) bool {
	if d.Most != nil {
		return d.put(hash)
	}
	i, there := slices.BinarySearch(d.Few, hash)
	if there {
		return false
	}
	d.Few = slices.Insert(d.Few, i, hash)
	if len(d.Few) > exactDistinct {
		d.Most = make([]byte, distinctParts)
		for _, h := range d.Few {
			d.put(h)
		}
		d.Few = nil
	}
	return true
}

func (d *distinct) put(hash uint64) bool {
	run := byte(bits.LeadingZeros64(hash|(distinctParts-1)) + 1)
	m := &d.Most[hash%distinctParts]
	if run <= *m {
		return false
	}
	*m = run
	return true
}

// count returns the number of different hashes.
func (d *distinct) count() int64 {
	if d.Most == nil {
		return int64(len(d.Few))
	}
	sum, empty := 0.0, 0
	for _, m := range d.Most {
		sum += math.Ldexp(1, -int(m))
		if m == 0 {
			empty++
		}
	}
	const n = distinctParts
	estimate := 0.7213 / (1 + 1.079/n) * n * n / sum
	if estimate <= 2.5*n && empty > 0 {
		estimate = n * math.Log(n/float64(empty))
	}
	return max(int64(math.Round(estimate)), exactDistinct+1)
}

func (d *distinct) clone() distinct { return distinct{slices.Clone(d.Few), slices.Clone(d.Most)} }
