package report

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"

	"isovet/evidence"
	"isovet/internal/plural"
)

// markup is a part of a page that is escaped already.
type markup string

// pageWriter writes a page. It does not use html/template, which finds methods by name at run time: the linker then
// keeps every method of every type, which made the program a seventh larger.
type pageWriter struct{ strings.Builder }

// f writes a format with arguments. It escapes every string except markup, for use in element text and in attributes
// in double quotes.
func (p *pageWriter) f(format string, args ...any) {
	for i, a := range args {
		switch a := a.(type) {
		case markup:
			args[i] = string(a)
		case string:
			args[i] = esc(a)
		case int, uint32: // no letter of theirs has a meaning
		default:
			panic(fmt.Sprintf("report: %T in a page", a))
		}
	}
	fmt.Fprintf(p, format, args...)
}

// inText escapes a string for element text only. It keeps quotes, since histories are full of them.
func inText(s string) markup { return markup(strings.ReplaceAll(esc(s), "&#34;", `"`)) }

// link returns the address and the text of a link relative to the page. Any other address becomes "#".
func link(to string) (href, text string) {
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "" || u.Host != "" {
		return "#", to
	}
	return u.String(), u.Path
}

// table writes names and values. If numbers is set, the values stand left, as numbers; otherwise the names do, as
// heads of the rows.
func (p *pageWriter) table(rows []pair, numbers bool) {
	p.f("<table>")
	for _, r := range rows {
		if numbers {
			p.f(`<tr><td class="num">%s</td><td>%s</td></tr>`, r.Value, r.Name)
		} else {
			p.f(`<tr><th scope="row">%s</th><td>%s</td></tr>`, r.Name, r.Value)
		}
	}
	p.f("</table>\n")
}

// heads writes the first row of a table.
func (p *pageWriter) heads(names ...string) {
	p.f("<table><tr>")
	for _, n := range names {
		p.f(`<th scope="col">%s</th>`, n)
	}
	p.f("</tr>\n")
}

// frame writes a timeline with its buttons, or nothing if there is no timeline.
func (p *pageWriter) frame(timeline markup) {
	if timeline != "" {
		p.f("<div class=\"frame\"><div class=\"tools\" hidden=\"hidden\"></div>\n"+
			"<div class=\"figure scroll\" tabindex=\"0\" role=\"region\" "+
			"aria-label=\"Timeline of the transactions by session\">%s</div></div>\n", timeline)
	}
}

func (p *pageWriter) page(d *pageData) {
	p.f(`<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="%s"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<title>%s</title>
%s
</head>
<body>
%s
<header>
<h1>%s</h1>
`, policy, strings.TrimPrefix(d.Verdict+": "+d.Name, ": "), styleElement, markup(heads()), d.Name)
	if d.Verdict != "" {
		of := cmp.Or(d.Of, "at")
		if d.Verdict == evidence.Violated.String() {
			of = "of"
		}
		p.f("<p><span class=\"verdict %s\">%s</span> %s <b>%s</b></p>\n", d.Verdict, d.Verdict, of, d.Level)
	}
	if d.About != "" {
		p.f("<p class=\"soft\">%s promises: %s</p>\n", d.Level, d.About)
	}
	if d.Reason != "" {
		p.f("<p>%s</p>\n", d.Reason)
	}
	p.f("<p class=\"soft\">%s</p>\n", d.Summary)
	if len(d.Meta) > 0 {
		p.table(d.Meta, false)
	}
	if len(d.Kinds) > 0 {
		p.f("<p>Anomalies found, by kind:</p>\n")
		p.table(d.Kinds, true)
	}
	p.f("</header>\n<main>\n")
	p.levels(d)
	for i := range d.Anomalies {
		p.anomaly(&d.Anomalies[i])
	}
	if d.More > 0 {
		p.f("<p class=\"soft\">%s found and not shown.</p>\n",
			plural.Phrase(d.More, "further anomaly was", "further anomalies were"))
	}
	p.mechanisms(d.Mechanisms)
	if d.Small != "" || d.Shrink != "" {
		p.f("<section><h2>The smallest history that shows it</h2>\n")
		if d.Small != "" {
			href, text := link(d.Small)
			p.f(`<p><a href="%s">%s</a> is the smallest part of this history that still
violates the level. It serves a bug report, and shows what went wrong.</p>
`, href, text)
		} else {
			p.f(`<p>This history has more transactions than the violation needs. This command finds the smallest part that shows it:</p>
<pre tabindex="0">%s</pre>
`, d.Shrink)
		}
		p.f("</section>\n")
	}
	p.order(d.Order)
	p.run(d.Run)
	p.legend(d.Deps)
	p.f("<section><h2>Statistics</h2>\n<dl class=\"pairs\">")
	for _, s := range d.Stats {
		p.f("<div><dt>%s</dt><dd>%s</dd></div>", s.Name, s.Value)
	}
	p.f("</dl></section>\n</main>\n%s\n</body>\n</html>\n", scriptElement)
}

