package report

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"isovet/check/workloads"
	"isovet/level"
)

// sarif writes SARIF 2.1.0: one run with a result for each finding, at the line of its first transaction. An unknown
// verdict is a warning. Valid histories have no result.
//
// Source: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, §3.
func sarif(version string) Stream {
	return Stream{
		Begin: func(w io.Writer, _, _ int) error {
			driver := sarifDriver{Name: "isovet", Version: version}
			for _, k := range append(level.Anomalies(), level.Session, level.Int, level.Ext, level.NoConflict,
				level.Timestamps) {
				driver.Rules = append(driver.Rules, sarifRule{ID: string(k), Name: ruleName(string(k)),
					Short: sarifText{string(k) + ": " + k.Name()}})
			}
			for _, k := range workloads.Kinds() {
				if slices.ContainsFunc(driver.Rules, func(r sarifRule) bool { return r.ID == k.Name }) {
					continue
				}
				driver.Rules = append(driver.Rules, sarifRule{ID: k.Name, Name: ruleName(k.Name),
					Short: sarifText{k.Name + ": " + k.About}})
			}
			for _, r := range [][2]string{{"unknown", "the checker did not decide"},
				{"bad-input", "the file is not a history"}} {
				driver.Rules = append(driver.Rules, sarifRule{ID: r[0], Name: ruleName(r[0]), Short: sarifText{r[1]}})
			}
			b, err := json.Marshal(driver)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(w, `{"$schema":"https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/`+
				`sarif-schema-2.1.0.json","version":"2.1.0","runs":[{"tool":{"driver":%s},`+
				`"columnKind":"utf16CodeUnits","results":[`+"\n", b)
			return err
		},
		Item: func(w io.Writer, _, _, said int, it *Item) error {
			var all []sarifResult
			for _, fs := range it.all() {
				all = append(all, sarifResults(it.Path, fs)...)
			}
			if it.unanswered() {
				all = append(all, sarifResult{Rule: "bad-input", Level: "error", Message: sarifText{it.errText()},
					Locations: []sarifLocation{it.mistake().sarif()}})
			}
			for i := range all {
				b, err := json.Marshal(&all[i])
				if err != nil {
					return err
				}
				if said+i > 0 {
					b = append([]byte(","), b...)
				}
				if _, err := w.Write(append(b, '\n')); err != nil {
					return err
				}
			}
			return nil
		},
		End: func(w io.Writer, status int, reason string) error {
			v := sarifInvocation{Successful: status == 0 || status == 1 || status == 2, ExitCode: status,
				Description: reason}
			b, err := json.Marshal(&v)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(w, `],"invocations":[%s]}]}`+"\n", b)
			return err
		},
	}
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version,omitempty"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string    `json:"id"`
	Name  string    `json:"name"`
	Short sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifResult struct {
	Rule         string            `json:"ruleId"`
	Level        string            `json:"level"`
	Message      sarifText         `json:"message"`
	Locations    []sarifLocation   `json:"locations"`
	Related      []sarifLocation   `json:"relatedLocations,omitempty"`
	Fingerprints map[string]string `json:"partialFingerprints,omitempty"`
	Properties   *sarifProperties  `json:"properties,omitempty"`
}

type sarifProperties struct {
	Kind     string  `json:"kind"`
	Level    string  `json:"isolationLevel,omitempty"`
	Workload string  `json:"workload,omitempty"`
	Of       int     `json:"count,omitempty"` // of its kind
	Txns     []int64 `json:"transactions,omitempty"`
	Checker  string  `json:"checker,omitempty"`
}

type sarifLocation struct {
	ID       int           `json:"id,omitempty"`
	Physical sarifPhysical `json:"physicalLocation"`
	Message  *sarifText    `json:"message,omitempty"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   *sarifRegion  `json:"region,omitempty"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

type sarifInvocation struct {
	Successful  bool   `json:"executionSuccessful"`
	ExitCode    int    `json:"exitCode"`
	Description string `json:"exitCodeDescription,omitempty"`
}

func sarifResults(path string, fs []finding) (out []sarifResult) {
	for _, f := range fs {
		s := sarifResult{Rule: f.kind, Level: "error", Message: sarifText{f.title + "\n" + f.text},
			Locations:  []sarifLocation{f.at.sarif()},
			Properties: &sarifProperties{f.kind, f.level, f.workload, f.of, f.txns, f.checker}}
		if f.unknown {
			s.Level = "warning"
		} else {
			s.Rule = base(f.kind)
			sum := sha256.Sum256([]byte(filepath.Base(path) + "\x00" + f.title + "\x00" + f.text))
			s.Fingerprints = map[string]string{"anomaly/v1": hex.EncodeToString(sum[:16])}
		}
		for i, p := range f.with {
			l := p.sarif()
			l.ID, l.Message = i+1, &sarifText{p.what}
			s.Related = append(s.Related, l)
		}
		out = append(out, s)
	}
	return out
}

// base returns the rule's id for a kind of anomaly: the kind without the suffix for the orders that it needs.
func base(kind string) string {
	for _, end := range []string{"-session", "-process", "-realtime"} {
		if b, ok := strings.CutSuffix(kind, end); ok {
			return b
		}
	}
	return kind
}

func (p spot) sarif() sarifLocation {
	file := inRepository(p.file)
	u := url.URL{Path: filepath.ToSlash(file)}
	switch {
	case file == "-":
		u.Path = "stdin"
	case filepath.IsAbs(file):
		u.Scheme = "file"
		if !strings.HasPrefix(u.Path, "/") {
			u.Path = "/" + u.Path
		}
	}
	l := sarifLocation{Physical: sarifPhysical{Artifact: sarifArtifact{URI: u.String()}}}
	if p.line > 0 {
		l.Physical.Region = &sarifRegion{p.line}
	}
	return l
}

// ruleName returns a rule's name in the form that SARIF requires: words joined.
func ruleName(id string) string {
	var b strings.Builder
	for _, word := range strings.Split(id, "-") {
		if word != "" {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}
