// Package plural writes numbers with nouns in the right form: "1 round", "2 rounds", "2 anomalies".
package plural

import (
	"fmt"
	"strings"
)

// Of writes a number and its noun, in the plural unless the number is one.
func Of[N ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n N, noun string) string {
	return Phrase(n, noun, Noun(noun))
}

// Phrase writes a number and one of two phrases, the first if the number is one: "1 line was", "2 lines were".
func Phrase[N ~int | ~int32 | ~int64 | ~uint32 | ~uint64](n N, one, many string) string {
	if n != 1 {
		one = many
	}
	return fmt.Sprintf("%d %s", n, one)
}

// Noun returns the plural of a noun.
func Noun(noun string) string {
	switch {
	case strings.HasSuffix(noun, "y") && !strings.ContainsAny(noun[len(noun)-2:len(noun)-1], "aeiou"):
		return noun[:len(noun)-1] + "ies"
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "x"), strings.HasSuffix(noun, "ch"),
		strings.HasSuffix(noun, "sh"):
		return noun + "es"
	}
	return noun + "s"
}

// And joins words: "1", "1 and 2", "1, 2 and 3".
func And(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