func (p *pageWriter) levels(d *pageData) {
	if d.Lattice == "" {
		return
	}
	p.f("<section><h2>The levels</h2>\n<div class=\"figure\">%s</div>\n", d.Lattice)
	p.heads("level", "verdict", "checker", "anomaly, or why it is unknown")
	for _, l := range d.Levels {
		p.f("<tr><td>")
		if l.To != "" {
			p.f(`<a href="#%s">%s</a>`, l.To, l.Level)
		} else {
			p.f("%s", l.Level)
		}
		p.f("</td><td><span class=\"verdict %s\">%s</span></td><td>%s</td><td>%s</td></tr>\n", l.Verdict, l.Verdict,
			l.Checker, l.What)
	}
	p.f("</table>\n</section>\n")
}

func (p *pageWriter) anomaly(a *pageAnomaly) {
	p.f("<section class=\"anomaly\" id=\"%s\">\n<h2>%s</h2>\n", a.ID, a.Title)
	if a.Short.Who == "" {
		p.operations(a)
		return
	}
	p.f("<dl class=\"short\">\n<div><dt>Which transactions</dt><dd>%s</dd></div>\n", a.Short.Who)
	if a.Short.Rows != "" {
		p.f("<div><dt>Which rows</dt><dd>%s</dd></div>\n", a.Short.Rows)
	}
	if a.Short.Should != "" {
		p.f("<div><dt>What the database should have done</dt><dd>%s</dd></div>\n", a.Short.Should)
	}
	p.f("</dl>\n")
	p.frame(a.Timeline)
	p.lists(a.Lists)
	p.linear(a.Linear)
	if a.Many != "" {
		p.f("<p>%s</p>\n", a.Many)
	}
	for i := range a.Cases {
		p.oneCase(&a.Cases[i])
	}
	if a.More > 0 {
		p.f("<p class=\"soft\">%s not drawn; the JSON output and the certificate have all.</p>\n",
			plural.Phrase(a.More, "more case is", "more cases are"))
	}
	open := markup("")
	if len(a.Cases) == 0 {
		open = ` open="open"`
	}
	p.f("<details class=\"text\"%s><summary>The argument as text</summary>\n<pre tabindex=\"0\">%s</pre></details>\n",
		open, a.Text)
	if len(a.Short.Txns) > 0 {
		p.f("<details class=\"text\"><summary>The transactions</summary>\n")
		p.heads("transaction", "session", "status", "time", "in the file")
		for _, t := range a.Short.Txns {
			p.f("<tr data-t=\"%d\"><td>%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n", t.T, t.Name,
				t.Session, t.Status, t.Times, t.Where)
		}
		p.f("</table></details>\n")
	}
	p.f("</section>\n")
}

// operations writes the part of an anomaly's section that shows operations.
func (p *pageWriter) operations(a *pageAnomaly) {
	if a.About != "" {
		p.f("<p class=\"soft\">%s</p>\n", a.About)
	}
	p.f("<pre tabindex=\"0\">%s</pre>\n", a.Text)
	if a.Timeline != "" {
		p.f("<div class=\"figure scroll\" tabindex=\"0\" role=\"region\" aria-label=\"The operations by process\">%s"+
			"</div>\n", a.Timeline)
	}
	p.heads("line", "process", "operation", "result", "outcome")
	for _, o := range a.Operations {
		p.f("<tr><td>%d</td><td>%s</td><td class=\"mono\">%s</td><td class=\"mono\">%s</td><td>%s</td></tr>\n", o.Line,
			fmt.Sprint(o.Process), Clip(o.F+" "+o.Value, 1000), Clip(o.Result, 1000), o.Status)
	}
	p.f("</table>\n</section>\n")
}

