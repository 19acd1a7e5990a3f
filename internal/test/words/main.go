// Command words finds text on the pages that is hard to read: sentences of more than 35 words, lines of more than 120
// columns, and words for which the glossary has a plainer one. It prints the file and line of each, and ends with
// status 1. `make words` runs it. It does not read docs/cli.md, which is generated from the commands.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"isovet/internal/slice"
)

const (
	maxWords   = 35
	maxColumns = 120
)

// plainer maps patterns that pages should not have to better words.
var plainer = map[string]string{
	`misfits?`:                     "contradicting read",
	`(?:comes?|came) again`:        "duplicate, repeated",
	`(?:is|are|was) left for good`: "is closed",
	`in vain`:                      "the name of the state",
	`what (?:is|was) kept`:         "cache, file, log",
	`who wrote what`:               "writer",
	`passed over`:                  "ignored, skipped",
	`(?:is|are|was|were) said`:     "reports, prints",
	`what a read saw`:              "the version read",
	`sights?`:                      "read-from edge",
	`is told (?:of|by|that)`:       "is reported",
	`goes? by (?:the|their|its)`:   "uses",
}

func main() {
	found := 0
	for _, page := range pages(".") {
		text, err := os.ReadFile(page)
		if err != nil {
			fmt.Fprintln(os.Stderr, "words:", err)
			os.Exit(254)
		}
		for _, f := range read(string(text)) {
			fmt.Printf("%s:%d: %s\n", page, f.line, f.text)
			found++
		}
	}
	if found > 0 {
		fmt.Fprintf(os.Stderr, "words: %d findings\n", found)
		os.Exit(1)
	}
}

// pages lists the pages in a folder that people write, sorted.
func pages(top string) []string {
	all := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}
	filepath.WalkDir(filepath.Join(top, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" && filepath.Base(path) != "cli.md" {
			all = append(all, path)
		}
		return err
	})
	return all
}

type finding struct {
	line int
	text string
}

var (
	code    = regexp.MustCompile("`[^`]*`")
	link    = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	item    = regexp.MustCompile(`^\s*(?:[-*]|\d+\.) +`)
	end     = regexp.MustCompile(`[.!?]["*)_]*\s`)
	isWord  = regexp.MustCompile(`[\pL\d]`)
	stopped = patterns()
)

func patterns() map[*regexp.Regexp]string {
	m := map[*regexp.Regexp]string{}
	for p, say := range plainer {
		m[regexp.MustCompile(`(?i)\b`+p+`\b`)] = say
	}
	return m
}

// read returns what is hard to read on a page. Code, tables, headings and quotations have no sentences of ours.
func read(page string) (all []finding) {
	var paragraph string
	begin, n, fenced := 0, 0, false
	flush := func() {
		text := link.ReplaceAllString(code.ReplaceAllString(paragraph, "x"), "$1")
		for _, s := range end.Split(text+" ", -1) {
			if words := slice.Count(strings.Fields(s), isWord.MatchString); words > maxWords {
				start := strings.Join(strings.Fields(s)[:6], " ")
				all = append(all, finding{begin, fmt.Sprintf("a sentence of %d words: %s …", words, start)})
			}
		}
		paragraph = ""
	}
	for line := range strings.Lines(page) {
		n++
		line = strings.TrimRight(line, "\r\n")
		if utf8.RuneCountInString(line) > maxColumns {
			all = append(all, finding{n, "more than 120 columns"})
		}
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		isItem := item.MatchString(line)
		if fenced || strings.TrimSpace(line) == "" || strings.HasPrefix(line, "    ") && !isItem && paragraph == "" ||
			strings.ContainsAny(line[:1], "|#>!<`") {
			flush()
			if fenced || !strings.HasPrefix(line, "|") {
				continue
			}
		}
		for p, say := range stopped {
			if m := p.FindString(code.ReplaceAllString(line, "")); m != "" {
				all = append(all, finding{n, fmt.Sprintf("%q: say %s", m, say)})
			}
		}
		if strings.HasPrefix(line, "|") {
			continue
		}
		if isItem {
			flush()
		}
		if paragraph == "" {
			begin = n
		}
		paragraph += item.ReplaceAllString(line, "") + " "
	}
	flush()
	return all
}
