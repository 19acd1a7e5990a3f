package console

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func NewVersion(e *Env) *cobra.Command {
	var asJSON bool
	c := Command("version", Exactly(), func(*cobra.Command, []string) error {
		v := BuildVersion()
		if asJSON {
			return JSONLine(e.Stdout, v)
		}
		_, err := fmt.Fprintln(e.Stdout, v)
		return err
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return c
}

type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func (v versionInfo) String() string {
	s := "isovet " + v.Version
	if v.Commit != "" {
		s += " (" + v.Commit + ")"
	}
	return fmt.Sprintf("%s, %s, %s", s, v.Go, v.Platform)
}

// BuildVersion is what the Go toolchain wrote into the program.
func BuildVersion() versionInfo {
	v := versionInfo{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	in, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if in.Main.Version != "" {
		v.Version = in.Main.Version
	}
	dirty := false
	for _, s := range in.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.modified":
			dirty = s.Value == "true"
		}
	}
	if dirty && v.Commit != "" {
		v.Commit += "+dirty"
	}
	return v
}
