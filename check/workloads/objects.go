package workloads

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"isovet/check/linear"
	"isovet/evidence"
	"isovet/history/operations"
	"isovet/internal/slice"
)

// objectFs are the functions of each object that must be linearizable.
var objectFs = map[string][]string{
	"register": {"read", "write"}, "cas-register": {"read", "write", "cas"}, "multi-register": {"txn"},
	"queue": {"enqueue", "dequeue"}, "unordered-queue": {"enqueue", "dequeue"}, "stack": {"push", "pop"},
	"linear-set": {"add", "remove", "contains", "read"}, "linear-counter": {"add", "read"},
	"mutex": {"acquire", "release"}, "semaphore": {"acquire", "release"}, "kv": {"get", "put", "append"},
	"log": {"append", "read", "get"},
}

var objectSettings = map[string][]string{"semaphore": {"permits"}, "register": {"initial"}, "cas-register": {"initial"}}

// linearizable returns a checker of histories of an object.
func linearizable(o linear.Object) func(context.Context, *judge) error {
	return func(ctx context.Context, j *judge) error {
		o := o
		if n, is := j.o.Settings["permits"]; is {
			permits, _ := strconv.Atoi(n) // parsed before
			o = linear.SemaphoreOf(permits)
		}
		initial, given := j.initial()
		if given {
			o = linear.RegisterOf(o.Name, initial)
		}
		if o.Name == "linear-counter" && j.tooLarge() {
			return nil
		}
		ops, at, skipped, err := j.linearOps(o.Name)
		if err != nil {
			return err
		}
		if skipped > 0 {
			j.stat("not-judged", skipped)
		}
		v, one := "", false
		if j.h.Go && !given && (o.Name == "register" || o.Name == "cas-register") {
			v, one = unwritten(ops)
		}
		if one {
			a, err := linear.RegisterOf(o.Name, v).Check(ctx, ops, j.o.Limits)
			if err == nil && a.Verdict == evidence.Holds {
				j.unknown("reads return %s, which no operation writes; if it is the first value, name it: --workload "+
					"%s:initial=%s", v, o.Name, v)
			}
			if err != nil || a.Verdict == evidence.Holds {
				return err
			}
		}
		return j.linear(ctx, o, ops, at, func(op *linear.Op) string {
			output := op.Output
			if op.Maybe {
				output = linear.Unknown
			}
			return linear.Describe(op.Input, output)
		})
	}
}

// initial returns the value with which a register begins, as the model has it.
func (j *judge) initial() (text string, given bool) {
	s, given := j.o.Settings["initial"]
	v, err := operations.Cell(s)
	switch {
	case err != nil:
		return s, given
	case v == nil:
		return "", given
	}
	return operations.Text(v), given
}

// unwritten returns the only value that is read but not written; one is false if there is none, or several.
func unwritten(ops []linear.Op) (value string, one bool) {
	written, read := map[string]bool{"": true}, map[string]bool{}
	for i := range ops {
		if a := ops[i].Input.(linear.Action); a.F != "read" {
			written[a.Value] = true
		} else if v, is := ops[i].Output.(string); is {
			read[v] = true
		}
	}
	for v := range read {
		if !written[v] {
			if one {
				return "", false
			}
			value, one = v, true
		}
	}
	return value, one
}

// linear asks an object's checker about operations and reports its answer. at has the index in the history of each
// operation, text describes one.
func (j *judge) linear(ctx context.Context, o linear.Object, ops []linear.Op, at []int,
	text func(op *linear.Op) string) error {
	a, err := o.Check(ctx, ops, j.o.Limits)
	if err != nil {
		return err
	}
	j.stat("operation-count", len(ops))
	switch a.Verdict {
	case evidence.Unknown:
		j.unknown("%s", a.Reason)
	case evidence.Holds:
		j.a.Order = append(j.a.Order, slice.Pick(at, a.Order)...)
	default:
		j.refuted(&a, ops, at, text)
	}
	return nil
}

