package collect

import (
	"slices"
	"time"
)

// tidy removes unused tables, and moves the begin of each transaction just before its first operation and the end just
// after its last one, as long as the level stays violated. So fewer statements wait for each other.
func (p *reproducer) tidy(s *Script) *Script {
	p.until = time.Now().Add(p.o.For / 2)
	waits, ok := p.waits(s)
	if !ok {
		return s
	}
	if t := s.withoutIdle(); len(t.Tables) < len(s.Tables) && !p.late() && p.violates(t) {
		s = t
	}
	for i := 0; i < len(s.Steps); i++ {
		st := s.Steps[i]
		to := i
		switch st.Do {
		case "begin":
			for to+1 < len(s.Steps) && s.Steps[to+1].Session != st.Session {
				to++
			}
		case "commit", "rollback":
			for to > 0 && s.Steps[to-1].Session != st.Session {
				to--
			}
		}
		if to == i || p.late() {
			continue
		}
		t := *s
		t.Steps = slices.Insert(slices.Delete(slices.Clone(s.Steps), i, i+1), to, st)
		if n, ok := p.waits(&t); ok && n <= waits {
			if s, waits = &t, n; to > i {
				i-- // another step is here now
			}
		}
	}
	s = p.withoutSteps(p.fewerSessions(p.apart(s, waits)))
	for t := s.withoutFirst(); t != nil && !p.late() && p.violates(t); t = s.withoutFirst() {
		s = t
	}
	return s.renumbered()
}

// apart makes as few transactions as possible overlap, so that no step waits, as long as the level stays violated.
// waits is the number of the script's steps that wait.
func (p *reproducer) apart(s *Script, waits int) *Script {
	for n := 0; n < len(s.transactions()); n++ {
		for _, t := range s.inOne(s.transactions()[n]) {
			if p.late() {
				return s
			}
			if w, ok := p.waits(t); ok && w <= waits {
				s, waits, n = t, w, -1
				break
			}
		}
	}
	return s
}

// fewerSessions moves the transactions to as few sessions as possible.
func (p *reproducer) fewerSessions(s *Script) *Script {
	s = s.renumbered()
	for from := 2; from <= s.sessions(); from++ {
		for to := 1; to < from; to++ {
			if t := s.inSession(from, to); t != nil && !p.late() && p.violates(t) {
				s, from = t, 1
				break
			}
		}
	}
	return s
}

// withoutSteps removes reads and writes one by one.
func (p *reproducer) withoutSteps(s *Script) *Script {
	for i := len(s.Steps) - 1; i >= 0 && !p.late(); i-- {
		if slices.Contains(tableless, s.Steps[i].Do) {
			continue
		}
		t := *s
		t.Steps = slices.Delete(slices.Clone(s.Steps), i, i+1)
		if p.violates(&t) {
			s = &t
		}
	}
	return s
}

// tableless are the steps that use no table.
var tableless = []string{"begin", "commit", "rollback", "savepoint", "rollback-to"}

// withoutIdle returns the script without unused tables, unless tables refer to each other.
func (s *Script) withoutIdle() *Script {
	if slices.ContainsFunc(s.Tables, func(t ScriptTable) bool { return t.Foreign != nil }) {
		return s
	}
	t := *s
	t.Tables, t.Steps = nil, slices.Clone(s.Steps)
	for i := range s.Tables {
		at := len(t.Tables)
		named := false
		for j, st := range s.Steps {
			if doing := !slices.Contains(tableless, st.Do); doing && st.Table == i {
				named = true
				t.Steps[j].Table = at
			}
		}
		if named {
			t.Tables = append(t.Tables, s.Tables[i])
		}
	}
	return &t
}

// withoutFirst returns the script with the writes of its first transaction as initial rows. It returns nil if this
// transaction does more than write rows, or overlaps others.
func (s *Script) withoutFirst() *Script {
	t := *s
	t.Tables = slices.Clone(s.Tables)
	for i, st := range s.Steps {
		switch {
		case st.Session != s.Steps[0].Session:
			return nil
		case st.Do == "begin":
		case st.Do == "commit":
			if t.Steps = s.Steps[i+1:]; len(t.Steps) == 0 {
				return nil
			}
			return t.renumbered()
		case st.Do == "write":
			x := &t.Tables[st.Table]
			row := append([]int64{st.Key}, st.Row...)
			if len(st.Row) == 0 {
				row = append(row, st.Payload)
			}
			x.Rows = slices.DeleteFunc(slices.Clone(x.Rows), func(r []int64) bool { return r[0] == st.Key })
			x.Rows = append(x.Rows, row)
		default:
			return nil
		}
	}
	return nil
}

// renumbered returns the script with its sessions numbered by their first steps.
func (s *Script) renumbered() *Script {
	number := map[int]int{}
	t := *s
	t.Steps, t.Nodes = slices.Clone(s.Steps), nil
	for i := range t.Steps {
		st := &t.Steps[i]
		n, ok := number[st.Session]
		if !ok {
			n = len(number) + 1
			number[st.Session] = n
			if s.Nodes != nil {
				t.Nodes = append(t.Nodes, s.Nodes[st.Session-1])
			}
		}
		st.Session = n
	}
	return &t
}

// transactions returns the places of each transaction's steps, in the order of the transactions' ends.
func (s *Script) transactions() (out [][]int) {
	open := map[int][]int{}
	for i, st := range s.Steps {
		open[st.Session] = append(open[st.Session], i)
		if st.Do == "commit" || st.Do == "rollback" {
			out = append(out, open[st.Session])
			delete(open, st.Session)
		}
	}
	return out
}

// serial returns the script with its transactions one after the other, in the order of their ends.
func (s *Script) serial() *Script {
	t := *s
	t.Steps = nil
	for _, places := range s.transactions() {
		for _, i := range places {
			t.Steps = append(t.Steps, s.Steps[i])
		}
	}
	return &t
}

// inOne returns scripts in which a transaction's steps are adjacent, one for each place between the other steps.
func (s *Script) inOne(places []int) (out []*Script) {
	if places[len(places)-1]-places[0] == len(places)-1 {
		return nil // they are adjacent already
	}
	var own, others []ScriptStep
	for i, st := range s.Steps {
		if slices.Contains(places, i) {
			own = append(own, st)
		} else {
			others = append(others, st)
		}
	}
	for at := range len(others) + 1 {
		t := *s
		t.Steps = slices.Insert(slices.Clone(others), at, own...)
		if _, err := t.Schedule(); err == nil { // otherwise another transaction of its session is open there
			out = append(out, &t)
		}
	}
	return out
}

func (s *Script) sessions() (n int) {
	for _, st := range s.Steps {
		n = max(n, st.Session)
	}
	return n
}

// inSession returns the script in which session to also does the steps of session from. It returns nil if their
// transactions overlap or they use different nodes.
func (s *Script) inSession(from, to int) *Script {
	if s.Nodes != nil && s.Nodes[from-1] != s.Nodes[to-1] {
		return nil
	}
	t := *s
	t.Steps = slices.Clone(s.Steps)
	for i := range t.Steps {
		if t.Steps[i].Session == from {
			t.Steps[i].Session = to
		}
	}
	r := t.renumbered()
	if _, err := r.Schedule(); err != nil {
		return nil
	}
	return r
}
