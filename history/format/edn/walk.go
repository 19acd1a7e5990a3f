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

// Fields reads a map whose bracket is t. It calls each with the name of each field, a keyword, symbol or string; each
// must read the value. what names the map in errors.
func (s *Scanner) Fields(t Token, what string, each func(name Token) error) error {
	if !t.OpensMap() {
		return s.Errorf(t.Pos, what, "found %v; expected a map", t)
	}
	for {
		name, err := s.Next()
		if err != nil || name.Kind == Close {
			return err
		}
		if name.Kind != Word && name.Kind != Text {
			return s.Errorf(name.Pos, what, "found %v; expected the name of a field", name)
		}
		if err := each(name); err != nil {
			return err
		}
	}
}

// Elements reads a sequence whose bracket is t. It calls each with the first token of each element; each must read the
// rest.
func (s *Scanner) Elements(t Token, what string, each func(t Token) error) error {
	if !t.Opens() {
		return s.Errorf(t.Pos, what, "found %v; expected an array", t)
	}
	for {
		t, err := s.Next()
		if err != nil || t.Kind == Close {
			return err
		}
		if err := each(t); err != nil {
			return err
		}
	}
}
