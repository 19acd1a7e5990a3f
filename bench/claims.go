package bench

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"isovet/internal/slice"
)

// A claim of a paper is a row of claims.tsv: its words, its number, and how to measure the number from a figure's
// points. One rule for all papers, claimRule, decides whether it holds.

// claimRule explains the verdicts on every page.
const claimRule = "" +
	"A claim holds if the number measured here reaches the paper's, in the direction that the paper claims, " +
	"without exceeding twice the paper's. A number beyond twice the paper's, or against another rival than " +
	"the paper's, is not comparable: the algorithm, its settings or the hardware differ. The bound of twice " +
	"does not apply to orders (\"more than 1\"), growth, and bounds of our own time and memory. The results " +
	"keep every run; each number comes from their medians, and its interval from resampled runs (bootstrap, " +
	"95 %). If the claim holds at only one end of the interval, the verdict is \"within noise\". A tenth " +
	"may be missing only where the paper says \"about\" or \"almost\", states what it measured (\"29.8 " +
	"%\"), or gives no number to reach (linear, stable, negligible); growth that is not linear by this rule " +
	"is super-linear. If a rival ran into the time-out, the number is a lower bound. A claim is not " +
	"comparable if its size, or its rival, was not run. The reason why a claim does not hold is recomputed " +
	"from these rows, or by the named test, unless it is called a conjecture."

// tenth is the tolerance in claimRule.
const tenth = 0.1

// Sense says how a claim's number limits the measured one.
type Sense string

const (
	AtLeast  Sense = "at least"
	AtMost   Sense = "at most"
	MoreThan Sense = "more than"
	LessThan Sense = "less than"
	EqualTo  Sense = "equal to" // a tenth less or more is, by claimRule
)

// The verdicts about claims.
const (
	Holds         = "holds"
	Fails         = "does not hold"
	WithinNoise   = "within noise"
	NotComparable = "not comparable"
)

// Claim is a claim of a paper with what was measured here.
type Claim struct {
	// Says is the claim in words.
	Says string `json:"claim"`
	// Sense, Number and Unit are what it demands; Roughly allows a tenth less. Far is the other end of a range ("60 to
	// 100 times"), or 0.
	Sense   Sense   `json:"sense"`
	Number  float64 `json:"number"`
	Far     float64 `json:"far,omitempty"`
	Unit    string  `json:"unit,omitempty"`
	Roughly bool    `json:"roughly,omitempty"`
	// Measured says that Here is a number; Beyond that it is only a lower bound.
	Measured bool    `json:"measured"`
	Here     float64 `json:"here"`
	Beyond   bool    `json:"beyond,omitempty"`
	// Low and High are the ends of Here's interval by the bootstrap, or 0.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
	// At says where it was measured: "at 20000 transactions", "on 3 of 6 workloads".
	At string `json:"at,omitempty"`
	// Holds is the verdict. Why is the reason if the claim does not hold.
	Holds string `json:"holds"`
	Why   string `json:"why,omitempty"`
	// Tested says what supports the reason: "rows" if it is recomputed from them, or a test's name. "" means that the
	// reason is a conjecture.
	Tested string `json:"tested,omitempty"`
}

// Saying is a claim in a figure's declaration.
type Saying struct {
	Says    string
	Sense   Sense
	Number  float64
	Far     float64 // the other end of a range
	Unit    string
	Roughly bool
	// Rival says how the rival, or what is measured, differs from the paper's, or is "".
	Rival string
	// Find measures the claim's number.
	Find finder
	// Why is the reason if the claim does not hold.
	Why string

	shown showing // recomputes what the reason rests on
	test  string  // the name of the test that does
}

// Found is the result of measuring a claim's number.
type Found struct {
	Value  float64
	Beyond bool // a lower bound: a time-out
	At     string
	// None says why there is no number.
	None string
}

// judge compares the measured number with what the claim demands.
func (s *Saying) judge(r *Report) Claim {
	c := Claim{Says: s.Says, Sense: s.Sense, Number: s.Number, Far: s.Far, Unit: s.Unit, Roughly: s.Roughly,
		Holds: NotComparable}
	f := s.Find(r)
	if f.None != "" {
		c.At, c.Why = f.At, f.None
		return c
	}
	if math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
		c.Why = "too short to measure"
		return c
	}
	c.Measured, c.Here, c.Beyond, c.At = true, sixDigits(f.Value), f.Beyond, f.At
	if r.Scale == QuickScale.String() {
		c.Why = "the quick scale is too small"
		return c
	}
	c.Low, c.High, _ = s.interval(r)
	c.Holds = c.beyondNoise()
	switch {
	case c.Holds == WithinNoise:
		c.Why = "its interval has numbers on both sides of the paper's"
	case c.Holds == Holds && s.Rival != "":
		c.Holds, c.Why = NotComparable, s.Rival
	case c.Holds == Holds && c.tooFar():
		c.Holds, c.Why = NotComparable, "beyond twice what the paper says"
	case c.Holds == NotComparable:
		c.Why = "the time-out came too early"
	case c.Holds == Fails:
		c.Why, c.Tested = s.reason(r)
	}
	return c
}

