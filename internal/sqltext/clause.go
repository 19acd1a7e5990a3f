package sqltext

import (
	"slices"
	"strings"

	"isovet/internal/slice"
)

// from reads the FROM clause: the base tables.
func (r *reader) from(v any) {
	s := r.s
	switch kind, n := only(v); kind {
	case "RangeVar":
		if t := table(n); t.Schema != "" || !r.ctes[t.Name] {
			s.Rows = append(s.Rows, t)
		} else {
			r.joined = true
			r.inner = r.queries[t.Name]
			delete(r.queries, t.Name) // it may name itself
		}
		if has(sub(n, "alias"), "colnames") && s.Why == "" {
			s.Why = "columns with other names"
		}
	case "JoinExpr":
		if has(n, "alias") && s.Why == "" {
			s.Why = "a join with an alias"
		}
		r.from(n["larg"])
		r.from(n["rarg"])
		r.joined, r.inner = true, nil
		s.Merged = s.Merged || text(n, "jointype") != "JOIN_INNER" && (has(n, "usingClause") || has(n, "isNatural"))
	case "RangeSubselect":
		r.joined = true
		if r.inner = sub(sub(n, "subquery"), "SelectStmt"); has(sub(n, "alias"), "colnames") {
			r.inner = nil
		}
	case "RangeTableSample":
		r.from(n["relation"])
		s.Cut = true
	default:
		r.joined = true
	}
}

// limits reads clauses that leave out rows.
func (r *reader) limits(n node) {
	s := r.s
	s.Cut = s.Cut || has(n, "limitOffset") || has(n, "groupClause") || has(n, "havingClause")
	for _, d := range list(n, "distinctClause") {
		kind, _ := only(d)
		s.Cut = s.Cut || kind != "" // ON
	}
	if has(n, "limitCount") {
		o := operand(n["limitCount"])
		m, ok := o.Lit.(int64)
		s.Cut = s.Cut || !ok || m < 1 || !r.unique(n)
		s.Limited = true
	}
	for _, l := range list(n, "lockingClause") {
		s.Locks = true
		_, c := only(l)
		s.Cut = s.Cut || text(c, "waitPolicy") == "LockWaitSkip"
		for _, v := range list(c, "lockedRels") {
			_, rel := only(v)
			s.Of = append(s.Of, text(rel, "relname"))
		}
	}
}

// unique reports whether the condition is a single equality. If its column is the key, which the caller knows, a limit
// of one row leaves out nothing.
func (r *reader) unique(n node) bool {
	kind, e := only(n["whereClause"])
	return kind == "A_Expr" && text(e, "kind") == "AEXPR_OP" && last(list(e, "name")) == "="
}

// through reads the one sub-select from which the rows come.
func (r *reader) through() {
	inner := &Stmt{Kind: Select, At: -1}
	in := reader{sql: r.sql, s: inner, ctes: r.ctes, queries: r.queries}
	in.selects(r.inner)
	if inner.Inner != nil {
		inner = inner.Inner
	}
	var outputs []Output
	for _, o := range r.s.Outputs {
		i := slices.IndexFunc(inner.Outputs, func(in Output) bool {
			return in.Star || o.Column != "" && in.As == o.Column
		})
		switch {
		case o.Star:
			outputs = append(outputs, inner.Outputs...)
			continue
		case i >= 0 && !inner.Outputs[i].Star:
			o.Column, o.Ref = inner.Outputs[i].Column, inner.Outputs[i].Ref
		case i >= 0:
			o.Ref = inner.Outputs[i].Ref
		default:
			o.Column = ""
		}
		outputs = append(outputs, o)
	}
	inner.Outputs, inner.Cut, inner.Mentions = outputs, true, r.s.Mentions
	r.s.Inner = inner
}

// outputs reads the list of output columns.
func (r *reader) outputs(targets []any) {
	for _, v := range targets {
		_, target := only(v)
		o := Output{}
		if kind, c := only(target["val"]); kind == "ColumnRef" {
			fields := list(c, "fields")
			if k, _ := only(fields[len(fields)-1]); k == "A_Star" {
				o.Star = true
			} else {
				o.Column = last(fields)
			}
			o.Ref = last(fields[:len(fields)-1])
		}
		if o.As = text(target, "name"); o.As == "" {
			o.As = o.Column
		}
		r.s.Outputs = append(r.s.Outputs, o)
	}
}

// returning finds the position where RETURNING can be continued.
func (r *reader) returning(n node) {
	targets := list(n, "returningList")
	if len(targets) > 0 {
		_, first := only(targets[0])
		r.s.At = number(first, "location")
	}
	r.outputs(targets)
}

func (r *reader) insert(n node) {
	s := r.s
	for _, c := range list(n, "cols") {
		_, t := only(c)
		s.Columns = append(s.Columns, text(t, "name"))
	}
	_, source := only(n["selectStmt"])
	if text(n, "override") == "OVERRIDING_USER_VALUE" {
		source = nil
	}
	for _, row := range list(source, "valuesLists") {
		_, l := only(row)
		s.Values = append(s.Values, slice.Map(list(l, "items"), operand))
	}
	conflict := sub(n, "onConflictClause")
	s.OnlyNew = text(conflict, "action") == "ONCONFLICT_NOTHING"
	s.Upsert = text(conflict, "action") == "ONCONFLICT_UPDATE"
	for _, v := range list(sub(conflict, "infer"), "indexElems") {
		_, e := only(v)
		s.Arbiters = append(s.Arbiters, text(e, "name"))
	}
	for _, v := range list(conflict, "targetList") {
		_, t := only(v)
		name := r.assigned(t)
		kind, c := only(t["val"])
		f, at, value := list(c, "fields"), slices.Index(s.Columns, name), operand(t["val"])
		other := func(row []Operand) bool { return at >= len(row) || row[at] != value }
		if slices.Contains(s.Sets, name) { // the last one stays
			s.Overwrite = slices.DeleteFunc(s.Overwrite, func(o string) bool { return o == name })
		} else if kind == "ColumnRef" && len(f) == 2 && last(f[:1]) == "excluded" && last(f) == name ||
			value.Known && at >= 0 && len(s.Values) > 0 && !slices.ContainsFunc(s.Values, other) {
			s.Overwrite = append(s.Overwrite, name)
			if slices.Contains(s.Arbiters, name) {
				continue // it has that value
			}
		}
		s.Sets = append(s.Sets, name)
	}
	s.Cut = s.Cut || has(conflict, "whereClause")
}