func (j *judge) refuted(a *linear.Answer, ops []linear.Op, at []int, text func(op *linear.Op) string) {
	why := "no order explains these operations"
	switch {
	case a.Why == "window":
		why = "these operations hold more permits than there are, whatever the others did in that time"
	case a.Others:
		why += ", even if every other operation took effect at any time while under way, or never"
	case a.Why != "":
		why += " (" + a.Why + ")"
	}
	j.shows("non-linearizable", why+j.given, slice.Pick(ops, a.Core), slice.Pick(at, a.Core), text)
}

// shows reports a violation, with the operations involved in words; at has their indexes in the history.
func (j *judge) shows(kind, why string, ops []linear.Op, at []int, text func(op *linear.Op) string) {
	const most = 20
	var say []string
	for n, i := range at {
		if n == most {
			say = append(say, fmt.Sprintf("and %d more", len(at)-n))
			break
		}
		op := &j.h.Ops[i]
		file := ""
		if op.File != "" {
			file = op.File + ", "
		}
		say = append(say, fmt.Sprintf("%sline %d: process %d: %s", file, op.Line, op.Process, text(&ops[n])))
	}
	j.found(kind, at, "%s:\n  %s", why, strings.Join(say, "\n  "))
}

// linearOps returns the operations that an object's model judges, with their indexes in the history; skipped counts the
// others that took effect: reads of nil, which say nothing.
func (j *judge) linearOps(object string) (ops []linear.Op, at []int, skipped int, err error) {
	for i := range j.h.Ops {
		j.holdsEmpty = j.holdsEmpty || j.h.Ops[i].In == "empty"
	}
	for i, op := range j.each("", operations.OK, operations.Unknown) {
		x := linear.Op{Client: op.Process, Call: op.Call, Return: op.Return, Maybe: op.Status == operations.Unknown}
		skip, err := j.action(object, op, &x)
		if err != nil {
			return nil, nil, 0, err
		}
		switch {
		case !skip:
			ops, at = append(ops, x), append(at, i)
		case op.Status == operations.OK:
			skipped++
		}
	}
	return ops, at, skipped, nil
}

// action translates an operation for the model; skip: it says nothing.
func (j *judge) action(object string, op *operations.Op, x *linear.Op) (skip bool, err error) {
	text := operations.Text
	if object == "register" || object == "cas-register" { // nil is what Knossos' registers begin with
		text = func(v any) string {
			if v == nil {
				return ""
			}
			return operations.Text(v)
		}
	}
	a := linear.Action{F: op.F, Value: text(op.In)}
	if k := op.Extra.Get("key"); k != nil {
		a.Key = operations.Text(k)
	}
	ok := op.Status == operations.OK
	observer := op.F == "read" || op.F == "get" || op.F == "contains"
	if observer && !ok {
		return true, nil
	}
	switch {
	case object == "multi-register":
		return j.accesses(op, x)
	case op.F == "cas":
		pair, is := operations.Items(op.In)
		if !is || len(pair) != 2 {
			return false, j.bad(op, "value", op.In, "the old and the new value of a cas, as in [1 2]")
		}
		if a.Old, a.Value = text(pair[0]), text(pair[1]); op.Out == false {
			x.Output = false
		}
	case op.F == "dequeue" || op.F == "pop":
		a.Value = ""
		if x.Output = linear.Empty; op.Out != nil && (op.Out != "empty" || j.holdsEmpty) {
			x.Output = operations.Text(op.Out)
		}
	case object == "linear-counter":
		skip, err = j.counted(op, &a, x)
	case op.F == "acquire" || op.F == "release":
		if n, is := op.In.(int64); is && n != 1 && object == "semaphore" {
			return false, j.bad(op, "value", n, "none: an operation acquires or releases one permit")
		}
		a.Value = ""
	case op.F == "read" && (object == "linear-set" || object == "log"):
		a.Value = ""
		err = j.allValues(op, x, object == "linear-set")
	case op.F == "contains" || op.F == "add" || op.F == "remove":
		if b, is := op.Out.(bool); is {
			x.Output = b
		} else if op.F == "contains" {
			return false, j.bad(op, "value", op.Out, "true or false")
		}
	case object == "log" && op.F == "append":
		if n, is := op.Out.(int64); is && j.h.Times { // Jepsen's completion repeats the value
			x.Output = n
		}
	case object == "log":
		err = j.logGet(op, &a, x)
	case object == "kv":
		err = j.keyValue(op, &a, x)
	case op.F == "read":
		if a.Value = ""; op.Out == nil && !j.h.Go { // as Knossos does
			return true, nil
		}
		if x.Output, _ = j.initial(); op.Out != nil {
			x.Output = operations.Text(op.Out)
		}
	}
	x.Input = a
	return skip, err
}

