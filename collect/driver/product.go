package driver

import (
	"isovet/internal/pattern"
	"runtime/debug"
	"strings"
)

// Asker returns the server's answer to a statement, the first value of the first row, or "" if the server refuses.
type Asker func(statement string) string

// own finds the name and version that a fork or re-implementation adds to the original database's version:
// "8.0.30-Vitess", "5.7.25-TiDB-v5.4.0", "PostgreSQL 13.14.0-RisingWave-1.7.0 (…)".
var own = pattern.Lazy(`^(?:PostgreSQL )?[0-9][0-9.]*-([A-Za-z]{3,})(?:-?[vV]?([0-9][^ ,]*))?`)

// notOwn matches words in that place that name a build instead of a product.
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

// ForkName returns a fork's name and version from its answer about its version, or "" if that names no other product.
func ForkName(version string) string {
	if m := own().FindStringSubmatch(version); m != nil && !notOwn().MatchString(m[1]) {
		return strings.TrimSpace(m[1] + " " + m[2])
	}
	return ""
}

// Refusal returns a server's reason for refusing a statement, or "" if it did not refuse.
func Refusal(err error) string {
	if err == nil {
		return ""
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// ModuleVersion returns the version of a module that this program contains, or "" if it is unknown.
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
