package driver

import (
	"isovet/internal/pattern"
	"runtime/debug"
	"strings"
)

// Asker asks a server for the first value of a statement's first row; "" if it refuses.
type Asker func(statement string) string

// own finds the name and version that a fork or a re-implementation adds to those of the original database:
// "8.0.30-Vitess", "5.7.25-TiDB-v5.4.0", "PostgreSQL 13.14.0-RisingWave-1.7.0 (…)".
var own = pattern.Lazy(`^(?:PostgreSQL )?[0-9][0-9.]*-([A-Za-z]{3,})(?:-?[vV]?([0-9][^ ,]*))?`)

// notOwn are words in that place that name a build and not a product.
var notOwn = pattern.Lazy(`(?i)^(?:log|debug|ubuntu|debian|deb|beta|alpha|rc|dmr|server|community|enterprise|` +
	`ndb|cluster|release|dev|devel|standard|google|azure|rds|commercial|snapshot|nightly|p?gdg|el)$`)

var releaseLine = pattern.Lazy(`(?i)release version:\s*(\S+)`)

// ReleaseOf returns the version in an answer, which may have several lines, as TiDB's has.
func ReleaseOf(v string) string {
	if m := releaseLine().FindStringSubmatch(v); m != nil {
		return strings.TrimPrefix(m[1], "v")
	}
	v, _, _ = strings.Cut(strings.TrimSpace(v), "\n")
	return v
}

// ForkName returns the fork's name and version from a server's answer to a question for its version; "" if it names no
// other product.
func ForkName(version string) string {
	if m := own().FindStringSubmatch(version); m != nil && !notOwn().MatchString(m[1]) {
		return strings.TrimSpace(m[1] + " " + m[2])
	}
	return ""
}

// Refusal returns a server's reason for refusing a statement; "": it accepted the statement.
func Refusal(err error) string {
	if err == nil {
		return ""
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// ModuleVersion returns the version of a module that this program is linked with; "" if it is unknown.
func ModuleVersion(path string) string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range b.Deps {
		if m.Path == path {
			return m.Path + " " + m.Version
		}
	}
	return ""
}
