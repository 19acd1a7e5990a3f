package workloads

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history/operations"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// TestGoPrograms has operations of Go programs, in the shapes that Porcupine's models have and as tables.
func TestGoPrograms(t *testing.T) {
	op := func(in, out string, at int) string {
		return fmt.Sprintf(`{"ClientId": 1, "Input": %s, "Call": %d, "Output": %s, "Return": %d, "Metadata": null}`, in,
			at, out, at+1)
	}
	for _, c := range []struct {
		workload string
		want     evidence.Verdict
		lines    []string
	}{
		{"kv", evidence.Holds, []string{op(`{"Op":"Put","Key":"x","Value":"a"}`, `{"Value":""}`, 1),
			op(`{"Op":"Append","Key":"x","Value":"b"}`, "{}", 3), op(`{"Op":"Get","Key":"x"}`, `{"Value":"ab"}`, 5)}},
		{"kv", evidence.Violated, []string{op(`{"op":1,"key":"x","value":"a"}`, "null", 1),
			op(`{"op":0,"key":"x","value":""}`, `{"value":""}`, 3)}},
		{"register:initial=0", evidence.Violated, []string{op(`{"Op":true,"Value":0}`, "0", 1),
			op(`{"Op":false,"Value":5}`, "0", 3), op(`{"Op":true,"Value":0}`, "0", 5)}},
		{"cas-register", evidence.Violated, []string{op(`{"Op":2,"Arg1":1,"Arg2":2}`, `{"Ok":true}`, 1)}},
		{"cas-register:initial=1", evidence.Violated, []string{op(`{"Op":2,"Arg1":1,"Arg2":2}`, `{"Ok":false}`, 1)}},
		{"cas-register:initial=1", evidence.Holds, []string{op(`{"Op":"cas","Old":1,"Value":2}`, `{"Ok":true}`, 1),
			op(`{"Op":"read","Old":0}`, `{"Ok":false,"Exists":true,"Value":2}`, 3)}},
		{"register", evidence.Unknown, []string{op(`{"Op":true}`, "0", 1), op(`{"Op":false,"Value":5}`, "0", 3)}},
		{"register:initial=v-0", evidence.Holds, []string{"call,return,client,op,key,value,output",
			"10,20,0,read,x,,v-0"}},
		{"cas-register", evidence.Holds, []string{`{"process":0,"f":"cas","value":[null,1],"start":1,"end":2}`}},
		{"queue", evidence.Violated, []string{op(`{"Op":"push","Value":1}`, "null", 1),
			op(`{"Op":"pop"}`, `{"Value":0,"Ok":false}`, 3)}},
		{"linear-set", evidence.Violated, []string{op(`{"Op":"add","Value":1}`, `{"ok":true}`, 1),
			op(`{"Op":"contains","Value":1}`, "false", 3)}},
		{"linear-set", evidence.Holds, []string{"Call,Return,Op,Value,Output", "1,2,add,x,true", "3,,add,y,",
			`4,5,read,,"[""x"", ""y""]"`}},
		{"semaphore:permits=1", evidence.Violated, []string{"client,call,return,op", "1,1,2,lock", "2,3,4,lock"}},
		{"register", evidence.Violated, []string{"client,call,return,op,value", "1,1,9223372036854775807,write,1",
			"2,3,4,read,1", "2,5,6,read,2"}},
		{"register", evidence.Holds, []string{"call,return,op,value,status", "1,2,write,1,ok", "3,4,write,2,fail",
			"5,6,write,3,unknown", "7,8,read,1,", "9,10,read,3,ok"}},
	} {
		file := strings.Join(c.lines, "\n")
		must.Equal(t, judged(t, c.workload, file).Verdict, c.want, "%s\n%s", c.workload, file)
		if strings.HasPrefix(file, "{") {
			if b := judged(t, c.workload, "[\n"+strings.ReplaceAll(file, "\n", ",\n")+"]"); b.Verdict != c.want {
				t.Errorf("%s as an array: %v; expected %v", c.workload, b.Verdict, c.want)
			}
		}
	}
}

