package incident

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"isovet/collect"
	"isovet/evidence"
	"isovet/history/format/jsonl"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/report"
)

// title describes the incident in a line.
func (x *Incident) title() string {
	return fmt.Sprintf("%s: %s where %s is expected", cmp.Or(x.Database.Name, "The database"), x.Anomaly, x.Level)
}

// why explains the violation in the smallest history.
func (x *Incident) why() string {
	var b strings.Builder
	if err := report.Text(&b, historyFile, x.answer, report.TextOptions{MaxAnomalies: 1}); err != nil {
		return err.Error()
	}
	return strings.TrimRight(b.String(), "\n")
}

// Markdown writes the report in a form that can be pasted into a tracker.
func (x *Incident) Markdown(w io.Writer) error {
	var b bytes.Buffer
	d := &x.Database
	fmt.Fprintf(&b, "# %s: %s where %s is expected\n\n", escape.Markdown(cmp.Or(x.Database.Name, "The database")),
		x.Anomaly, x.Level)
	if x.about != "" {
		fmt.Fprintf(&b, "**%s**: %s.\n\n", x.Anomaly, x.about)
	}
	if x.Replay != nil && x.Replay.Violated > 0 {
		fmt.Fprintf(&b, "%s in a fixed order repeat it: **%s was violated in %d of %s**, each on fresh tables of "+
			"the same server.", sessions(x.Replay.Sessions), x.Level, x.Replay.Violated,
			plural.Of(x.Replay.Runs, "run"))
		if n := x.Replay.ControlRuns; n > 0 {
			fmt.Fprintf(&b, " Control: the same transactions, one after the other, violated it in %d of %s.",
				x.Replay.ControlViolated, plural.Of(n, "run"))
		}
		b.WriteString("\n\n")
	}
	x.server(&b)
	if len(x.events) > 0 {
		x.repeat(&b)
	}
	x.plans(&b)
	fmt.Fprintf(&b, "## Why this is a violation\n\n")
	subject := "The history was checked at"
	if x.implied && x.promised() {
		subject = escape.Markdown(cmp.Or(d.Isolation, "The database")) + " promises"
	}
	fmt.Fprintf(&b, "%s **%s**: %s.", subject, x.Level, x.answer.Level.About())
	if d.Promise != "" {
		fmt.Fprintf(&b, " The documentation %s.", d.Promise)
		if strings.Contains(strings.Join(d.URLs, " "), "?") {
			b.WriteString(" It speaks of default settings, but the URL sets parameters.")
		}
	}
	fmt.Fprintf(&b, "\n\n")
	b.WriteString(escape.Fence("", x.why()))
	x.locking(&b)
	x.asFound(&b)
	if d.Promise == "" || x.promised() { // otherwise there is nothing to file
		x.known(&b)
	}
	x.check(&b)
	_, err := w.Write(b.Bytes())
	return err
}

// promised reports whether the database's documentation excludes the violation.
func (x *Incident) promised() bool { return strings.HasPrefix(x.Database.Promise, "forbids") }

func sessions(n int) string {
	if n == 1 {
		return "One session's statements"
	}
	return fmt.Sprintf("The statements of %d sessions", n)
}

// server describes the database and the sessions' settings.
func (x *Incident) server(b *bytes.Buffer) {
	d := &x.Database
	fmt.Fprintf(b, "## The database\n\n")
	say := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "- %s: %s\n", name, value)
		}
	}
	say("Server", escape.Code(d.Name))
	say("Version", escape.Code(d.Version))
	if len(d.Nodes) > 1 {
		say("Nodes", escape.Code(strings.Join(d.Nodes, ", ")))
	}
	asked := ""
	if d.Asked != "" {
		asked = ", asked for as " + escape.Code(d.Asked)
	}
	say("URL", escape.Code(strings.Join(d.URLs, " ")))
	say("Started by isovet as", escape.Code(d.Started))
	say("Plan", escape.Markdown(d.OtherPlan))
	say("Isolation in force", escape.Code(d.Isolation)+asked)
	fmt.Fprintln(b)
	if len(d.Settings)+len(d.Session)+len(d.Setup) == 0 {
		return
	}
	fmt.Fprintf(b, "Every session begins with:\n\n")
	var all []string
	for _, s := range d.Settings {
		if s.Refused != "" {
			all = append(all, "-- refused: "+s.SQL+" -- "+s.Refused)
		} else {
			all = append(all, s.SQL+";")
		}
	}
	for _, q := range d.Session {
		all = append(all, q+";")
	}
	b.WriteString(escape.Fence("sql", strings.Join(all, "\n")))
	if len(d.Setup) > 0 {
		fmt.Fprintf(b, "Run once, after the load:\n\n")
		b.WriteString(escape.Fence("sql", strings.Join(d.Setup, ";\n")+";"))
	}
}

// repeat describes how to repeat the violation.
func (x *Incident) repeat(b *bytes.Buffer) {
	d := &x.Database
	fmt.Fprintf(b, "## How to repeat it\n\n")
	b.WriteString(escape.Fence("sh", x.replayCommand()))
	_, n := lines(x.events)
	switch {
	case len(d.Tables) == 0:
	case n <= mostScripts:
		fmt.Fprintf(b, "Or by hand, with a client for each session: run `setup.sql`, then the statements of "+
			"`session-1.sql` to `session-%d.sql` in the order of their numbers. The comments say where to wait.\n\n", n)
	default:
		fmt.Fprintf(b, "Or by hand, with %d clients: the tables first, then the statements in their order.\n\n", n)
	}
	x.tables(b)
	b.WriteString(escape.Fence("", table(x.events)))
	if x.repro.Last != nil {
		fmt.Fprintf(b, "What the clients saw is in `%s`, its certificate in `%s`.\n\n", playedFile, playedCert)
	}
}

