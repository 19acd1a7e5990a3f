package bench

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"sync"
)

// claims.tsv has a row for each claim: the figure; the claim in words; its sense; its number (~ means roughly),
// perhaps a range, 60..100; its unit; how to measure the number, as a call of a finder; the reason if it does not
// hold; what supports the reason, a call that recomputes it from the rows or a test's name; and how the rival differs
// from the paper's.
//
//go:embed claims.tsv
var claimsTSV string

var claimsRead struct {
	once  sync.Once
	table map[string][]Saying
}

// claimsTable returns each figure's claims. It panics on a wrong row, since the table is part of the program.
func claimsTable() map[string][]Saying {
	claimsRead.once.Do(func() { claimsRead.table = readClaims() })
	return claimsRead.table
}

func readClaims() map[string][]Saying {
	out := map[string][]Saying{}
	w := finders()
	for i, line := range strings.Split(strings.TrimSuffix(claimsTSV, "\n"), "\n") {
		if i == 0 {
			continue // the columns' names
		}
		figure, s, err := w.claim(line)
		if err != nil {
			panic(fmt.Sprintf("claims.tsv:%d: %v", i+1, err))
		}
		out[figure] = append(out[figure], s)
	}
	return out
}

// words maps the names in expressions of claims.tsv to values. Expressions are Go's: numbers, texts, and calls of
// finders, which may be nested.
type words map[string]any

func (w words) claim(line string) (figure string, s Saying, err error) {
	c := strings.Split(line, "\t")
	if len(c) != 9 {
		return "", s, fmt.Errorf("%d columns; expected 9", len(c))
	}
	s = Saying{Says: c[1], Sense: Sense(c[2]), Unit: c[4], Why: c[6], Rival: c[8]}
	n, roughly := strings.CutPrefix(c[3], "~")
	s.Roughly = roughly
	n, far, ranges := strings.Cut(n, "..")
	if ranges && (s.Sense == AtMost || s.Sense == LessThan) {
		n, far = far, n
	}
	if ranges {
		err = w.evaluate(far, &s.Far)
	}
	if err == nil {
		err = w.evaluate(n, &s.Number)
	}
	if err == nil {
		err = w.evaluate(c[5], &s.Find)
	}
	switch {
	case strings.HasPrefix(c[7], "Test"):
		s.test = c[7]
	case c[7] != "" && err == nil:
		err = w.evaluate(c[7], &s.shown)
	}
	return c[0], s, err
}

// evaluate sets a variable to an expression's value.
func (w words) evaluate(text string, to any) error {
	e, err := parser.ParseExpr(text)
	if err != nil {
		return err
	}
	dst := reflect.ValueOf(to).Elem()
	v, err := w.valueOf(e, dst.Type())
	if err == nil {
		dst.Set(v)
	}
	return err
}

func (w words) valueOf(e ast.Expr, as reflect.Type) (v reflect.Value, err error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, err := strconv.Unquote(e.Value)
			if err != nil {
				return v, err
			}
			v = reflect.ValueOf(s)
		} else {
			n, err := strconv.ParseFloat(e.Value, 64)
			if err != nil {
				return v, err
			}
			v = reflect.ValueOf(n)
		}
	case *ast.UnaryExpr: // a negative number
		if v, err = w.valueOf(e.X, as); err == nil {
			v = reflect.ValueOf(-v.Float())
		}
	case *ast.BinaryExpr: // a fraction
		x, err := w.valueOf(e.X, as)
		if err != nil {
			return v, err
		}
		y, err := w.valueOf(e.Y, as)
		if err != nil {
			return v, err
		}
		v = reflect.ValueOf(x.Float() / y.Float())
	case *ast.Ident:
		word, ok := w[e.Name]
		if !ok {
			return v, fmt.Errorf("%s is no finder", e.Name)
		}
		v = reflect.ValueOf(word)
	case *ast.CallExpr:
		v, err = w.called(e)
	default:
		err = fmt.Errorf("%T is nothing that is known here", e)
	}
	if err != nil {
		return v, err
	}
	if !v.CanConvert(as) || (v.Kind() == reflect.String) != (as.Kind() == reflect.String) {
		return v, fmt.Errorf("%v where %v is expected", v.Type(), as)
	}
	return v.Convert(as), nil
}