// verdict applies claimRule to a claim with a measured number.
func (c *Claim) verdict() string {
	room := 0.0
	if c.Roughly || c.Sense == EqualTo {
		room = tenth * math.Abs(c.Number)
	}
	least, most := c.Here >= c.Number-room, c.Here <= c.Number+room
	var holds bool
	switch c.Sense {
	case AtLeast:
		holds = least
	case MoreThan:
		holds = c.Here > c.Number-room || c.Beyond && c.Here == c.Number-room
	case AtMost:
		holds = most
	case LessThan:
		holds = c.Here < c.Number+room
	case EqualTo:
		holds = least && most
	}
	up := c.Sense == AtLeast || c.Sense == MoreThan
	switch {
	case c.Beyond && holds && !up, c.Beyond && !holds && (up || c.Sense == EqualTo && !least):
		return NotComparable // what is beyond the bound is not known
	case holds:
		return Holds
	}
	return Fails
}

// beyondNoise returns the verdict if both ends of the interval have the same, otherwise WithinNoise.
func (c *Claim) beyondNoise() string {
	at := c.verdict()
	if c.Low == 0 && c.High == 0 {
		return at
	}
	for _, end := range []float64{c.Low, c.High} {
		there := *c
		if there.Here = end; there.verdict() != at {
			return WithinNoise
		}
	}
	return at
}

// tooFar reports whether the number is more than twice the paper's or, for an upper bound, less than half. It counts
// only if the paper's is a definite number: a factor against a rival, a range, or a rough number.
func (c *Claim) tooFar() bool {
	factor := strings.HasPrefix(c.Unit, "times as fast") || strings.HasPrefix(c.Unit, "times less") ||
		strings.HasPrefix(c.Unit, "times fewer")
	if c.Number == 1 || c.Far == 0 && !c.Roughly && !factor {
		return false
	}
	far := cmp.Or(c.Far, c.Number)
	switch c.Sense {
	case AtLeast, MoreThan:
		return c.Here > 2*far
	case AtMost, LessThan:
		return c.Here < far/2
	}
	return false
}

func sixDigits(v float64) float64 {
	out, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		return v
	}
	return out
}

// judgeAll recomputes the figure's claims from its points.
func (r *Report) judgeAll() {
	judge := func(s Saying) Claim { return s.judge(r) }
	r.Claims = slice.Map(r.fig.Says, judge)
	if r.fig.Bounds != nil {
		r.Claims = append(r.Claims, slice.Map(r.fig.Bounds(r), judge)...)
	}
}

// demanded returns what a claim demands, in words: "about 7.4 times or more".
func (c *Claim) demanded() string {
	switch {
	case c.Unit == all && c.Number == 1:
		return c.whole()
	case c.Number == 1 && c.once() != "":
		return c.once()
	}
	v := c.amount(c.Number)
	if c.Far != 0 {
		return number(min(c.Number, c.Far)) + " to " + c.amount(max(c.Number, c.Far))
	}
	if c.Roughly {
		v = "about " + v
	}
	if c.Sense == EqualTo {
		return v
	}
	return string(c.Sense) + " " + v
}

// here returns the measurement in words.
func (c *Claim) here() string {
	if !c.Measured {
		return "-"
	}
	v := c.enough()
	switch {
	case c.Unit == all:
		v = c.At
	case c.Unit == spread:
		more := map[bool]string{true: "more than "}[c.Beyond]
		return strings.TrimRight("the greatest is "+more+strings.TrimSuffix(v, spread)+"times the least "+c.At, " ")
	case c.At != "":
		v += " " + c.At
	}
	if c.Beyond {
		v = "more than " + v
	}
	if c.Low != c.High {
		v += fmt.Sprintf(" (95 %%: %s to %s)", number(c.Low), number(c.High))
	}
	return v
}

