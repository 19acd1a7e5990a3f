package driver

import (
	"errors"
	"strings"
	"testing"
)

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
		{"postgres://me:pa/ss1@h/d", "cannot parse: invalid port \":pa\" after host", "not a URL that can be read"},
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
