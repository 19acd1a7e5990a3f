package escape

import (
	"encoding/json"
	"encoding/xml"
	"io"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"isovet/internal/test/must"
)

// nasty are the texts that every way out is tried with first.
var nasty = []string{"", "x", "PostgreSQL 17.5 (Debian)", "a\x1b]0;P\a\x1b[31m\u202eb", "\u009b31m", "a\nb\tc\r\n",
	"\x7f", "`", "``x`", "a`b``c", " x ", "  ", "```\n# h", "a|b\\|c", "<img src=x onerror=alert(1)>", "[x](javascript:y)",
	"@all #1 https://x www.x", "'; rm -rf \"$HOME\" #", "$(x)`y`", `\`, `\"`, "{<p> a|b}", "\xff\xfe\xed\xa0\x80",
	"\u2028\u2029\ufeff\u200d", "\U000e0001", "\ufffe\uffff\ufffd", "日本語 ✓", "-x", "a\\'b\n'c", "%0A::error::x"}

func seed(f *testing.F) {
	for _, s := range nasty {
		f.Add(s)
	}
}

// seen demands that a text has nothing hidden but what may stay, and is UTF-8.
func seen(t *testing.T, s, but string) {
	t.Helper()
	must.Hold(t, utf8.ValidString(s), "%q is no UTF-8", s)
	for _, r := range s {
		must.Hold(t, !hidden(r) || strings.ContainsRune(but, r), "%q has %U", s, r)
	}
}

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[31m\u202eb":  `a\u001b[31m\u202eb`,
		"\u009b\x7f\xff\r":  `\u009b\u007f\xff\r`,
		"one\n\ttwo":        "one\n\ttwo",
		"\U000e0001\u2028x": `\udb40\udc01\u2028x`,
		"日本語 ✓ \ufffd":      "日本語 ✓ \ufffd",
	} {
		must.Equal(t, Text(in), want, "Text(%q)", in)
	}
	must.Equal(t, Line("a\nb\tc"), `a\nb\tc`, "Line")
}

func FuzzText(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		seen(t, Text(s), "\n\t")
		seen(t, Line(s), "")
		must.Same(t, Text(Text(s)), Text(s), "Text of a Text")
		must.Same(t, Line(s) == s, clean(s, false), "%q: clean", s)
		b := must.Get(json.Marshal(s))(t)
		var was, is string
		if json.Unmarshal(b, &was) != nil || json.Unmarshal([]byte(Text(string(b))), &is) != nil || was != is {
			t.Fatalf("%s is another string than %s", Text(string(b)), b)
		}
	})
}

// FuzzWriter cuts a text anywhere: what comes out is what Text gives for the whole.
func FuzzWriter(f *testing.F) {
	for i, s := range nasty {
		f.Add(s, uint8(i))
	}
	f.Fuzz(func(t *testing.T, s string, cut uint8) {
		var b strings.Builder
		w := NewWriter(&b, nil)
		for rest := s; rest != ""; {
			n := min(len(rest), 1+int(cut)%5)
			must.Get(io.WriteString(w, rest[:n]))(t)
			rest = rest[n:]
		}
		must.OK(t, w.Close())
		must.Same(t, b.String(), Text(s), "%q written by %d", s, 1+int(cut)%5)
	})
}

func TestWriterNames(t *testing.T) {
	var b strings.Builder
	w := NewWriter(&b, []string{"a\n::error::b.jsonl", "\n", "plain"})
	must.Get(io.WriteString(w, "isovet: a\n::error::b.jsonl: plain\n"))(t)
	must.Equal(t, b.String(), `isovet: a\n::error::b.jsonl: plain`+"\n", "written")
}

// span reads a code span as CommonMark 0.31 §6.1 does, and what comes behind it.
func span(s string) (text, rest string) {
	n := len(s) - len(strings.TrimLeft(s, "`"))
	for i := n; i < len(s); {
		if s[i] != '`' {
			i++
			continue
		}
		m := len(s[i:]) - len(strings.TrimLeft(s[i:], "`"))
		if m == n {
			text = s[n:i]
			if len(text) > 1 && text[0] == ' ' && text[len(text)-1] == ' ' && strings.Trim(text, " ") != "" {
				text = text[1 : len(text)-1]
			}
			return text, s[i+m:]
		}
		i += m
	}
	return "", s
}

