package seen

import (
	"bytes"
	"encoding/json"
	"fmt"

	"isovet/history/format/jsonl"
	"isovet/watch"
)

// detail is an incident in full.
type detail struct {
	Missing string // why there is none
	Row     row
	Lines   []shownLine
	More    string // violations of which there is no line
	Command string // finds the smallest history that shows one
}

// shownLine is a violation.
type shownLine struct {
	N              int64
	Says           string
	Standing       string
	Raw            string
	Figure         *figure
	Argument       string // of the certificate
	Edges          []string
	Files          []pair // what it is, and its name in the folder
	Why, Commands  string // why there is no evidence; how to check it
	TitleID, DefID string
}

// evidenceOf is what an incident names, and what its lines do.
func evidenceOf(in *watch.Incident) []watch.Evidence {
	out := in.Evidence
	for _, raw := range in.Lines {
		var l line
		if json.Unmarshal(raw, &l) == nil && l.History != "" {
			out = append(out, watch.Evidence{N: l.N, History: l.History, Certificate: l.Certificate})
		}
	}
	return out
}

// detail makes the page of an incident.
func (p *live) detail(in *watch.Incident) *detail {
	d := &detail{Row: p.row(*in), Command: shown(p.o.Shrink, 500)}
	files := evidenceOf(in)
	for _, raw := range in.Lines {
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			continue
		}
		s := shownLine{N: l.N, Says: l.sentence(), Raw: shown(string(raw), 4000),
			TitleID: fmt.Sprintf("figure-%d", l.N), DefID: fmt.Sprintf("arrow-%d", l.N)}
		switch {
		case l.Proved && l.Anomaly != "":
			s.Standing = "proved: " + shown(l.Anomaly, 60)
		case l.Proved:
			s.Standing = "proved"
		case l.Assumes != "":
			s.Standing = "holds if the database works as " + shown(l.Assumes, 100) + " says"
		}
		for _, e := range files {
			if e.N == l.N {
				p.show(&s, &l, &e)
				break
			}
		}
		d.Lines = append(d.Lines, s)
	}
	if left := in.Count - int64(len(d.Lines)); left > 0 {
		d.More = plural(left, "more violation")
	}
	return d
}

// show adds what the evidence of a violation has.
func (p *live) show(s *shownLine, l *line, e *watch.Evidence) {
	s.Why = shown(e.Why, 300)
	if e.History == "" {
		return
	}
	text, err := p.file(e.History)
	if err != nil {
		s.Why = "The history of this violation cannot be read: " + shown(err.Error(), 200)
		return
	}
	s.Files = append(s.Files, pair{"history", e.History})
	h, err := jsonl.Read(text, e.History)
	if err != nil {
		s.Why = "The history of this violation cannot be read: " + shown(err.Error(), 200)
		return
	}
	d := &drawn{h: h, chief: l.named(), key: string(l.Key), txn: l.Txn, op: l.Op, ts: p.stamped(l)}
	if e.Certificate != "" {
		if text, err := p.file(e.Certificate); err == nil {
			s.Files = append(s.Files, pair{"certificate", e.Certificate})
			s.Argument, d.edges = argument(text)
			for _, x := range d.edges {
				s.Edges = append(s.Edges, x.says())
				d.chief = append(d.chief, x.From, x.To)
			}
		}
	}
	s.Figure = d.draw()
}

// stamped reports whether a violation is one of timestamps.
func (p *live) stamped(l *line) bool {
	switch l.Axiom {
	case "SESSION", "INT", "EXT", "NOCONFLICT", "TIMESTAMPS":
		return true
	}
	return false
}

// argument is what a certificate says in words of the first anomaly, and its cycle.
func argument(text []byte) (string, []edge) {
	_, rest, _ := bytes.Cut(text, []byte("\n")) // behind the header
	first, _, _ := bytes.Cut(rest, []byte("\n"))
	var a struct {
		Cycle []edge `json:"cycle"`
		Text  string `json:"text"`
	}
	if json.Unmarshal(first, &a) != nil {
		return "", nil
	}
	const most = 30
	if len(a.Cycle) > most {
		a.Cycle = a.Cycle[:most]
	}
	return lines(a.Text, 60), a.Cycle
}
