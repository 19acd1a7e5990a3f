package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"isovet/internal/slice"
)

// Results is a file of raw results: the command, the machine, the program, and every single measurement.
type Results struct {
	Command  string       `json:"command"`
	Time     time.Time    `json:"time"`
	Commit   string       `json:"commit,omitempty"`
	Go       string       `json:"go"`
	Machine  Machine      `json:"machine"`
	Seed     uint64       `json:"seed"`
	Parts    []ResultPart `json:"rows"`
	Complete bool         `json:"complete"` // false: interrupted
}

// ResultPart is a row with its runs.
type ResultPart struct {
	Row
	Runs []Measured `json:"runs"`
}

// Machine describes the machine of a measurement.
type Machine struct {
	OS       string  `json:"os"`
	Arch     string  `json:"arch"`
	CPU      string  `json:"cpu,omitempty"`
	Cores    int     `json:"cores"`
	MemoryMB float64 `json:"memory_mb,omitempty"`
}

// ThisMachine describes this machine, as far as the system tells.
func ThisMachine() Machine {
	m := Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU()}
	m.CPU = procField("/proc/cpuinfo", "model name")
	if kb, err := strconv.ParseFloat(strings.TrimSuffix(procField("/proc/meminfo", "MemTotal"), " kB"),
		64); err == nil {
		m.MemoryMB = float64(int(kb * 1024 / 1e6))
	}
	return m
}

// procField returns the first value of a field in a "name: value" file of Linux, or "".
func procField(file, name string) string {
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(b) {
		if k, v, ok := strings.Cut(string(line), ":"); ok && strings.TrimSpace(k) == name {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// commit returns the program's version in its repository, if it is known.
func commit() string {
	in, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	c, dirty := "", ""
	for _, s := range in.Settings {
		switch {
		case s.Key == "vcs.revision":
			c = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if c == "" { // go run, or built without version control: that of the folder it is run in
		b, err := exec.Command("git", "describe", "--always", "--dirty=+dirty", "--abbrev=40", "--exclude=*").Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	}
	return c + dirty
}

// WriteResults writes a results file to a folder, which it makes if necessary, and returns its path. The name follows
// from the command, so that a new measurement replaces the old one.
func WriteResults(dir, command string, seed uint64, complete bool, rows []Row) (string, error) {
	if len(rows) == 0 {
		return "", fmt.Errorf("there are no results to write")
	}
	r := Results{Command: command, Time: time.Now().UTC().Truncate(time.Second), Commit: commit(),
		Go: runtime.Version(), Machine: ThisMachine(), Seed: seed, Complete: complete,
		Parts: slice.Map(rows, func(row Row) ResultPart { return ResultPart{row, row.Runs} })}
	b, err := json.MarshalIndent(&r, "", " ")
	if err != nil {
		return "", err
	}
	return writeResults(dir, resultsName(rows)+".json", append(b, '\n'))
}

// writeResults writes a file to a folder, which it makes if necessary, and returns its path.
func writeResults(dir, name string, b []byte) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, writeWhole(path, b)
}

func resultsName(rows []Row) string {
	first := rows[0].source()
	parts := []string{"compare"}
	variants := map[string]bool{}
	for i := range rows {
		variants[rows[i].Variant] = true
	}
	switch {
	case first.File != "":
		parts = append(parts, "files")
	case len(variants) > 1:
		parts = append(parts, first.Workload, "all", strconv.Itoa(first.Txns))
	default:
		parts = append(parts, first.Workload, first.Variant, strconv.Itoa(first.Txns))
	}
	return strings.ToLower(strings.Join(append(parts, rows[0].Level.String()), "-"))
}