func FuzzMarkdown(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		if s == "" {
			return
		}
		for _, got := range []string{Code(s), Markdown(s), Cell(s)} {
			seen(t, got, "")
		}
		if text, rest := span(Code(s)); text != Line(s) || rest != "" {
			t.Fatalf("Code(%q) = %q: the span is %q, behind it %q", s, Code(s), text, rest)
		}
		if m := Markdown(s); m != Code(s) && (m != s || strings.ContainsAny(s, "`*_[]<>#@&\\|~$")) {
			t.Fatalf("Markdown(%q) = %q", s, m)
		}
		if strings.Contains(Cell(s), "|") {
			t.Fatalf("Cell(%q) = %q", s, Cell(s))
		}
		if c := Cell(s); c != Markdown(s) && strings.ContainsAny(strings.TrimSuffix(strings.TrimPrefix(c, "<code>"),
			"</code>"), "<>`*_[]\\@") {
			t.Fatalf("Cell(%q) = %q", s, c)
		}
		block := Fence("x", s)
		seen(t, block, "\n\t")
		lines := strings.Split(strings.TrimSuffix(block, "\n\n"), "\n")
		mark := strings.TrimSuffix(lines[0], "x")
		for i, l := range lines[1:] {
			if strings.HasPrefix(strings.TrimLeft(l, " \t"), mark) != (i == len(lines)-2) {
				t.Fatalf("Fence(%q) ends at line %d: %q", s, i+1, block)
			}
		}
	})
}

func FuzzXML(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		seen(t, XML(s), "\n\t\r")
		var text strings.Builder
		must.OK(t, xml.EscapeText(&text, []byte(XML(s))))
		var got string
		must.OK(t, xml.Unmarshal([]byte("<a>"+text.String()+"</a>"), &got), "%q", s)
	})
}

// FuzzDOT reads a quoted string as Graphviz does: \" is the only sequence that its lexer knows, and a backslash before
// another character is the label's.
func FuzzDOT(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		for _, got := range []string{DOT(s), `"` + Record(s) + `"`} {
			seen(t, got, "\t")
			for i := 1; i < len(got)-1; i++ {
				if got[i] == '\\' {
					i++
				} else if got[i] == '"' {
					t.Fatalf("%q ends %q early", s, got)
				}
				must.Hold(t, i != len(got)-1, "%q does not end %q", s, got)
			}
		}
		for i, r := 0, Record(s); i < len(r); i++ {
			if r[i] == '\\' {
				i++
			} else if strings.IndexByte("{}|<>", r[i]) >= 0 {
				t.Fatalf("Record(%q) = %q: a %c acts", s, r, r[i])
			}
		}
	})
}

// word reads a word of a shell in the two kinds of quotes that Shell writes.
func word(t *testing.T, s string) string {
	var b []byte
	for i := 0; i < len(s); {
		switch {
		case strings.HasPrefix(s[i:], "$'"):
			for i += 2; s[i] != '\''; i++ {
				switch {
				case s[i] != '\\':
					b = append(b, s[i])
				case s[i+1] >= '0' && s[i+1] <= '7':
					b = append(b, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
					i += 3
				default:
					i++
					b = append(b, s[i])
				}
			}
			i++
		case s[i] == '\'':
			end := i + 1 + strings.IndexByte(s[i+1:], '\'')
			b = append(b, s[i+1:end]...)
			i = end + 1
		case s[i] == '\\':
			b = append(b, s[i+1])
			i += 2
		default:
			if strings.IndexByte(" \t\n$`\"#&;|<>()*?[]~!{}", s[i]) >= 0 {
				t.Fatalf("%q: %c acts", s, s[i])
			}
			b = append(b, s[i])
			i++
		}
	}
	return string(b)
}

func FuzzShell(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, s string) {
		got := Shell(s)
		seen(t, got, "")
		must.Same(t, word(t, got), s, "Shell(%q) = %s, which is", s, got)
	})
}

// TestShellIsBash has a shell read the words.
func TestShellIsBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash here")
	}
	for _, s := range nasty {
		c := exec.Command(bash, "-c", "printf %s "+Shell(s))
		c.Env = []string{"LC_ALL=C.UTF-8"}
		got, err := c.Output()
		if err != nil || string(got) != s {
			t.Errorf("bash reads %s as %q (%v), expected %q", Shell(s), got, err, s)
		}
	}
}
