package driver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"isovet/datasets/workload"
	"isovet/internal/test/must"
)

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"postgres://me:s3cret@host:5432/db?sslmode=disable": "postgres://…@host:5432/db?sslmode=disable",
		"postgres://host/db?user=me&password=s3cret&x=1":    "postgres://host/db?user=me&password=…&x=1",
		"mysql://root@h/d": "mysql://…@h/d",
		"sqlite:":          "sqlite:",
		"redis://:p@w@h/0": "redis://…@h/0",
	} {
		must.Equal(t, Redact(in), want, "Redact(%s)", in)
	}
}

// TestTexts: what key-value stores hold comes back as it was.
func TestTexts(t *testing.T) {
	for _, r := range []Row{{}, {Version: 7, Payload: -5}, {Version: 1 << 52, Payload: 1 << 62},
		{Version: 9, Dead: true}, {Version: 3, Wide: []int64{}}, {Version: 3, Payload: 1, Wide: []int64{5, -7,
			1 << 60}}} {
		got, err := parseRow(string(RowText(r)))
		if err != nil || !reflect.DeepEqual(got, r) {
			t.Errorf("%+v came back as %+v, %v", r, got, err)
		}
	}
	list := ""
	for _, e := range []int64{5, 1, 12} {
		list = string(appended(list, e))
	}
	if got, err := ParseList(nil, list); err != nil || !slices.Equal(got, []int64{5, 1, 12}) {
		t.Errorf("list %q: %v, %v", list, got, err)
	}
	if slices.Compare(KVKey("r", -1), KVKey("r", 0)) >= 0 || slices.Compare(KVKey("r", 255), KVKey("r", 256)) >= 0 {
		t.Error("keys are not in the order of their numbers")
	}
	must.Equal(t, Merge.SQL(ListName, ListColumns, []string{"1", "'5'"}, true, " from d"), "merge into isovet_list "+
		"using (select 1 as k, '5' as val from d) s on (isovet_list.k = s.k) when matched then update set val = "+
		"isovet_list.val || ',' || s.val when not matched then insert (k, val) values (s.k, s.val)", "MERGE")
	deletes := (&Statements{Columns: ColumnsSQL{Upsert: Merge}}).Put(5, Row{Version: 7, Dead: true})[0]
	must.Equal(t, strings.Contains(deletes, "7 as u, cast(null as bigint) as p"), true, "%s", deletes)
	if _, err := parseRow("x y"); err == nil {
		t.Error("a bad row is taken")
	}
}

func TestLift(t *testing.T) {
	for _, x := range []struct {
		q, numbered, plain string
		numbers            []int64
	}{
		{"select k, u, c_v1 from isovet_t0 where c_v1 >= 10 and c_v1 < 20 order by k",
			"select k, u, c_v1 from isovet_t0 where c_v1 >= $1 and c_v1 < $2 order by k",
			"select k, u, c_v1 from isovet_t0 where c_v1 >= ? and c_v1 < ? order by k", []int64{10, 20}},
		{"update isovet_t1 set u = 7, c_d = (c_d + -3 + 2 * k) % 1000 where k in (1,-2,30)",
			"update isovet_t1 set u = $1, c_d = (c_d + $2 + $3 * k) % $4 where k in ($5,$6,$7)",
			"update isovet_t1 set u = ?, c_d = (c_d + ? + ? * k) % ? where k in (?,?,?)",
			[]int64{7, -3, 2, 1000, 1, -2, 30}},
		{"select concat(a, ',1', 2) from @x1", "select concat(a, ',1', $1) from @x1",
			"select concat(a, ',1', ?) from @x1", []int64{2}},
		{"select a -1, (b)-2", "select a -$1, (b)-$2", "select a -?, (b)-?", []int64{1, 2}},
		{"begin", "begin", "begin", nil},
	} {
		text, numbers := Lift(x.q, true)
		plain, again := Lift(x.q, false)
		if text != x.numbered || plain != x.plain || !slices.Equal(numbers, x.numbers) ||
			!slices.Equal(again, numbers) {
			t.Errorf("%s: %s, %s, %v; expected %s, %s, %v", x.q, text, plain, numbers, x.numbered, x.plain, x.numbers)
		}
	}
}

// TestClean: a password is taken out of an error where it stands in the URL or as a parameter, and nothing else is, not
// even where the password is a part of a word.
func TestClean(t *testing.T) {
	for _, c := range []struct{ url, text, want string }{
		{"postgres://sa:sa@h/d", "show transaction_isolation: ERROR: sa is not sane (SQLSTATE 42704)", ""},
		{"mysql://root:root@h/d", "Access denied for user 'root'@'localhost' (using password: YES)", ""},
		{"postgres://me:isolation@h/d", "no isolation level", ""},
		{"postgres://sa:sa@h/d", "cannot reach postgres://sa:sa@h/d: sa", "cannot reach postgres://…@h/d: sa"},
		{"mysql://sa:sa@h/d", "invalid DSN sa:sa@tcp(h)/d", "invalid DSN …@tcp(h)/d"},
		{"mysql://me:s3cret-pw@h/d", "odd: s3cret-pw", "odd: …"},
		{"postgres://h/d?user=sa&password=sa", "postgres://h/d?user=sa&password=sa is sad",
			"postgres://h/d?user=sa&password=… is sad"},
		{"postgres://h/d?user=sa&password=Xy_12345", "bad Xy_12345", "bad …"},
		{"postgres://me:pw@h/d", "see https://example.org/a for x@y", ""},
		{"postgres://me:pa/ss1@h/d", "cannot parse: invalid port \":pa\" after host", "the URL cannot be parsed"},
	} {
		want := c.want
		if want == "" {
			want = c.text
		}
		if got := clean(errors.New(c.text), []string{c.url}).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q became %q, expected %q", c.url, c.text, got, want)
		}
	}
}

