package workloads

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"reflect"
	"slices"
	"strings"

	"isovet/history/operations"
)

// The reports of etcd's robustness tests, with the names that their Go types have there.
type (
	etcdRange struct {
		Start, End      string
		Limit, Revision int64
		KeysOnly        bool
	}
	etcdValue struct {
		Value string
		Hash  int64
	}
	etcdOperation struct {
		Type  string
		Range etcdRange
		Put   struct {
			Key     string
			Value   etcdValue
			LeaseID int64
		}
		Delete struct{ Key string }
	}
	etcdTxn struct {
		Conditions []struct {
			Key                               string
			ExpectedRevision, ExpectedVersion int64
		}
		OperationsOnSuccess, OperationsOnFailure []etcdOperation
	}
	etcdLease   struct{ LeaseID int64 }
	etcdRequest struct {
		Type                    string
		Range                   *etcdRange
		Txn                     *etcdTxn
		LeaseGrant, LeaseRevoke *etcdLease
		Defragment              *struct{}
		Compact                 *struct{ Revision int64 }
		Watch                   *etcdWatch
	}
	etcdWatch struct {
		Key                                        string
		Revision                                   int64
		WithPrefix, WithProgressNotify, WithPrevKV bool
	}
	// etcdResponse is a response to a watch.
	etcdResponse struct {
		Events           []etcdEvent
		IsProgressNotify bool
		Revision, Time   int64
		Error            any // not looked at
	}
	etcdEvent struct {
		Type, Key string
		Value     etcdValue
		Revision  int64
		IsCreate  bool
		PrevValue *etcdKV
	}
	etcdKV struct {
		Key                  string
		Value                etcdValue
		ModRevision, Version int64
	}
	// etcdResult is the answer to a range or to an operation in a transaction.
	etcdResult struct {
		KVs            []etcdKV
		Count, Deleted int64
	}
	etcdAnswer struct {
		Revision                int64
		ClientError             string
		Range                   *etcdResult
		Txn                     *etcdResults
		LeaseGrant, LeaseRevoke *etcdLease
		Defragment, Compact     *struct{}
		Error, MemberID         any // not looked at
	}
	etcdResults struct {
		Failure bool
		Results []etcdResult
	}
)

// text returns a value as the reports show it: long ones by their hash.
func (v *etcdValue) text() string {
	const long = 20
	if len(v.Value) >= long {
		h := fnv.New32a()
		h.Write([]byte(v.Value))
		return fmt.Sprintf("#%d", h.Sum32())
	}
	if v.Hash != 0 {
		return fmt.Sprintf("#%d", v.Hash)
	}
	return v.Value
}