// assigned returns the column of an assignment. MySQL may name its table too.
func (r *reader) assigned(t node) string {
	if column := last(list(t, "indirection")); column != "" && text(t, "name") == r.s.Target.Ref {
		return column
	}
	return text(t, "name")
}

// sets reads the assignments of UPDATE.
func (r *reader) sets(n node) {
	for _, v := range list(n, "targetList") {
		_, t := only(v)
		name := r.assigned(t)
		if i := slices.Index(r.s.Sets, name); i >= 0 { // the last one stays
			r.s.Assigned[i] = Operand{}
		}
		r.s.Sets = append(r.s.Sets, name)
		r.s.Assigned = append(r.s.Assigned, operand(t["val"]))
	}
}

func (r *reader) where(n node) {
	r.s.Plain = true
	if has(n, "whereClause") {
		r.condition(n["whereClause"])
	}
}

var compare = map[string]string{"=": "=", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<>": "!="}

func (r *reader) condition(v any) {
	s := r.s
	kind, n := only(v)
	switch {
	case kind == "BoolExpr" && text(n, "boolop") == "AND_EXPR":
		for _, a := range list(n, "args") {
			r.condition(a)
		}
		return
	case kind == "A_Expr":
		op := last(list(n, "name"))
		left, right := n["lexpr"], n["rexpr"]
		column, ok := r.column(left)
		if !ok && op == "=" {
			left, right = right, left
			column, ok = r.column(left)
		}
		with := []Operand{}
		if _, l := only(right); has(l, "items") {
			with = append(with, slice.Map(list(l, "items"), operand)...)
		} else {
			with = append(with, operand(right))
		}
		for _, w := range with {
			ok = ok && w.Known
		}
		switch k := text(n, "kind"); {
		case !ok:
		case k == "AEXPR_OP" && compare[op] != "" && len(with) == 1:
			s.Where = append(s.Where, Condition{column, compare[op], with})
			return
		case k == "AEXPR_IN" && op == "=":
			s.Where = append(s.Where, Condition{column, "in", with})
			return
		case k == "AEXPR_BETWEEN" && len(with) == 2:
			s.Where = append(s.Where, Condition{column, ">=", with[:1]}, Condition{column, "<=", with[1:]})
			return
		}
	}
	s.Plain = false
}

// column returns the name of a column of the one table.
func (r *reader) column(v any) (string, bool) {
	kind, c := only(v)
	f := list(c, "fields")
	if kind != "ColumnRef" || len(f) == 0 || len(f) > 2 {
		return "", false
	}
	ref := r.s.Target.Ref
	if r.s.Kind == Select {
		if len(r.s.Rows) != 1 {
			return "", false
		}
		ref = r.s.Rows[0].Ref
	}
	// Without its table's name, a column that a changed table has is that table's, or the statement is refused.
	return last(f), len(f) == 1 && (!r.joined || r.s.Kind != Select) || len(f) == 2 && last(f[:1]) == ref
}

// operand reads an argument or a literal, or a cast of one to a type that keeps the value.
func operand(v any) Operand {
	kind, n := only(v)
	switch kind {
	case "ParamRef":
		return Operand{Param: number(n, "number"), Known: true}
	case "TypeCast": // of a cast, the outer one may change the text
		arg, _ := only(n["arg"])
		o := operand(n["arg"])
		_, kept := o.Lit.(int64)
		switch last(list(sub(n, "typeName"), "names")) {
		case "text", "varchar", "uuid":
			_, texts := o.Lit.(string)
			kept = kept || texts
			fallthrough
		case "int2", "int4", "int8":
			if arg != "TypeCast" && (kept || o.Param > 0) && !has(sub(n, "typeName"), "typmods") &&
				!has(sub(n, "typeName"), "arrayBounds") {
				return o
			}
		}
	case "A_Expr":
		if o := operand(n["rexpr"]); text(n, "kind") == "AEXPR_OP" && last(list(n, "name")) == "-" && !has(n, "lexpr") {
			if i, ok := o.Lit.(int64); ok {
				return Operand{Lit: -i, Known: true}
			}
		}
	case "A_Const":
		switch {
		case has(n, "ival"):
			return Operand{Lit: int64(number(sub(n, "ival"), "ival")), Known: true}
		case has(n, "sval"):
			return Operand{Lit: text(sub(n, "sval"), "sval"), Known: true}
		case has(n, "boolval"):
			return Operand{Lit: sub(n, "boolval")["boolval"] == true, Known: true}
		case has(n, "fval"):
			return Operand{Lit: Decimal(strings.TrimLeft(text(sub(n, "fval"), "fval"), "+")), Known: true}
		}
	}
	return Operand{}
}
