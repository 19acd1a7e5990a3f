package server

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// pgFolders are the folders where packages install the binaries.
var pgFolders = []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin",
	"/opt/homebrew/opt/postgresql@*/bin"}

// startPostgres starts one server or, with "standby", a primary and its hot standby. A commit on the primary then
// waits for the standby, and for the disk. Without this wait, a commit would become visible so soon after its record
// was written that the two servers would hardly ever show commits in different orders.
func startPostgres(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	if arg != "" && arg != "standby" {
		return fmt.Errorf("%q; expected postgres:start or postgres:start:standby", arg)
	}
	initdb, err := c.Find("initdb", pgFolders...)
	if err != nil {
		return err
	}
	bin := func(name string) string { return filepath.Join(filepath.Dir(initdb), name) }
	if err := c.as("postgres"); err != nil {
		return err
	}
	if err := c.linkLibraries(filepath.Dir(filepath.Dir(initdb))); err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	if err := c.Run(ctx, initdb, "-D", data, "-U", "postgres", "--auth=trust", "--no-sync", "--locale=C", "-E",
		"UTF8"); err != nil {
		return err
	}
	if arg == "standby" {
		if err := c.spaces(ctx, 2); err != nil {
			return err
		}
	}
	if err := c.letIn(data); err != nil {
		return err
	}
	ports, err := FreePorts(2)
	if err != nil {
		return err
	}
	settings := c.postgresSettings(arg == "standby", options)
	server := func(data string, port int, more ...string) func() *exec.Cmd {
		args := []string{"-D", data, "-p", strconv.Itoa(port), "-c", "listen_addresses=" + c.host()}
		for _, k := range slices.Sorted(maps.Keys(settings)) {
			args = append(args, "-c", k+"="+settings[k])
		}
		for _, m := range more {
			args = append(args, "-c", m)
		}
		return c.Command(bin("postgres"), args...)
	}
	add := func(name, data string, port int, more ...string) error {
		host := c.host()
		return c.Add(ctx, name, fmt.Sprintf("postgres://postgres@%s:%d/postgres", host, port), server(data, port,
			more...), postgresReady(host, port))
	}
	if arg == "" {
		return add("postgres", data, ports[0])
	}
	primary := c.host()
	if err := add("primary", data, ports[0]); err != nil {
		return err
	}
	standby := filepath.Join(c.dir, "standby")
	if err := c.Run(ctx, bin("pg_basebackup"), "-h", primary, "-p", strconv.Itoa(ports[0]), "-U", "postgres", "-D",
		standby, "-R", "-c", "fast", "-X", "stream", "--no-sync"); err != nil {
		return err
	}
	return add("standby", standby, ports[1], "fsync=off", "hot_standby=on")
}

// postgresSettings returns the server's settings. The requested ones come last, so that they win.
func (c *Cluster) postgresSettings(standby bool, options url.Values) map[string]string {
	settings := map[string]string{
		"unix_socket_directories": c.dir, "max_connections": "300",
		"shared_buffers": "256MB",
		"max_wal_size":   "4GB", "max_pred_locks_per_transaction": "512", "deadlock_timeout": "10ms",
		"logging_collector":  "off",
		"autovacuum_naptime": "5s", "fsync": "off", "full_page_writes": "off",
	}
	if standby {
		settings["fsync"] = "on"
		settings["synchronous_commit"] = "on"
	}
	for _, o := range sorted(options) {
		settings[o[0]] = o[1]
	}
	return settings
}

// letIn admits clients from the addresses of the cluster's network.
func (c *Cluster) letIn(data string) error {
	if c.net == nil {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(data, "pg_hba.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "host all all %s0/24 trust\nhost replication all %[1]s0/24 trust\n", c.net.base)
	return errors.Join(err, f.Close())
}

// postgresReady returns a check that a server accepts clients. The check connects like a client.
func postgresReady(host string, port int) func(context.Context) error {
	const who = "user\x00postgres\x00database\x00postgres\x00\x00"
	hello := binary.BigEndian.AppendUint32(nil, uint32(8+len(who)))
	hello = append(binary.BigEndian.AppendUint32(hello, 3<<16), who...)
	return func(ctx context.Context) error {
		d := net.Dialer{Timeout: 5 * time.Second}
		c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return err
		}
		defer c.Close()
		if err := c.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
			return err
		}
		if _, err := c.Write(hello); err != nil {
			return err
		}
		var answer [1]byte
		if _, err := io.ReadFull(c, answer[:]); err != nil {
			return err
		}
		if answer[0] != 'R' { // it asks for a password, or accepts
			return errors.New("it is not ready")
		}
		_, err = c.Write([]byte{'X', 0, 0, 0, 4}) // end of the connection
		return err
	}
}

// linkLibraries makes links to libraries in a folder of the cluster. The npm package lacks these links and lists them
// in pg-symlinks.json.
func (c *Cluster) linkLibraries(at string) error {
	text, err := os.ReadFile(filepath.Join(at, "pg-symlinks.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(at, "pg-symlinks.json"), err)
	}
	lib, err := c.sub("lib")
	if err != nil {
		return err
	}
	for _, l := range links {
		err := os.Symlink(filepath.Join(filepath.Dir(at), l.Source), filepath.Join(lib, filepath.Base(l.Target)))
		if err != nil {
			return err
		}
	}
	c.env = append(c.env, "LD_LIBRARY_PATH="+lib+string(os.PathListSeparator)+filepath.Join(at, "lib"))
	return nil
}