// TestSchemaChanges: an index that statements name, or that keeps values apart, stays; every other is dropped and made
// again as it was.
func TestSchemaChanges(t *testing.T) {
	columns := []workload.Column{{Name: "a", Index: true}, {Name: "b", Index: true}, {Name: "c"}}
	has := func(plan workload.Plan, dialect, do, undo string) bool {
		return slices.Contains(SchemaChanges(dialect, Data{Tables: []Table{{Columns: columns, Unique: []int{1},
			Plan: plan}}}), SchemaChange{do, undo})
	}
	for _, x := range []struct{ dialect, drop string }{{"mysql", "drop index isovet_t0_c_a on isovet_t0"},
		{"sqlite", "drop index if exists isovet_t0_c_a"}, {"postgres", "drop index if exists isovet_t0_c_a"}} {
		again := "create index isovet_t0_c_a on isovet_t0(c_a)"
		if !has(workload.AnyPlan, x.dialect, x.drop, again) || has(workload.ByIndex, x.dialect, x.drop, again) {
			t.Errorf("%s: %q, then %q; expected without a plan only", x.dialect, x.drop, again)
		}
	}
	if got := SchemaChanges("", Data{}); got != nil {
		t.Errorf("of a database without SQL: %v", got)
	}
	if !has(0, "sqlite", "create index isovet_t0_x on isovet_t0(c_c)", "drop index if exists isovet_t0_x") {
		t.Error("the column without an index is given none")
	}
}

// TestTimeoutOfAdapters: a statement of a database inside this program ends when its time is up, and the connection
// counts as lost; the session before and behind works.
func TestTimeoutOfAdapters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "db")
	RegisterSQL(SQL{Scheme: "slow", Isolations: []string{"serializable"}, Embedded: true,
		Open: func(string) (*sql.DB, error) { return sql.Open("sqlite", "file:"+file) }})
	db, err := Open(t.Context(), []string{"slow:"}, Options{Timeout: 300 * time.Millisecond})
	must.OK(t, err)
	defer db.Close()
	rows := func(yield func(int64, Row) bool) { yield(7, Row{Version: 1, Payload: 2}) }
	must.OK(t, db.Load(t.Context(), Data{Rows: rows, Mark: 5}))
	try := func(statement string) error {
		s, err := db.Connect(context.Background(), 0)
		must.OK(t, err)
		defer s.Close()
		must.OK(t, s.Begin())
		if r, found, err := s.Get(7, false); err != nil || !found || r.Payload != 2 {
			t.Fatalf("%+v, %v, %v", r, found, err)
		}
		if _, err = s.(Speaker).Say(statement); err != nil {
			return err
		}
		return s.Commit()
	}
	err = try("with recursive c(n) as (select 1 union all select n+1 from c where n < 1e12) select count(*) from c")
	if err == nil || db.Classify(err) != Lost {
		t.Errorf("%v; expected a lost connection", err)
	}
	must.OK(t, try("select 1"))
}

// TestSayOn: only the statement itself says whether there are rows, not its comments and quoted texts.
func TestSayOn(t *testing.T) {
	db := must.Get(sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "db")))(t)
	defer db.Close()
	for _, c := range []struct {
		statement string
		rows      int
		affected  int64
	}{{"create table t (a)", 0, 0}, {"insert into t values ('returning')", 0, 1},
		{"/* all */ -- of it\nselect a from t", 1, 1}, {"update t set a = 1 /* ' */ returning a", 1, 1}} {
		a := must.Get(SayOn(db, c.statement))(t)
		must.Equal(t, fmt.Sprint(len(a.Rows), a.Affected), fmt.Sprint(c.rows, c.affected), "%s", c.statement)
	}
}

// TestLockingWhere: what stands behind a predicate read that takes locks, and behind none that does not.
func TestLockingWhere(t *testing.T) {
	st := &Statements{Columns: ColumnsSQL{Tables: []Table{{Columns: []workload.Column{{Name: "a", Index: true}}}},
		Lock: " for update", Share: " for share"}}
	for _, c := range []struct {
		change Change
		want   string
	}{{Change{}, "order by k"}, {Change{Lock: true}, "order by k for update"},
		{Change{End: workload.First}, "select k, u, c_a from isovet_t0 where c_a = 7 order by c_a limit 1"},
		{Change{End: workload.Last}, "c_a = 7 order by c_a desc limit 1"},
		{Change{End: workload.Max}, "select max(c_a) from isovet_t0 where c_a = 7 having max(c_a) is not null"},
		{Change{Share: true}, "order by k for share"}, {Change{Delete: true}, "order by k for update"}} {
		q := st.Where(0, []workload.Range{workload.Equal(0, 7)}, c.change, nil)
		if len(q) != 1 || !strings.HasSuffix(q[0], c.want) {
			t.Errorf("%+v: %q, expected one that ends with %q", c.change, q, c.want)
		}
	}
}