// all is the unit of claims about all of some rows, which are measured by a share.
const all = "of all"

func (c *Claim) amount(v float64) string {
	if c.Unit == all {
		return strconv.FormatFloat(100*v, 'g', 3, 64) + " % of them"
	}
	return strings.TrimRight(number(v)+" "+c.Unit, " ")
}

func (r *Report) writeClaims(b *bytes.Buffer, markdown bool) {
	if len(r.Claims) == 0 {
		return
	}
	who := "The paper"
	if r.fig.Own {
		who = "The bound"
		b.WriteString("The bounds:\n\n")
	} else {
		b.WriteString("What the paper claims:\n\n")
	}
	for _, c := range slice.Refs(r.Claims) {
		numbers := fmt.Sprintf(" %s: %s. Here: %s.", who, c.demanded(), c.here())
		if !c.Measured {
			numbers = "" // the claim in words has what the paper says
		}
		verdict := upper(c.Holds)
		if markdown {
			verdict = "**" + verdict + "**"
		}
		if c.Why != "" {
			verdict += ": " + c.Why
		}
		b.WriteString(wrapped("- ", fmt.Sprintf("%s.%s %s.", upper(c.Says), numbers, verdict)))
	}
	b.WriteString("\n")
	if !r.fig.Own {
		b.WriteString(wrapped("", claimRule))
		b.WriteString("\n")
	}
}

// The words for claims, which a reader must understand without this program.

// spread is the unit of claims that values are alike: the greatest divided by the least.
const spread = "times, the greatest to the least"

// whole returns the demand for all of some rows: "all 6 steps" if "2 of 6 steps" were found.
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

// comparatives are the words for "more than once as fast", "less than once as fast" and so on.
var comparatives = map[string]map[Sense]string{
	"as fast":     {MoreThan: "faster", LessThan: "slower"},
	"as long":     {MoreThan: "longer", LessThan: "shorter", AtMost: "no longer"},
	"as many":     {MoreThan: "more", LessThan: "fewer", AtLeast: "no fewer"},
	"as much":     {MoreThan: "more", LessThan: "less"},
	"less memory": {MoreThan: "less memory"},
	"fewer":       {MoreThan: "fewer"},
}

// once returns a demand of 1 in words: "faster", "less than the growth of the size". It returns "" if there are no
// such words.
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

// enough returns the measured number with as many digits as the verdict needs.
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

// named returns a metric's name with its unit, if it has one.
func (m *Metric) named() string {
	if m.Unit == "" {
		return m.Label
	}
	return m.Label + ", " + m.Unit
}

// The reason why a claim does not hold is also data. A reason that can be tested is recomputed from the rows of its
// figure, or by a named test; others are called conjectures.

// What supports a reason.
const (
	byRows  = "rows"
	refuted = "refuted" // the rows do not bear it out
)

// reason returns why a claim does not hold, and what supports this: byRows, refuted, a test's name, or "".
func (s *Saying) reason(r *Report) (why, tested string) {
	switch {
	case s.Why == "":
		return "not known", ""
	case s.test != "":
		return s.Why + " (" + s.test + ")", s.test
	case s.shown == nil:
		return "a conjecture: " + s.Why, ""
	}
	said, ok := s.shown(r)
	switch {
	case ok:
		return s.Why + " (" + said + ")", byRows
	case said == "":
		return "a conjecture: " + s.Why, ""
	}
	return "not known; these rows do not bear out that " + s.Why + " (" + said + ")", refuted
}

// showing recomputes what supports a reason. said is what it found, in words, or "" if these rows do not show it; ok
// says whether it supports the reason.
type showing func(r *Report) (said string, ok bool)

// shown says that a number must reach another one, like a claim's.
func shown(what string, find finder, sense Sense, n float64, unit string) showing {
	return func(r *Report) (string, bool) {
		f := find(r)
		if f.None != "" {
			return "", false
		}
		c := Claim{Sense: sense, Number: n, Here: sixDigits(f.Value), Beyond: f.Beyond, Unit: unit, At: f.At,
			Measured: true}
		v := c.verdict()
		if v == NotComparable {
			return "", false
		}
		return what + ": " + c.here(), v == Holds
	}
}

// allShown combines several.
func allShown(of ...showing) showing {
	return func(r *Report) (string, bool) {
		var said []string
		all := true
		for _, s := range of {
			text, ok := s(r)
			if text == "" {
				return "", false
			}
			said, all = append(said, text), all && ok
		}
		return strings.Join(said, "; "), all
	}
}