// lists writes what each transaction read from lists.
func (p *pageWriter) lists(lists []pageList) {
	for _, l := range lists {
		p.f("<p class=\"soft\">Every read of list %s, in the order of its elements. Marked: elements that "+
			"contradict the longest read, or come from an aborted transaction.</p>\n<table class=\"list\">\n", l.Key)
		for _, r := range l.Rows {
			p.f(`<tr><th scope="row">%s</th><td>`, r.Who)
			for _, e := range r.Elems {
				odd, about := markup(""), markup("")
				if e.Odd {
					odd = " odd"
				}
				if e.About != "" {
					about = markup(` title="` + esc(e.About) + `"`)
				}
				p.f(`<span class="elem%s"%s>%s</span> `, odd, about, e.Text)
			}
			if len(r.Elems) == 0 {
				p.f(`<span class="soft">empty</span>`)
			}
			p.f("</td></tr>\n")
		}
		p.f("</table>\n")
		if l.More > 0 {
			p.f("<p class=\"soft\">and %s</p>\n", plural.Phrase(l.More, "more read", "more reads"))
		}
	}
}

// linear writes the longest order of a register's operations, and the operations that cannot follow.
func (p *pageWriter) linear(l *pageLinear) {
	if l == nil {
		return
	}
	p.f("<p>The longest order of the operations on %s in real time", l.Key)
	if l.Left > 0 {
		p.f(", without its first %d", l.Left)
	}
	p.f(", and the value after each:</p>\n")
	p.heads("transaction", "operations", "value then")
	for _, s := range l.Steps {
		p.f("<tr data-t=\"%d\"><td>%s</td><td class=\"mono\">%s</td><td class=\"mono\">%s</td></tr>\n", s.T, s.Name,
			s.Ops, s.Then)
	}
	p.f("</table>\n")
	if len(l.Stuck) == 0 {
		return
	}
	p.f("<p>The operations that may come next in real time:</p>\n<table>")
	for _, s := range l.Stuck {
		p.f(`<tr data-t="%d"><td>%s</td><td class="mono">%s</td><td>%s</td></tr>`, s.T, s.Name, s.Ops, s.Then)
	}
	p.f("</table>\n")
}

func (p *pageWriter) oneCase(c *pageCase) {
	p.f("<div class=\"case\" id=\"%s\" data-case=\"%d\">\n", c.ID, c.N)
	if c.Of > 1 {
		p.f("<h3>Case %d of %d</h3>\n", c.N, c.Of)
	}
	p.f("<div class=\"pair\">\n")
	if c.Figure != "" {
		p.f("<div class=\"figure\">%s</div>\n", c.Figure)
	}
	p.f("<ol class=\"steps\">\n")
	for _, s := range c.Steps {
		if s.ID == "" {
			p.f("<li>%s</li>\n", s.Text)
			continue
		}
		p.f("<li><details class=\"step\" data-e=\"%s\"><summary><span class=\"dep d-%s\">%s</span> %s</summary>\n"+
			"<ul class=\"rests\">", s.ID, s.Dep, s.Dep, s.Text)
		for _, r := range s.Rests {
			p.f("<li>%s</li>", r)
		}
		p.f("</ul></details></li>\n")
	}
	if c.So != "" {
		p.f("<li class=\"so\">%s</li>\n", c.So)
	}
	p.f("</ol>\n</div>\n</div>\n")
}

// mechanisms writes which mechanisms of the database failed, by its profile.
func (p *pageWriter) mechanisms(m *pageMechanisms) {
	if m == nil {
		return
	}
	p.f("<section id=\"mechanisms\"><h2>Mechanisms, under profile %s</h2>\n", m.Profile)
	if len(m.Violations) == 0 {
		p.f("<p>No mechanism failed.</p>\n</section>\n")
		return
	}
	p.f("<p>These findings assume that the database works as the profile says. A finding marked as proved violates " +
		"the level without that assumption.</p>\n")
	p.table(m.Found, false)
	for _, v := range m.Violations {
		p.f("<div class=\"anomaly\"><h3>%s", v.Title)
		if v.Proved {
			p.f(" (proved)")
		}
		p.f("</h3>\n<p>%s</p>\n<p class=\"soft\">Assuming that %s.</p>\n", v.Text, v.Assumes)
		p.frame(v.Timeline)
		p.f("</div>\n")
	}
	if m.More > 0 {
		p.f("<p class=\"soft\">and %d more</p>\n", m.More)
	}
	p.f("</section>\n")
}

