package edn

// Micro reads the beginning of a register's micro-operation in EDN, "[:r " or "[:w ", perhaps behind a blank, and
// returns its letter.
func (p *Plain) Micro() (f byte, ok bool) {
	i := p.pos
	if i < len(p.data) && p.data[i] == ' ' {
		i++
	}
	if p.json || len(p.data)-i < 5 || string(p.data[i:i+2]) != "[:" || p.data[i+3] != ' ' {
		return 0, false
	}
	if f = p.data[i+2]; f != 'r' && f != 'w' {
		return 0, false
	}
	p.pos = i + 4
	return f, true
}

// Field reads the beginning of a map's member in EDN, ":name ", perhaps behind a comma and a blank, and returns the
// name. The name has only small letters and hyphens. It returns false, without moving, if something else is next.
func (p *Plain) Field() (name []byte, ok bool) {
	d, i := p.data, p.pos
	if len(d)-i < 4 || p.json {
		return nil, false
	}
	if d[i] == ',' {
		i++
	}
	if d[i] == ' ' {
		i++
	}
	if d[i] != ':' {
		return nil, false
	}
	i++
	first := i
	for i < len(d) && (d[i]-'a' <= 'z'-'a' || d[i] == '-') {
		i++
	}
	if i == first || i == len(d) || d[i] != ' ' {
		return nil, false
	}
	p.pos = i + 1
	return d[first:i], true
}
