package sqltext

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// node is a part of the parser's tree.
type node = map[string]any

// reader makes a statement from a tree.
type reader struct {
	sql  string
	s    *Stmt
	ctes map[string]bool
	// queries are the SELECTs of WITH by their names. inner is the only one from which rows come.
	queries map[string]node
	inner   node
	// joined says that columns without a table's name may belong to another table than the first.
	joined bool
}

func sub(n node, name string) node    { m, _ := n[name].(node); return m }
func text(n node, name string) string { s, _ := n[name].(string); return s }
func list(n node, name string) []any  { l, _ := n[name].([]any); return l }
func has(n node, name string) bool    { _, ok := n[name]; return ok }
func number(n node, name string) int  { f, _ := n[name].(float64); return int(f) }

// only returns the single entry of a wrapped node: its kind and its content.
func only(v any) (string, node) {
	n, _ := v.(node)
	for kind, in := range n {
		m, _ := in.(node)
		return kind, m
	}
	return "", nil
}

// each visits all nodes below one, with their names in the parents.
func each(name string, v any, visit func(name string, n node) bool) {
	switch v := v.(type) {
	case node:
		if !visit(name, v) {
			return
		}
		for k, in := range v {
			each(k, in, visit)
		}
	case []any:
		for _, in := range v {
			each(name, in, visit)
		}
	}
}

// statement reads what all kinds of statements have in common, and then what is particular to the kind.
func (r *reader) statement(kind string, n node) {
	s := r.s
	r.ctes, r.queries = map[string]bool{}, map[string]node{}
	changes := changesIn(node{kind: n})
	each(kind, n, func(name string, n node) bool {
		if c := text(n, "ctename"); c != "" {
			if r.queries[c] = sub(sub(n, "ctequery"), "SelectStmt"); r.ctes[c] || has(n, "aliascolnames") {
				delete(r.queries, c)
			}
			r.ctes[c] = true
		}
		switch name {
		case "FuncCall":
			s.Calls = append(s.Calls, last(list(n, "funcname")))
		case "ColumnRef": // a.f is f(a) if there is no such column, and so is (a).f
			if f := list(n, "fields"); len(f) > 1 {
				s.Calls = append(s.Calls, "."+last(f))
			}
		case "indirection":
			s.Calls = append(s.Calls, "."+last([]any{n}))
		}
		return true
	})
	each(kind, n, func(_ string, n node) bool {
		if rel := text(n, "relname"); rel != "" && (text(n, "schemaname") != "" || !r.ctes[rel]) {
			s.Mentions = append(s.Mentions, table(n))
		}
		return true
	})
	nested := changes && has(n, "withClause") && changesIn(n["withClause"])
	switch kind {
	case "SelectStmt":
		s.Kind, s.Writes = Select, changes
		r.selects(n)
	case "InsertStmt", "UpdateStmt", "DeleteStmt":
		s.Kind, s.Writes = map[string]Kind{"InsertStmt": Insert, "UpdateStmt": Update, "DeleteStmt": Delete}[kind], true
		s.Target = table(sub(n, "relation"))
		r.returning(n)
		switch s.Kind {
		case Insert:
			r.insert(n)
		case Update:
			r.sets(n)
			r.joined = has(n, "fromClause")
		default:
			r.joined = has(n, "usingClause")
		}
		s.Cut = s.Cut || r.joined
		r.where(n)
	case "TransactionStmt":
		r.transaction(n)
	case "VariableSetStmt":
		switch text(n, "name") { // "": RESET ALL
		case "", "search_path", "role", "session_authorization", "row_security", "standard_conforming_strings",
			"default_transaction_isolation", "SESSION CHARACTERISTICS":
			s.Kind = Set
		case "TRANSACTION":
			r.level(list(n, "args"))
		}
	case "DiscardStmt":
		s.Kind = Set
	case "ExplainStmt":
		s.Writes, s.Why = changes && strings.Contains(fmt.Sprint(n["options"]), "analyze"), "EXPLAIN"
	case "CopyStmt":
		s.Writes, s.Why = changes || n["is_from"] == true, "COPY"
	case "MergeStmt", "TruncateStmt", "CallStmt", "DoStmt", "ExecuteStmt", "PrepareStmt", "FetchStmt",
		"DeclareCursorStmt", "RefreshMatViewStmt":
		s.Name = text(n, "name") + text(n, "portalname")
		s.Writes = kind != "FetchStmt" && (kind != "DeclareCursorStmt" || changes)
		s.Why = strings.ToUpper(strings.TrimSuffix(strings.TrimSuffix(kind, "Stmt"), "Cursor"))
		s.Cascade = text(n, "behavior") == "DROP_CASCADE"
	case "VariableShowStmt", "NotifyStmt", "ListenStmt", "UnlistenStmt", "ClosePortalStmt", "DeallocateStmt",
		"CheckPointStmt", "VacuumStmt", "ConstraintsSetStmt", "LockStmt":
		s.Mentions = nil
	default:
		s.Kind, s.Writes = Schema, true
	}
	if nested && s.Why == "" {
		s.Why = "WITH that writes"
	}
}

func changesIn(v any) (yes bool) {
	each("", v, func(name string, _ node) bool {
		switch name {
		case "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt":
			yes = true
		}
		return true
	})
	return yes
}

// table reads a RangeVar.
func table(n node) Table {
	t := Table{Schema: text(n, "schemaname"), Name: text(n, "relname")}
	if t.Ref = text(sub(n, "alias"), "aliasname"); t.Ref == "" {
		t.Ref = t.Name
	}
	return t
}

