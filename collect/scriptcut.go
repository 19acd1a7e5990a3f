package collect

import "slices"

// tableless are the steps that are about no table.
var tableless = []string{"begin", "commit", "rollback", "savepoint", "rollback-to"}

// withoutIdle is the script without the tables that no step is about, unless tables refer to each other.
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

// withoutFirst is the script whose tables hold at first what its first transaction writes; nil where that does more
// than write rows, or where others are under way beside it.
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

// renumbered is the script with its sessions numbered in the order in which they come.
func (s *Script) renumbered() *Script {
	number := map[int]int{}
	nodes := s.Nodes
	s.Steps, s.Nodes = slices.Clone(s.Steps), nil
	for i := range s.Steps {
		st := &s.Steps[i]
		n, ok := number[st.Session]
		if !ok {
			n = len(number) + 1
			number[st.Session] = n
			if nodes != nil {
				s.Nodes = append(s.Nodes, nodes[st.Session-1])
			}
		}
		st.Session = n
	}
	return s
}