// TestGoTables writes histories of queues in the form of its own, as Porcupine's operations and as a table: the answers
// are alike.
func TestGoTables(t *testing.T) {
	seen := verdicts{}
	randtest.Seeds(t, 300, func(t testing.TB, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 9))
		own, lines, table := "", "", "return,op,value,call,output\n"
		queue := []int{}
		for i := range 3 + r.IntN(5) {
			f, v, out := "enqueue", fmt.Sprint(i), "null"
			if queue = append(queue, i); r.IntN(2) == 0 {
				n := r.IntN(len(queue))/2 + r.IntN(7)/6
				f, v, out = "dequeue", "null", fmt.Sprint(queue[min(n, len(queue)-1)])
				queue = queue[min(len(queue)-1, 1):]
			}
			call := 4*i - r.IntN(4)
			ret := fmt.Sprint(4*i + 1 + r.IntN(4))
			ends := `"end": ` + ret
			if f == "enqueue" && r.IntN(4) == 0 {
				ret, ends = "null", `"status": "unknown"`
			}
			own += fmt.Sprintf(`{"f": %q, "value": %s, "result": %s, "start": %d, %s}`+"\n", f, v, out, call, ends)
			lines += fmt.Sprintf(`{"Input": {"Op": %q, "Value": %s}, "Call": %d, "Output": %s, "Return": %s}`+"\n", f, v,
				call, out, ret)
			table += fmt.Sprintf("%s,%s,%s,%d,%s\n", ret, f, v, call, out)
		}
		a := judged(t, "queue", own)
		seen[a.Verdict]++
		for _, file := range []string{lines, table} {
			must.Same(t, judged(t, "queue", file).Verdict, a.Verdict, "%s\n%s", file, own)
		}
	})
	seen.mixed(t)
}

// refused demands an error.
func refused(t *testing.T, name, file, want string) {
	t.Helper()
	h, err := operations.Read([]byte(file), "h.edn")
	if w, _, bad := Lookup(name); err == nil && bad == nil {
		_, err = w.Check(t.Context(), h, Options{})
	}
	must.Be(t, err != nil && strings.Contains(err.Error(), want), "error %v; expected %s\n%s", err, want, file)
}

// TestGoErrors: what is wrong is named by its line and member.
func TestGoErrors(t *testing.T) {
	const good = `{"Input": {"Op": "put", "Value": 1}, "Call": 1, "Return": 2}` + "\n"
	for file, want := range map[string]string{
		good + `{"Input": {"Op": "put", "Value": 1}, "Call": "x", "Return": 2}`:        `2: field "Call": found x;`,
		good + "{\n" + `"Input": {"Op": "put"}, "Call": 3, "Return": 2}`:               `2: field "Return": found 2;`,
		good + `{"Input": 5, "Call": 1, "Return": 2}`:                                  `2: field "Input": found 5;`,
		good + `{"Input": {"Value": 5}, "Call": 1, "Return": 2}`:                       `2: field "Input": found`,
		good + `{"Input": {"Op": "put", "Version": 5}, "Call": 1, "Return": 2}`:        `"Input.Version": found 5;`,
		good + `{"Input": {"Op": "put"}, "Output": {"Ok": 1}, "Call": 1, "Return": 2}`: `"Output.Ok": found 1;`,
		good + `{"Input": {"Op": "jump"}, "Call": 1, "Return": 2}`:                     `2: field "f": found jump;`,
		good + `{"process": 0, "f": "write", "value": 1, "start": 1, "end": 2}`:        `2: field "type"`,
		"call,return,op,value\n1,2,write,1\n1,x,write,1\n":                             `3: field "return": found x;`,
		"call,return,op,value,odd\n1,2,write,1,2\n":                                    `2: field "odd"`,
		"call,return,op,value\n1,2,write\n":                                            `2: wrong number of fields`,
		"call,return,op,value\n1,2,write,[1\n":                                         `2: field "value"`,
		"call,return,op,value\n1,2,cas,5 6\n":                                          `the old and the new`,
	} {
		refused(t, "cas-register", file, want)
	}
}
