package server

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
)

// h2Jars are the paths where packages install H2.
var h2Jars = []string{"/usr/share/java/h2.jar", "/usr/share/java/h2-*.jar"}

// startH2 starts H2's server of PostgreSQL's protocol. Its settings are Java properties: h2:start?h2.maxCompactTime=0.
func startH2(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	if arg != "" {
		return fmt.Errorf("%q; expected h2:start", arg)
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return fmt.Errorf("%w: no java in PATH", ErrMissing)
	}
	jar := c.bin
	for _, pattern := range h2Jars {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		slices.SortFunc(found, byVersion)
		if jar == "" && len(found) > 0 {
			jar = found[len(found)-1]
		}
	}
	if jar == "" || !exists(jar) {
		return fmt.Errorf("%w: no %s", ErrMissing, h2Jars[0])
	}
	ports, err := FreePorts(1)
	if err != nil {
		return err
	}
	data, err := c.sub("data")
	if err != nil {
		return err
	}
	args := []string{"-Dh2.bindAddress=127.0.0.1", "-XX:+UseSerialGC"}
	for _, o := range sorted(options) {
		args = append(args, "-D"+o[0]+"="+o[1])
	}
	args = append(args, "-cp", jar, "org.h2.tools.Server", "-pg", "-pgPort", strconv.Itoa(ports[0]), "-baseDir", data,
		"-ifNotExists")
	return c.Add(ctx, "h2", fmt.Sprintf("h2://sa@127.0.0.1:%d/isovet?sslmode=disable", ports[0]),
		c.Command(java, args...),
		Listening(c.host(), ports[0]))
}
