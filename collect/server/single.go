package server

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"isovet/internal/slice"
)

// single returns a Kind.Start for a database that is one program: where it listens (%s is the port, of several the
// first), its arguments for its ports and a folder for its data, and the form of a setting of the user's as arguments.
func single(name, program string, ports int, at string, arguments func(ctx context.Context, c *Cluster, bin string,
	ports []string, data string) ([]string, error), setting func(name, value string) []string) starting {
	return func(ctx context.Context, c *Cluster, arg string, options url.Values) error {
		if arg != "" {
			return fmt.Errorf("%q; expected %s:start", arg, name)
		}
		bin, err := c.Find(program, "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
		if err != nil {
			return err
		}
		free, err := FreePorts(ports)
		if err != nil {
			return err
		}
		data, err := c.sub("data")
		if err != nil {
			return err
		}
		texts := slice.Map(free, strconv.Itoa)
		args, err := arguments(ctx, c, bin, texts, data)
		if err != nil {
			return err
		}
		for _, o := range sorted(options) {
			args = append(args, setting(o[0], o[1])...)
		}
		return c.Add(ctx, name, fmt.Sprintf(at, texts[0]), c.Command(bin, args...), Listening(c.host(), free[0]))
	}
}

// startRedis starts a server that writes each change to its file before it answers.
var startRedis = single("redis", "redis-server", 1, "redis://127.0.0.1:%s",
	func(_ context.Context, _ *Cluster, _ string, ports []string, data string) ([]string, error) {
		return []string{"--bind", "127.0.0.1", "--port", ports[0], "--dir", data, "--save", "", "--appendonly", "yes",
			"--appendfsync", "no", "--daemonize", "no"}, nil
	}, func(name, value string) []string { return []string{"--" + name, value} })

// startTiDB starts one server with its built-in storage (unistore), as in its developers' tests.
var startTiDB = single("tidb", "tidb-server", 2, "tidb://root@127.0.0.1:%s/isovet",
	func(_ context.Context, c *Cluster, _ string, ports []string, data string) ([]string, error) {
		return []string{"-store", "unistore", "-path", data, "-host", "127.0.0.1", "-P", ports[0], "-L", "error",
			"-status", ports[1], "-status-host", "127.0.0.1", "-socket", c.dir + "/s"}, nil
	}, func(name, value string) []string { return []string{"-" + name + "=" + value} })

// startDolt starts Dolt's SQL server with its own home folder, so that it does not touch the user's files, and without
// its usage reports.
var startDolt = single("dolt", "dolt", 1, "dolt://root@127.0.0.1:%s/isovet",
	func(ctx context.Context, c *Cluster, bin string, ports []string, data string) ([]string, error) {
		c.Setenv("HOME="+c.dir, "DOLT_ROOT_PATH="+c.dir, "DOLT_DISABLE_EVENT_FLUSH=1")
		for _, set := range [][2]string{{"user.name", "isovet"}, {"user.email", "isovet@localhost"},
			{"metrics.disabled", "true"}} {
			if err := c.Run(ctx, bin, "config", "--global", "--add", set[0], set[1]); err != nil {
				return nil, err
			}
		}
		return []string{"sql-server", "--host", "127.0.0.1", "--port", ports[0], "--data-dir", data, "--loglevel",
			"error"}, nil
	}, func(name, value string) []string { return []string{"--" + name + "=" + value} })
