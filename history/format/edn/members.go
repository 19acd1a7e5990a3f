package edn

// Micro reads how a micro-operation of a register begins in EDN, "[:r " or "[:w ", perhaps behind a blank, and returns
// its letter.
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

// Field reads how a member of a map begins in EDN, ":name ", perhaps behind a comma and a blank, and returns the name,
// of small letters and hyphens; false: another is next, and it has not moved.
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
