package sqltext

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/wasilibs/go-pgquery/parser"
)

// one allows one call at a time: the library compiles itself again for every parallel call, which takes a gigabyte.
var one sync.Mutex

// Parse parses the statements of a text. The error says why it is not understood.
func Parse(sql string) ([]Stmt, error) {
	tree, err := parse(sql)
	if err != nil {
		return nil, err
	}
	var out struct {
		Stmts []struct {
			Stmt     map[string]node
			Location int `json:"stmt_location"`
			Len      int `json:"stmt_len"`
		}
	}
	if err := json.Unmarshal([]byte(tree), &out); err != nil {
		return nil, fmt.Errorf("the parser's tree: %w", err)
	}
	var all []Stmt
	for _, raw := range out.Stmts {
		s := Stmt{Start: raw.Location, End: raw.Location + raw.Len, At: -1}
		if raw.Len == 0 {
			s.End = len(sql)
		}
		for kind, n := range raw.Stmt {
			r := reader{sql: sql, s: &s}
			r.statement(kind, n)
		}
		all = append(all, s)
	}
	return all, nil
}

func parse(sql string) (tree string, err error) {
	one.Lock()
	defer one.Unlock()
	if strings.IndexByte(sql, 0) >= 0 {
		return "", errors.New("a zero byte")
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the parser failed: %v", p)
		}
	}()
	return parser.ParseToJSON(sql)
}
