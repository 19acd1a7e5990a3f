package server

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// startMySQL starts Oracle's server, or a similar one.
func startMySQL(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	if arg != "" {
		return fmt.Errorf("%q; expected mysql:start", arg)
	}
	bin, err := c.Find("mysqld", "/usr/sbin", "/usr/libexec", "/usr/local/mysql/bin", "/opt/homebrew/opt/mysql/bin")
	if err != nil {
		return err
	}
	if to, err := filepath.EvalSymlinks(bin); err == nil && filepath.Base(to) == "mariadbd" {
		return fmt.Errorf("%w: %s is MariaDB; expected mariadb:start, or MySQL's folder as "+
			"mysql:start?bin=FOLDER", ErrMissing, bin)
	}
	if os.Geteuid() == 0 {
		if err := c.as("mysql"); err != nil {
			return err
		}
	}
	ports, err := FreePorts(1)
	if err != nil {
		return err
	}
	data := filepath.Join(c.dir, "data")
	args := []string{"--no-defaults", "--datadir=" + data}
	if err := c.Run(ctx, bin, append(args, "--initialize-insecure")...); err != nil {
		return err
	}
	args = append(args, "--port="+strconv.Itoa(ports[0]), "--bind-address=127.0.0.1", "--mysqlx=OFF",
		"--socket="+filepath.Join(c.dir, "s"), "--pid-file="+filepath.Join(data, "pid"), "--skip-name-resolve",
		"--max-connections=300", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=2",
		"--innodb-buffer-pool-size=256M")
	for _, o := range sorted(options) {
		args = append(args, "--"+strings.ReplaceAll(o[0], "_", "-")+"="+o[1])
	}
	return c.Add(ctx, "mysql", fmt.Sprintf("mysql://root@127.0.0.1:%d/isovet", ports[0]), c.Command(bin, args...),
		Listening(c.host(), ports[0]))
}
