package edn

// quick reads the next token if it is of the usual ones: integers of 64 bits, strings in ASCII without escapes,
// keywords, brackets, true, false and null. It reports whether it did.
func (s *Scanner) quick() bool {
	d, i := s.Data, s.pos
	white := s.white()
	if i < len(d) && class[d[i]]&white != 0 {
		if i++; i < len(d) && class[d[i]]&white != 0 { // usually it is one byte
			i = blanks(d, i+1, white)
		}
		s.pos = i
	}
	if i >= len(d) {
		return false
	}
	t := &s.token
	t.Pos = i
	k := i + 1
	switch c := d[i]; {
	case c == '"':
		for k < len(d) && class[d[k]]&isText != 0 {
			k++
		}
		if k >= len(d) || d[k] != '"' || s.Keywords {
			return false
		}
		t.Kind, t.Text = Text, d[i+1:k]
		k++
	case c-'0' <= 9 || c == '-':
		n, first := int64(0), i
		if c == '-' {
			first++
		}
		for k = first; k < len(d) && d[k]-'0' <= 9; k++ {
			n = n*10 + int64(d[k]-'0')
		}
		if uint(k-first-1) >= 19 || n < 0 || k >= len(d) || class[d[k]]&(isDelim|white) == 0 {
			return false
		}
		if c == '-' {
			n = -n
		}
		t.Kind, t.N, t.Text = Int, n, d[i:k]
	case c == ':': // in EDN
		for k < len(d) && class[d[k]]&isPlain != 0 {
			k++
		}
		if k == i+1 || k >= len(d) || class[d[k]]&isDelim == 0 {
			return false
		}
		t.Kind, t.Text = Word, d[i+1:k]
	case c == '[' || c == '{':
		if len(s.open) >= maxDepth {
			return false
		}
		t.Kind, t.Bracket, t.Text = Open, c, nil
		s.open = append(s.open, c)
	case c == ']' || c == '}':
		n := len(s.open)
		if n == 0 || closer(s.open[n-1]) != c {
			return false
		}
		t.Kind, t.Bracket, t.Text = Close, c, nil
		s.open = s.open[:n-1]
	case c == 't' || c == 'f' || c == 'n':
		for k < len(d) && d[k]-'a' <= 'z'-'a' {
			k++
		}
		if k >= len(d) || class[d[k]]&isDelim == 0 {
			return false
		}
		t.Text = d[i:k]
		switch string(t.Text) {
		case "true", "false":
			if t.Kind, t.N = Bool, 0; c == 't' {
				t.N = 1
			}
		case "null", "nil":
			t.Kind = Nil
		default:
			return false
		}
	default:
		return false
	}
	s.pos = k
	return true
}
