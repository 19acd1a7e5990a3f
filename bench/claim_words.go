package bench

import (
	"fmt"
	"strconv"
	"strings"
)

// How claims are put in words that can be read without this program.

// spread is the unit of claims that values are alike: the greatest over the least.
const spread = "times, the greatest to the least"

// whole is the demand for all of some rows: "all 6 steps" where "2 of 6 steps" were found.
func (c *Claim) whole() string {
	var yes, n int
	var what string
	if k, _ := fmt.Sscanf(c.At, "%d of %d %s", &yes, &n, &what); k < 2 || n == 0 {
		return "all"
	}
	_, rest, _ := strings.Cut(c.At, " of ")
	if n == 1 {
		return "1 of " + rest
	}
	return "all " + rest
}

// comparatives are what more and less than once as fast is called, and so on.
var comparatives = map[string]map[Sense]string{
	"as fast":     {MoreThan: "faster", LessThan: "slower"},
	"as long":     {MoreThan: "longer", LessThan: "shorter", AtMost: "no longer"},
	"as many":     {MoreThan: "more", LessThan: "fewer", AtLeast: "no fewer"},
	"as much":     {MoreThan: "more", LessThan: "less"},
	"less memory": {MoreThan: "less memory"},
	"fewer":       {MoreThan: "fewer"},
}

// once is a demand whose number is 1 without that number: "faster", "less than the growth of the size"; "": there are
// no such words.
func (c *Claim) once() string {
	about := map[bool]string{true: "about "}[c.Roughly || c.Sense == EqualTo]
	sense := map[bool]string{false: string(c.Sense) + " "}[c.Sense == EqualTo]
	if c.Unit == spread && c.Sense == AtMost {
		return "the greatest is " + about + "the least"
	}
	rest, ok := strings.CutPrefix(c.Unit, "times ")
	if !ok {
		return ""
	}
	for as, words := range comparatives {
		if after, ok := strings.CutPrefix(rest, as); ok && words[c.Sense] != "" {
			return about + words[c.Sense] + strings.Replace(after, " as ", " than ", 1)
		}
	}
	who, _, _ := strings.Cut(rest, " ")
	switch {
	case who == "the", who == "that", strings.HasSuffix(who, "'s"), c.Sense == EqualTo:
		return sense + about + rest
	}
	return ""
}

// enough is the number found, with as many digits as the verdict can be understood from.
func (c *Claim) enough() string {
	short := c.amount(c.Here)
	if c.Unit == all || !c.Measured || c.Holds == NotComparable || c.Holds == "" {
		return short
	}
	told := number(c.Here)
	for digits := 4; digits <= 6; digits++ {
		as := *c
		v, err := strconv.ParseFloat(told, 64)
		if as.Here = v; err != nil || as.verdict() == c.verdict() {
			break
		}
		told = strconv.FormatFloat(c.Here, 'g', digits, 64)
	}
	return strings.TrimRight(told+" "+c.Unit, " ")
}

// named is a metric with its unit, where it has one.
func (m *Metric) named() string {
	if m.Unit == "" {
		return m.Label
	}
	return m.Label + ", " + m.Unit
}
