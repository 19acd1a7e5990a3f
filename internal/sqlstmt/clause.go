package sqlstmt

import "strconv"

// outputs reads the list of what is returned.
func (p *parser) outputs() {
	if p.peek().is("DISTINCT") {
		p.fail("DISTINCT")
	}
	for {
		name, plain, depth := "", true, 0
		for n := 0; ; n++ {
			t := p.peek()
			if t.kind == end || depth == 0 && (t.is(",") || t.is("FROM") || t.is(";")) {
				break
			}
			switch {
			case t.is("("):
				depth++
			case t.is(")"):
				depth--
			}
			switch {
			case n%2 == 0 && (t.kind == word || t.kind == quoted || t.is("*")) && (n == 0 || p.in[p.i-1].is(".")):
				name = t.s
			case t.is(".") && name != "":
			case t.is("AS") && name != "", n > 0 && p.in[p.i-1].is("AS"):
				n = 0 // whatever it is called
			default:
				plain = false
			}
			p.i++
		}
		if !plain {
			name = ""
		}
		p.s.outputs = append(p.s.outputs, name)
		if !p.take(",") {
			return
		}
	}
}

// conditions reads WHERE: comparisons that all must hold.
func (p *parser) conditions() {
	p.s.exact, p.s.ranged = false, true
	if !p.take("WHERE") {
		return
	}
	exact, others := 0, 0
	for {
		c := comparison{column: p.column()}
		switch t := p.next(); {
		case t.is("IN"):
			c.op = "in"
			p.need("(")
			c.with = p.exprs()
		case t.is("BETWEEN"):
			low := p.expr()
			p.need("AND")
			p.s.where = append(p.s.where, comparison{c.column, ">=", []expr{low}})
			c.op, c.with = "<=", []expr{p.expr()}
		case t.is("="), t.is("<"), t.is("<="), t.is(">"), t.is(">="):
			c.op, c.with = t.s, []expr{p.expr()}
		case t.is("<>"), t.is("!="):
			c.op, c.with = "!=", []expr{p.expr()}
		default:
			p.fail("condition %s on %s", t.s, c.column)
		}
		p.s.where = append(p.s.where, c)
		switch {
		case c.column == p.s.Table.Key && (c.op == "=" || c.op == "in"):
			exact++
			p.s.keys = c.with
		case c.column != p.s.Table.Key && c.column != p.s.Table.Version:
			others++
		}
		if !p.take("AND") {
			break
		}
	}
	if p.peek().is("OR") {
		p.fail("OR")
	}
	p.s.exact = exact == 1 && len(p.s.where) == 1
	p.s.ranged = others == 0
	if exact != 1 {
		p.s.keys = nil
	}
}

// tail reads what may follow a SELECT.
func (p *parser) tail() {
	if p.take("ORDER", "BY") {
		for p.i < len(p.in) && !p.peek().is("LIMIT") && !p.peek().is("FOR") && !p.peek().is("OFFSET") &&
			!p.peek().is("UNION") {
			p.i++
		}
	}
	if p.take("LIMIT") {
		if p.next(); len(p.s.keys) != 1 || p.s.where[0].op != "=" {
			p.s.ranged, p.s.exact = false, false // rows that are not returned may be there
		}
	}
	if p.take("FOR") || p.take("LOCK", "IN") {
		p.i = len(p.in)
	}
	if p.i < len(p.in) {
		p.fail("%q behind the conditions", p.peek().s)
	}
}

func (p *parser) returning() {
	if p.take("RETURNING") {
		p.s.outputs = nil
		p.outputs()
		for i, c := range p.s.outputs {
			p.s.outputs[i] = p.s.Table.column(token{word, c})
		}
	}
	if p.i < len(p.in) {
		p.fail("%q behind the statement", p.peek().s)
	}
}

// exprs reads a list up to its closing parenthesis.
func (p *parser) exprs() (all []expr) {
	for {
		all = append(all, p.expr())
		if !p.take(",") {
			break
		}
	}
	p.need(")")
	return all
}

// expr reads an argument or a literal.
func (p *parser) expr() expr {
	e, ok := p.simple()
	if !ok {
		p.fail("an expression at %q; only arguments and literals are understood", p.peek().s)
	}
	return e
}

// simple is expr that reads nothing else.
func (p *parser) simple() (expr, bool) {
	at, params := p.i, p.s.params
	e, ok := p.operand()
	for ok && p.take("::") { // a type
		p.next()
	}
	if n := p.peek(); ok && n.kind == punct && !n.is(",") && !n.is(")") && !n.is(";") {
		ok = false // it goes on
	}
	if !ok {
		p.i, p.s.params = at, params
	}
	return e, ok
}

func (p *parser) operand() (expr, bool) {
	t := p.next()
	switch {
	case t.kind == param && t.s == "?":
		p.s.params++
		return expr{arg: p.s.params}, true
	case t.kind == param:
		if n, err := strconv.Atoi(t.s[1:]); err == nil {
			return expr{arg: n}, true
		}
		return expr{name: t.s[1:]}, true
	case t.kind == text:
		return expr{lit: t.s}, true
	case t.kind == number:
		n, err := strconv.ParseInt(t.s, 10, 64)
		return expr{lit: n}, err == nil
	case t.is("-") && p.peek().kind == number:
		n, err := strconv.ParseInt("-"+p.next().s, 10, 64)
		return expr{lit: n}, err == nil
	}
	return expr{}, false
}