func (p *pageWriter) order(o *pageOrder) {
	if o == nil {
		return
	}
	p.f("<section class=\"anomaly\" id=\"order\"><h2>%s</h2>\n<p>%s</p>\n", o.Title, o.About)
	if o.Timeline != "" {
		p.f("<p class=\"soft\">%s; %s each to the next.</p>\n", o.Drawn, o.Lines)
		p.frame(o.Timeline)
	}
	p.f("<p class=\"search\" hidden=\"hidden\"><label>Search the order by transaction, key or value: " +
		"<input type=\"search\"/></label> <output></output></p>\n")
	for _, g := range o.Groups {
		p.f("<details class=\"group\"><summary>%s%d to %d</summary>\n", g.Key, g.From, g.To)
		p.orderRows(&g, o.Shown)
		p.f("</details>\n")
	}
	if o.More > 0 {
		p.f("<p class=\"soft\">%d more are not listed; the certificate has the whole order.</p>\n", o.More)
	}
	p.f("</section>\n")
}

// orderRows writes a group of an order as text, one line for each transaction. The page's script makes a table of it:
// as markup, 2,000 rows would be half as long again. Lines of the first shown rows name their number in the timeline.
func (p *pageWriter) orderRows(g *orderGroupOf, shown int) {
	var in []string
	for _, r := range g.Rows {
		if r.N <= shown {
			in = append(in, fmt.Sprint(r.T))
		}
	}
	p.f("<pre class=\"rows\" tabindex=\"0\" data-from=\"%d\" data-rows=\"%s\">", g.From, strings.Join(in, " "))
	column := strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")
	for _, r := range g.Rows {
		p.f("%s\t%s\t%s", r.Name, inText(column.Replace(r.Ops)), r.Line)
		if r.Saw != "" {
			p.f("\t%s", column.Replace(r.Saw))
		}
		p.f("\n")
	}
	p.f("</pre>")
}

func (p *pageWriter) run(r *pageRun) {
	if r == nil {
		return
	}
	p.f("<section id=\"run\"><h2>The run</h2>\n<p class=\"soft\">%s</p>\n<div class=\"figure scroll\">%s</div>\n",
		r.About, r.Figures)
	for i, k := range r.Timelines {
		p.f("<details class=\"text\"%s><summary>Timeline of %s</summary>\n<div class=\"figure scroll tall\" "+
			"tabindex=\"0\" role=\"region\" aria-label=\"Timeline\">%s</div></details>\n",
			[...]markup{` open="open"`, ""}[min(i, 1)], k.Name, markup(k.Value))
	}
	p.f("</section>\n")
}

func (p *pageWriter) legend(deps []pair) {
	if len(deps) == 0 {
		return
	}
	p.f(`<section><h2>How to read this</h2>
<p>An arrow from one transaction to another says that the first must come before the second. No order satisfies
a cycle of such arrows. Point at an arrow, or open a sentence, to see its reason. T7 is the transaction with id 7 in the file.</p>
<table>`)
	for _, d := range deps {
		p.f(`<tr><td><svg class="key" width="34" height="12" aria-hidden="true"><g class="edge d-%s"><path class="line" `+
			`d="M1,6 H32" marker-end="url(#head-%s)"/></g></svg> <b class="dep d-%s">%s</b></td><td>%s</td></tr>`, d.Name,
			d.Name, d.Name, d.Name, d.Value)
	}
	p.f(`</table>
<p class="soft keys" hidden="hidden">Keys: up and down go through the sentences, left and right through the cases, Enter opens a sentence, Escape
lets go; + and − zoom the timeline, 0 fits it, s draws it to scale.</p>
</section>
`)
}