// called evaluates a call of a finder.
func (w words) called(e *ast.CallExpr) (v reflect.Value, err error) {
	name, ok := e.Fun.(*ast.Ident)
	if !ok || w[name.Name] == nil {
		return v, fmt.Errorf("%v is no finder", e.Fun)
	}
	f := reflect.ValueOf(w[name.Name])
	t := f.Type()
	fixed := t.NumIn()
	if t.IsVariadic() {
		fixed--
	}
	if len(e.Args) < fixed || len(e.Args) > fixed && !t.IsVariadic() {
		return v, fmt.Errorf("%s has %d arguments; expected %d", name.Name, len(e.Args), fixed)
	}
	var in []reflect.Value
	for i, a := range e.Args {
		as := t.In(min(i, t.NumIn()-1))
		if i >= fixed {
			as = as.Elem()
		}
		x, err := w.valueOf(a, as)
		if err != nil {
			return v, fmt.Errorf("%s: %w", name.Name, err)
		}
		in = append(in, x)
	}
	return f.Call(in)[0], nil
}

// finders returns the functions that measure claims, by their names in claims.tsv.
func finders() words {
	return words{
		"AtLeast": AtLeast, "AtMost": AtMost, "MoreThan": MoreThan, "LessThan": LessThan, "EqualTo": EqualTo,
		"all": all, "spread": spread, "true": true, "false": false, "list": func(of ...string) []string { return of },
		"aCollection": aCollection, "abortsMore": abortsMore, "above": above, "afterLoading": afterLoading,
		"allShown": allShown, "among": among, "anyGroup": anyGroup, "anyPoint": anyPoint, "atSize": atSize,
		"both": both, "bugsFound": bugsFound, "building": building, "bySeries": bySeries, "byWorkload": byWorkload,
		"cobraAsBE": cobraAsBE, "collectedLonger": collectedLonger, "collectedMost": collectedMost,
		"difference": difference, "elleOfTwoFaster": elleOfTwoFaster, "endsWith": endsWith, "extreme": extreme,
		"falls": falls, "fallsOver": fallsOver, "first": first, "firstFactor": firstFactor, "firstValue": firstValue,
		"foundAll": foundAll, "foundBy": foundBy, "growing": growing, "growingCollected": growingCollected,
		"gtRises": gtRises, "highest": highest, "in": in, "inGroups": inGroups, "last": last[float64],
		"lastFactor": lastFactor, "lastGrowth": lastGrowth, "lastValue": lastValue, "lateAbove": lateAbove,
		"least": least, "leastKnown": leastKnown, "leastSteady": leastSteady, "longestStage": longestStage,
		"majorFactors": majorFactors, "mean": mean, "mentions": mentions, "misses": misses, "moreBy": moreBy,
		"moreTrials": moreTrials, "most": most, "not": not, "ofSeries": ofSeries, "outgrows": outgrows,
		"outpaces": outpaces, "overClosure": overClosure, "overCobra": overCobra, "perTransaction": perTransaction,
		"percent": percent, "ratio": ratio, "rises": rises, "risesOver": risesOver,
		"risingUntilLoaded": risingUntilLoaded, "sameHistory": sameHistory, "shareOf": shareOf,
		"shorterOnes": shorterOnes, "shortest": shortest, "shown": shown, "shownUnderPurdom": shownUnderPurdom,
		"shrinking": shrinking, "sizeMatters": sizeMatters, "squared": squared, "stageShare": stageShare,
		"standbyNotFound": standbyNotFound, "startsWith": startsWith, "steady": steady, "steepening": steepening,
		"stepping": stepping, "sum": sum, "throughput": throughput, "timesAt": timesAt, "timesLast": timesLast,
		"timesLeast": timesLeast, "timesMost": timesMost, "trialsFaster": trialsFaster, "underPurdom": underPurdom,
		"valueAt": valueAt, "valueOver": valueOver, "varies": varies, "warshallTakes": warshallTakes,
		"wasChecked": wasChecked, "without": without,
	}
}
