package server

import (
	"context"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
)

// pgFolders are where packages put the binaries.
var pgFolders = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
	"/opt/homebrew/opt/postgresql@*/bin"}

// startPostgres starts one server, or with "standby" a primary and its hot standby. A commit on the primary then waits
// until the standby shows it, and for the disk: without any wait between the commit record and the moment when the
// primary shows the commit, the two hardly ever show commits in different orders.
func startPostgres(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	if arg != "" && arg != "standby" {
		return fmt.Errorf("%q; expected postgres:start or postgres:start:standby", arg)
	}
	initdb, err := find("initdb", pgFolders...)
	if err != nil {
		return err
	}
	bin := func(name string) string { return filepath.Join(filepath.Dir(initdb), name) }
	if err := c.as("postgres"); err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	if err := c.run(ctx, initdb, "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "--locale=C", "-E",
		"UTF8"); err != nil {
		return err
	}
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	settings := map[string]string{
		"listen_addresses": "127.0.0.1", "unix_socket_directories": c.dir, "max_connections": "300",
		"shared_buffers": "256MB",
		"max_wal_size":   "4GB", "max_pred_locks_per_transaction": "512", "deadlock_timeout": "10ms",
		"logging_collector":  "off",
		"autovacuum_naptime": "5s", "fsync": "off", "full_page_writes": "off",
	}
	if arg == "standby" {
		settings["fsync"] = "on"
		settings["synchronous_commit"] = "on"
	}
	for _, o := range sorted(options) {
		settings[o[0]] = o[1]
	}
	server := func(data string, port int, more ...string) func() *exec.Cmd {
		args := []string{"-D", data, "-p", strconv.Itoa(port)}
		for k, v := range settings {
			args = append(args, "-c", k+"="+v)
		}
		for _, m := range more {
			args = append(args, "-c", m)
		}
		return c.server(bin("postgres"), args...)
	}
	ready := func(port int) func(context.Context) error {
		return func(ctx context.Context) error {
			return exec.CommandContext(ctx, bin("pg_isready"), "-q", "-h", "127.0.0.1", "-p", strconv.Itoa(port), "-U",
				"postgres", "-d", "postgres").Run()
		}
	}
	at := func(port int) string { return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres", port) }
	if arg == "" {
		return c.add(ctx, "postgres", at(ports[0]), server(data, ports[0]), ready(ports[0]))
	}
	if err := c.add(ctx, "primary", at(ports[0]), server(data, ports[0]), ready(ports[0])); err != nil {
		return err
	}
	standby := filepath.Join(c.dir, "standby")
	if err := c.run(ctx, bin("pg_basebackup"), "-h", "127.0.0.1", "-p", strconv.Itoa(ports[0]), "-U", "postgres", "-D",
		standby, "-R", "-c", "fast", "-X", "stream", "--no-sync"); err != nil {
		return err
	}
	return c.add(ctx, "standby", at(ports[1]), server(standby, ports[1], "fsync=off", "hot_standby=on"),
		ready(ports[1]))
}
