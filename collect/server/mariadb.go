package server

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

type mariadb struct{ server, install, admin string }

func findMariaDB(c *Cluster) (m mariadb, err error) {
	var errs [3]error
	m.server, errs[0] = c.Find("mariadbd", "/usr/sbin", "/usr/libexec", "/opt/homebrew/opt/mariadb/bin")
	m.install, errs[1] = c.Find("mariadb-install-db", "/usr/bin", "/opt/homebrew/opt/mariadb/bin")
	m.admin, errs[2] = c.Find("mariadb-admin", "/usr/bin", "/opt/homebrew/opt/mariadb/bin")
	return m, errors.Join(errs[:]...)
}

func (m mariadb) prepare(ctx context.Context, c *Cluster, data string) error {
	args := []string{"--no-defaults", "--datadir=" + data, "--auth-root-authentication-method=normal", "--skip-test-db",
		"--skip-name-resolve"}
	if c.user != (owner{}) {
		args = append(args, "--user=mysql")
	}
	if c.net != nil {
		// Clients then come from an address of the network, for which no root user exists by default.
		users := filepath.Join(c.dir, "users.sql")
		text := fmt.Sprintf("insert into mysql.global_priv select '%s%%', user, priv from mysql.global_priv where "+
			"host = 'localhost' and user = 'root';\n", c.net.base)
		if err := os.WriteFile(users, []byte(text), 0o644); err != nil {
			return err
		}
		args = append(args, "--extra-file="+users)
	}
	return c.Run(ctx, m.install, args...)
}

// node returns the command of a server with its data, its port and further settings.
func (m mariadb) node(c *Cluster, data, host string, port int, settings map[string]string,
	options url.Values) func() *exec.Cmd {
	all := map[string]string{
		"datadir": data, "port": strconv.Itoa(port), "bind-address": host, "socket": filepath.Join(c.dir,
			strconv.Itoa(port)+".sock"),
		"pid-file": filepath.Join(data, "pid"), "innodb-flush-log-at-trx-commit": "2", "skip-name-resolve": "1",
		"max-connections":         "300",
		"innodb-buffer-pool-size": "256M", "skip-log-bin": "", "innodb-flush-method": "nosync",
	}
	maps.Copy(all, settings)
	for _, o := range sorted(options) {
		all[strings.ReplaceAll(o[0], "_", "-")] = o[1]
	}
	args := []string{"--no-defaults"}
	for k, v := range all {
		if v == "" {
			args = append(args, "--"+k)
		} else {
			args = append(args, "--"+k+"="+v)
		}
	}
	return c.Command(m.server, args...)
}

// ready returns a check that a server answers.
func (m mariadb) ready(host string, port int) func(context.Context) error {
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		return exec.CommandContext(ctx, m.admin, "--no-defaults", "--protocol=tcp", "-h", host, "-P",
			strconv.Itoa(port), "-u", "root", "ping").Run()
	}
}

func mariadbURL(host string, port int) string {
	return fmt.Sprintf("mysql://root@%s:%d/isovet", host, port)
}

func startMariaDB(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	if arg != "" {
		return fmt.Errorf("%q; expected mariadb:start", arg)
	}
	m, err := findMariaDB(c)
	if err != nil {
		return err
	}
	if err := c.as("mysql"); err != nil {
		return err
	}
	ports, err := FreePorts(1)
	if err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	if err := m.prepare(ctx, c, data); err != nil {
		return err
	}
	host, port := c.host(), ports[0]
	return c.Add(ctx, "mariadb", mariadbURL(host, port), m.node(c, data, host, port, nil, options), m.ready(host, port))
}

// galeraFolders are the folders where packages install the replication library.
var galeraFolders = []string{"/usr/lib/galera", "/usr/lib64/galera-4", "/usr/lib64/galera",
	"/opt/homebrew/opt/galera/lib"}

// startGalera starts a cluster, one node after the other. The first node makes the cluster, the others copy its data.
func startGalera(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	n := 3
	if arg != "" {
		var err error
		if n, err = strconv.Atoi(arg); err != nil || n < 1 || n > 9 {
			return fmt.Errorf("%q; expected galera:start:N with 1 to 9 nodes", arg)
		}
	}
	m, err := findMariaDB(c)
	if err != nil {
		return err
	}
	lib, err := findGalera()
	if err != nil {
		return err
	}
	if _, err := find("rsync"); err != nil {
		return err
	}
	if err := c.as("mysql"); err != nil {
		return err
	}
	const each = 4 // ports a node: clients, group, state transfer, incremental state transfer
	ports, err := FreePorts(each * n)
	if err != nil {
		return err
	}
	if err := c.spaces(ctx, n); err != nil {
		return err
	}
	var group []string
	for i := range n {
		group = append(group, fmt.Sprintf("%s:%d", c.hostOf(i), ports[each*i+1]))
	}
	members := "gcomm://" + strings.Join(group, ",")
	for i := range n {
		data := filepath.Join(c.dir, "data"+strconv.Itoa(i))
		if err := m.prepare(ctx, c, data); err != nil {
			return err
		}
		p, host := ports[each*i:], c.hostOf(i)
		settings := map[string]string{
			"wsrep-provider": lib, "wsrep-on": "ON", "binlog-format": "ROW", "innodb-autoinc-lock-mode": "2",
			"wsrep-sst-method":   "rsync",
			"wsrep-node-address": group[i], "wsrep-node-name": "node" + strconv.Itoa(i+1),
			"wsrep-cluster-name":          "isovet",
			"wsrep-sst-receive-address":   fmt.Sprintf("%s:%d", host, p[2]),
			"wsrep-node-incoming-address": fmt.Sprintf("%s:%d", host, p[0]),
			"wsrep-provider-options": fmt.Sprintf(
				"base_port=%d;gmcast.listen_addr=tcp://%s:%d;ist.recv_addr=%s:%d;gcache.size=64M", p[1], host, p[1],
				host, p[3]),
			"wsrep-cluster-address": members,
		}
		command := m.node(c, data, host, p[0], settings, options)
		first := true
		start := func() *exec.Cmd {
			cmd := command()
			if i == 0 && first {
				cmd.Args = append(cmd.Args, "--wsrep-new-cluster")
			}
			first = false
			return cmd
		}
		if err := c.Add(ctx, "node"+strconv.Itoa(i+1), mariadbURL(host, p[0]), start, m.ready(host, p[0])); err != nil {
			return err
		}
	}
	return nil
}

// findGalera finds MariaDB's replication library.
func findGalera() (string, error) {
	for _, f := range galeraFolders {
		if p := filepath.Join(f, "libgalera_smm.so"); exists(p) {
			return p, nil
		}
	}
	return "", fmt.Errorf("%w: no libgalera_smm.so in %s", ErrMissing, strings.Join(galeraFolders, ", "))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