// GoString returns the same text for requests that ask for the same.
func (q *etcdRequest) GoString() string {
	text, err := json.Marshal(q)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// describeEtcd returns a request and its answer in words.
func describeEtcd(input, output any) string {
	q := input.(*etcdRequest)
	span := func(r *etcdRange) string {
		text := "range " + r.Start
		if r.End != "" {
			text += fmt.Sprintf(" to %q", r.End)
		}
		return text
	}
	say := q.Type
	switch {
	case q.Range != nil:
		if say = span(q.Range); q.Range.Revision != 0 {
			say += fmt.Sprintf(" at revision %d", q.Range.Revision)
		}
	case q.Txn != nil:
		var words []string
		for _, c := range q.Txn.Conditions {
			words = append(words, fmt.Sprintf("if %s is of revision %d, version %d", c.Key, c.ExpectedRevision,
				c.ExpectedVersion))
		}
		for i, list := range [][]etcdOperation{q.Txn.OperationsOnSuccess, q.Txn.OperationsOnFailure} {
			for _, op := range list {
				text := map[string]string{"range-operation": span(&op.Range), "delete-operation": "delete " +
					op.Delete.Key, "put-operation": "put " + op.Put.Key + " " + op.Put.Value.text()}[op.Type]
				words = append(words, []string{"", "else "}[i]+text)
			}
		}
		say = strings.Join(words, ", ")
	case q.Watch != nil:
		say += fmt.Sprintf(" %q from revision %d", q.Watch.Key, q.Watch.Revision)
	case q.Compact != nil:
		say += fmt.Sprint(" ", q.Compact.Revision)
	case q.LeaseGrant != nil:
		say += fmt.Sprint(" ", q.LeaseGrant.LeaseID)
	case q.LeaseRevoke != nil:
		say += fmt.Sprint(" ", q.LeaseRevoke.LeaseID)
	}
	a, known := output.(*etcdAnswer)
	if !known {
		return say + " → ?"
	}
	say += fmt.Sprintf(" → revision %d", a.Revision)
	results := []etcdResult{}
	switch {
	case a.Range != nil:
		results = append(results, *a.Range)
	case a.Txn != nil:
		if results = a.Txn.Results; a.Txn.Failure {
			say += ", failed"
		}
	}
	for _, r := range results {
		for _, kv := range r.KVs {
			say += fmt.Sprintf(", %s %s of revision %d", kv.Key, kv.Value.text(), kv.ModRevision)
		}
	}
	return say + strings.Repeat(" "+a.ClientError, min(len(a.ClientError), 1))
}

// sound returns an error if a request or answer lacks a field of its type or has one of another type.
func (j *judge) sound(op *operations.Op, q *etcdRequest, a *etcdAnswer, unknown bool) error {
	name := strings.ToUpper(op.F[:1]) + op.F[1:]
	if reflect.ValueOf(*q).FieldByName(name).IsNil() {
		return j.bad(op, "Input."+name, nil, "an object")
	}
	for _, side := range []struct {
		name string
		of   reflect.Value
		has  any
	}{{"Input.", reflect.ValueOf(*q), op.In}, {"Output.", reflect.ValueOf(*a), op.Out}} {
		for _, f := range reflect.VisibleFields(side.of.Type()) {
			if v := side.of.FieldByIndex(f.Index); v.Kind() == reflect.Pointer && f.Name != name && !v.IsNil() {
				has, _ := side.has.(operations.Map)
				return j.bad(op, side.name+f.Name, has.Get(f.Name), "nothing, as the type is "+op.F)
			}
		}
	}
	if q.Txn != nil {
		for _, x := range slices.Concat(q.Txn.OperationsOnSuccess, q.Txn.OperationsOnFailure) {
			if !slices.Contains(fs("range-operation", "put-operation", "delete-operation"), x.Type) {
				return j.bad(op, "Input.Txn: Type", x.Type, "range-operation, put-operation or delete-operation")
			}
			if x.Range.Revision != 0 {
				return j.bad(op, "Input.Txn: Revision", x.Range.Revision, "none in a transaction")
			}
		}
	}
	if !unknown && a.ClientError == "" && reflect.ValueOf(*a).FieldByName(name).IsNil() {
		return j.bad(op, "Output."+name, nil, "an object, or an error")
	}
	return nil
}

// fill converts a parsed value into etcd's Go types. Unknown members must be empty.
func (j *judge) fill(op *operations.Op, to reflect.Value, v any, field string) error {
	switch to.Kind() {
	case reflect.Interface:
		return nil
	case reflect.Pointer:
		if v == nil {
			return nil
		}
		to.Set(reflect.New(to.Type().Elem()))
		return j.fill(op, to.Elem(), v, field)
	case reflect.Struct:
		m, is := v.(operations.Map)
		if !is {
			return j.bad(op, field, v, "an object")
		}
		for _, p := range m {
			name, _ := p.Key.(string)
			goName := strings.ReplaceAll(name, "-", "")
			f := to.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, goName) })
			if f.IsValid() {
				if err := j.fill(op, f, p.Value, field+"."+name); err != nil {
					return err
				}
			} else if !slices.Contains(fs("nil", `""`, "0", "false", "[]", "{}"), operations.Text(p.Value)) {
				return j.bad(op, field+"."+name, p.Value, "a member of etcd's robustness reports, or nothing in it")
			}
		}
	case reflect.Slice:
		items, is := v.([]any)
		if !is && v != nil {
			return j.bad(op, field, v, "an array")
		}
		to.Set(reflect.MakeSlice(to.Type(), len(items), len(items)))
		for i, item := range items {
			if err := j.fill(op, to.Index(i), item, fmt.Sprintf("%s[%d]", field, i)); err != nil {
				return err
			}
		}
	default:
		if r := reflect.ValueOf(v); v != nil && r.Type() != to.Type() {
			return j.bad(op, field, v, map[reflect.Kind]string{reflect.String: "a text", reflect.Int64: "an integer",
				reflect.Bool: "true or false"}[to.Kind()])
		} else if v != nil {
			to.Set(r)
		}
	}
	return nil
}