// tables writes the statements that make and load the tables.
func (x *Incident) tables(b *bytes.Buffer) {
	if d := &x.Database; len(d.Tables) > 0 {
		fmt.Fprintf(b, "The tables and their first rows (`u` is the version: every write gives it a new number):\n\n")
		b.WriteString(escape.Fence("sql", strings.Join(slices.Concat(d.Tables, x.rows, d.After), ";\n")+";"))
	}
}

func (x *Incident) replayCommand() string {
	command := "isovet replay THIS-FOLDER"
	for _, u := range x.Database.URLs {
		command += " --db " + escape.Shell(u)
	}
	return command
}

// plans writes the database's plan of each statement.
func (x *Incident) plans(b *bytes.Buffer) {
	if len(x.Plans) == 0 {
		return
	}
	fmt.Fprintf(b, "## How the server runs the statements\n\nEXPLAIN of each statement, on the tables as they are "+
		"loaded:\n\n")
	var text strings.Builder
	for _, p := range x.Plans {
		fmt.Fprintf(&text, "%s;\n", p.Statement)
		for _, l := range p.Plan {
			fmt.Fprintf(&text, "    %s\n", l)
		}
	}
	b.WriteString(escape.Fence("", text.String()))
}

// known writes links to earlier reports, or to the tracker where to look for them.
func (x *Incident) known(b *bytes.Buffer) {
	if len(x.Known) == 0 {
		return
	}
	fmt.Fprintf(b, "## Known before?\n\n")
	if x.Known[0].Tracker {
		fmt.Fprintf(b, "isovet knows of no report. Look for one before you file this: [%s](%s).\n\n", x.Known[0].Name,
			x.Known[0].Link)
		return
	}
	fmt.Fprintf(b, "A violation of this kind is known. Compare before you file this:\n\n")
	for _, k := range x.Known {
		fmt.Fprintf(b, "- [%s](%s)\n", k.Name, k.Link)
	}
	fmt.Fprintln(b)
}

// locking says which reads lock rows and so do not read from the snapshot.
func (x *Incident) locking(b *bytes.Buffer) {
	any := func(es []collect.Event) bool {
		return slices.ContainsFunc(es, func(e collect.Event) bool { return e.Locking })
	}
	if any(x.events) || any(x.found) {
		fmt.Fprintf(b, "Reads with locks (`SELECT … FOR UPDATE`, and what an update or a delete finds) are marked in "+
			"the tables here. If the violation depends on one, look up whether the isolation level counts such a "+
			"read as one of the transaction's snapshot.\n\n")
	}
}

// asFound writes the events of the transactions when the violation was found.
func (x *Incident) asFound(b *bytes.Buffer) {
	fmt.Fprintf(b, "## As it was found\n\n")
	if x.Command != "" {
		b.WriteString(escape.Fence("sh", x.Command))
	}
	if len(x.events) == 0 {
		x.tables(b)
	}
	by := ""
	if x.Workload != "" {
		by = " by workload " + escape.Code(x.Workload)
	}
	if x.Hunt != "" {
		fmt.Fprintf(b, "The hunt took %s. ", x.Hunt)
	}
	fmt.Fprintf(b, "The history had %s%s. These are the transactions of its smallest part that shows the violation, "+
		"in the order of time:\n\n", x.whole, by)
	if len(x.found) > 0 {
		b.WriteString(escape.Fence("", table(x.found)))
		if x.Command != "" {
			fmt.Fprintf(b, "%s\n\n", renamed)
		}
	}
	if x.Replay != nil && x.Replay.Violated == 0 {
		fmt.Fprintf(b, "The statements played one after the other did not repeat it (%s): it needs statements that "+
			"run at the same moment. The command above hunts for it again.", plural.Of(x.Replay.Runs, "run"))
		if _, n := lines(x.order); len(x.Database.Tables) > 0 && n <= mostScripts {
			fmt.Fprintf(b, " The tables are in `%s`, each session's statements in `session-1.sql` to `session-%d.sql`.",
				setupFile, n)
		}
		b.WriteString("\n\n")
	}
}

// renamed tells the reader how the names in a shrunk history relate to those in the recording.
const renamed = "The smallest history has the same transaction numbers; its keys and values may have shorter names."

// check says how to verify the incident without a database.
func (x *Incident) check(b *bytes.Buffer) {
	fmt.Fprintf(b, "## How to verify it without a database\n\n")
	var text bytes.Buffer
	if err := jsonl.Write(&text, x.answer.H); err == nil && text.Len() < 20_000 {
		fmt.Fprintf(b, "The smallest history, a transaction a line with what it read (`r`) and wrote (`w`):\n\n")
		b.WriteString(escape.Fence("json", text.String()))
	}
	how := ""
	if x.answer.Timestamps { // else it would be decided without them
		how = "--checker chronos "
	}
	b.WriteString(escape.Fence("sh", fmt.Sprintf("isovet check %s--level %s %s\nisovet verify %s %s", how, x.Level,
		historyFile, certFile, historyFile)))
	fmt.Fprintf(b, "Its content has the SHA-256 %s.", escape.Code(evidence.ContentHash(x.answer.H)))
	if x.Made != "" {
		fmt.Fprintf(b, " This page and the others were written on %s by %s.", x.Recorded, x.Made)
	}
	b.WriteByte('\n')
}
