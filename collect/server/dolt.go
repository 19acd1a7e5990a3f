package server

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
)

// startDolt starts Dolt's SQL server with its own home folder, so that it does not touch the user's files, and without
// its usage reports.
func startDolt(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	bin, ports, data, err := c.single("dolt", arg, "dolt", 1)
	if err != nil {
		return err
	}
	c.env = append(c.env, "HOME="+c.dir, "DOLT_ROOT_PATH="+c.dir, "DOLT_DISABLE_EVENT_FLUSH=1")
	for _, set := range [][2]string{{"user.name", "isovet"}, {"user.email", "isovet@localhost"},
		{"metrics.disabled", "true"}} {
		if err := c.Run(ctx, bin, "config", "--global", "--add", set[0], set[1]); err != nil {
			return err
		}
	}
	args := []string{"sql-server", "--host", "127.0.0.1", "--port", strconv.Itoa(ports[0]), "--data-dir", data,
		"--loglevel", "error"}
	for _, o := range sorted(options) {
		args = append(args, "--"+o[0]+"="+o[1])
	}
	return c.Add(ctx, "dolt", fmt.Sprintf("dolt://root@127.0.0.1:%d/isovet", ports[0]), c.Command(bin, args...),
		Listening(c.host(), ports[0]))
}