// last returns the last part of a dotted name.
func last(names []any) string {
	if len(names) == 0 {
		return ""
	}
	_, s := only(names[len(names)-1])
	return text(s, "sval")
}

// level reads the isolation level among a transaction's modes.
func (r *reader) level(modes []any) {
	for _, m := range modes {
		if _, d := only(m); text(d, "defname") == "transaction_isolation" {
			_, c := only(sub(d, "arg"))
			r.s.Level = strings.ReplaceAll(text(sub(c, "sval"), "sval"), " ", "-")
		}
	}
}

// TwoPhase is the reason why PREPARE TRANSACTION, and what follows it, is not understood.
const TwoPhase = "two-phase commit"

func (r *reader) transaction(n node) {
	s := r.s
	s.Chain, s.Name = n["chain"] == true, text(n, "savepoint_name")
	switch kind := strings.TrimPrefix(text(n, "kind"), "TRANS_STMT_"); kind {
	case "BEGIN", "START":
		s.Kind = Begin
		r.level(list(n, "options"))
	case "COMMIT":
		s.Kind = Commit
	case "ROLLBACK":
		s.Kind = Rollback
	case "SAVEPOINT":
		s.Kind = Savepoint
	case "ROLLBACK_TO":
		s.Kind = RollbackTo
	case "RELEASE":
		s.Kind = Release
	default: // PREPARE TRANSACTION and what follows it
		s.Writes, s.Why = true, TwoPhase
	}
}

func (r *reader) selects(n node) {
	s := r.s
	why := func(yes bool, format string, args ...any) {
		if yes && s.Why == "" {
			s.Why = fmt.Sprintf(format, args...)
		}
	}
	why(s.Writes, "WITH that writes")
	why(text(n, "op") != "SETOP_NONE" && text(n, "op") != "", "UNION, INTERSECT or EXCEPT")
	why(has(n, "valuesLists"), "VALUES")
	why(has(n, "distinctClause"), "DISTINCT")
	why(has(n, "intoClause"), "SELECT INTO")
	why(has(n, "groupClause") || has(n, "havingClause"), "GROUP BY")
	if has(n, "intoClause") {
		s.Kind, s.Writes = Schema, true
	}
	targets := list(n, "targetList")
	why(len(targets) == 0, "no column is returned")
	for _, from := range list(n, "fromClause") {
		r.from(from)
	}
	if len(list(n, "fromClause")) != 1 || len(s.Rows) != 1 {
		r.joined = true
	}
	s.Cut = s.Cut || r.joined
	seen := map[string]bool{}
	for _, t := range s.Rows {
		why(seen[t.Ref], "two tables with one name")
		seen[t.Ref] = true
	}
	if len(targets) > 0 {
		_, first := only(targets[0])
		s.At = number(first, "location")
		why(s.At < 0, "TABLE: write SELECT * FROM")
	}
	r.outputs(targets)
	if r.inner != nil && len(list(n, "fromClause")) == 1 && len(s.Rows) == 0 {
		r.through()
	}
	var refs []string
	each("", n["fromClause"], func(_ string, n node) bool {
		refs = append(refs, table(n).Ref)
		return true
	})
	into := &s.Outer
	var look func(name string, n node) bool
	look = func(name string, n node) bool {
		switch {
		case name == "SelectStmt" && into == &s.Outer:
			into = &s.Nested
			each("", n, look)
			into = &s.Outer
			return false
		case into == &s.Nested && (name == "FuncCall" || strings.HasSuffix(name, "Agg")) && within(n, refs):
		case name == "FuncCall" && !has(n, "over"):
			*into = append(*into, last(list(n, "funcname")))
			why(n["agg_star"] == true || has(n, "agg_order") || has(n, "agg_filter") || n["agg_distinct"] == true ||
				n["agg_within_group"] == true, "an aggregate")
		case strings.HasSuffix(name, "Agg"), name == "GroupingFunc":
			why(true, "an aggregate")
		}
		return true
	}
	for _, clause := range []string{"targetList", "sortClause", "limitCount", "windowClause"} {
		each(clause, n[clause], look)
	}
	star := slices.ContainsFunc(s.Outputs, func(o Output) bool { return o.Star })
	for _, by := range list(n, "sortClause") {
		_, b := only(by)
		if kind, c := only(b["node"]); kind == "A_Const" && has(c, "ival") {
			at, i := number(c, "location"), number(sub(c, "ival"), "ival")
			digits := strconv.Itoa(i)
			why(i < 1 || i > len(s.Outputs) && !star || !strings.HasPrefix(r.sql[at:], digits),
				"ORDER BY a number that is no column's")
			s.Ordinals = append(s.Ordinals, Ordinal{at, at + len(digits), i})
		}
	}
	r.limits(n)
	r.where(n)
}

// within reports whether an aggregate in a sub-select surely is the sub-select's: it has no column, or one of a table
// that the statement around does not have.
func within(call node, around []string) bool {
	columns, own := 0, false
	each("", call, func(name string, n node) bool {
		if f := list(n, "fields"); name == "ColumnRef" || name == "SelectStmt" {
			columns++
			own = own || len(f) > 1 && !slices.Contains(around, last(f[:len(f)-1]))
		}
		return name != "SelectStmt" // whose columns may be anybody's
	})
	return own || columns == 0
}
