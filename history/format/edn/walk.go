package edn

// Skip skips the next value, whatever it is.
func (s *Scanner) Skip() error {
	if p := s.Plain(); len(s.open) < maxDepth/2 && p.Skip() {
		s.Went(&p)
		return nil
	}
	return s.skip()
}

// skip is Skip for values that are not plain, too.
func (s *Scanner) skip() error {
	s.loose++
	defer func() { s.loose-- }()
	t, err := s.Next()
	if err != nil {
		return err
	}
	return s.SkipRest(t)
}

// SkipRest skips the rest of the value that t begins.
func (s *Scanner) SkipRest(t Token) error {
	switch t.Kind {
	case EOF, Close:
		return s.Errorf(t.Pos, "", "found %v; expected a value", t)
	case Open:
		s.loose++
		defer func() { s.loose-- }()
		for depth := len(s.open); len(s.open) >= depth; {
			t, err := s.Next()
			if err != nil {
				return err
			}
			if t.Kind == EOF {
				return s.Errorf(t.Pos, "", "found the end of the file within brackets")
			}
		}
	}
	return nil
}