// counted translates an operation on a counter; skip: it is a read that says nothing.
func (j *judge) counted(op *operations.Op, a *linear.Action, x *linear.Op) (skip bool, err error) {
	n, is := op.In.(int64)
	if a.Value = ""; op.F == "add" && !is {
		return false, j.bad(op, "value", op.In, "an integer to add")
	}
	a.N = n
	if op.F != "read" {
		return false, nil
	}
	if op.Out == nil {
		return true, nil
	}
	if x.Output, is = op.Out.(int64); !is {
		return false, j.bad(op, "value", op.Out, "an integer, the counter's value")
	}
	return false, nil
}

// allValues translates a read of a whole set or log.
func (j *judge) allValues(op *operations.Op, x *linear.Op, set bool) error {
	items, is := operations.Items(op.Out)
	if !is && op.Out != nil {
		return j.bad(op, "value", op.Out, "a collection of all values")
	}
	list := linear.List(slice.Map(items, operations.Text))
	if set {
		slices.Sort(list)
		list = slices.Compact(list)
	}
	x.Output = list
	return nil
}

// logGet translates a read of one index of a log.
func (j *judge) logGet(op *operations.Op, a *linear.Action, x *linear.Op) error {
	n, is := op.In.(int64)
	if !is {
		return j.bad(op, "value", op.In, "an integer, an offset in the log")
	}
	a.Value, a.N = "", n
	if x.Output = linear.Empty; op.Out != nil {
		x.Output = operations.Text(op.Out)
	}
	return nil
}

// keyValue translates an operation on a key-value store of texts.
func (j *judge) keyValue(op *operations.Op, a *linear.Action, x *linear.Op) error {
	v := op.In
	if op.F == "get" {
		v = op.Out
	}
	s := ""
	switch v := v.(type) {
	case nil:
	case string:
		s = v
	case int64:
		s = strconv.FormatInt(v, 10)
	default:
		return j.bad(op, "value", v, "a text")
	}
	if a.Value = s; op.F == "get" {
		a.Value, x.Output = "", s
	}
	return nil
}

// accesses translates an operation on several registers, [[:read k v] [:write k v]].
func (j *judge) accesses(op *operations.Op, x *linear.Op) (skip bool, err error) {
	asked, ok := operations.Items(op.In)
	got, _ := operations.Items(op.Out)
	a := linear.Action{F: op.F}
	var seen []any
	for i, v := range asked {
		m, is := operations.Items(v)
		f := ""
		if is && len(m) == 3 {
			f, _ = m[0].(string)
		}
		switch f {
		case "write", "w":
			a.Txn = append(a.Txn, linear.Access{Write: true, Key: operations.Text(m[1]), Value: operations.Text(m[2])})
		case "read", "r":
			a.Txn = append(a.Txn, linear.Access{Key: operations.Text(m[1])})
			out := linear.Unknown
			if i < len(got) {
				if r, is := operations.Items(got[i]); is && len(r) == 3 && r[2] != nil {
					out = operations.Text(r[2])
				}
			}
			seen = append(seen, out)
		default:
			ok = false
		}
	}
	if !ok {
		return false, j.bad(op, "value", op.In, "reads and writes, as in [[:read x nil] [:write y 1]]")
	}
	x.Input, x.Output = a, seen
	return false, nil
}
