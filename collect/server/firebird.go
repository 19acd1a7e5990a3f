package server

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// Firebird is for programs that have a driver for it. They must call Register with it.
var Firebird = Kind{"firebird", "firebird:start", startFirebird}

// Register adds a kind of server to All.
func Register(k Kind) { kinds = append(kinds, k) }

// startFirebird starts a server with its own folder for settings, users and data. The settings name the address, since
// with the option for the port the server would listen on all addresses.
func startFirebird(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	if arg != "" {
		return fmt.Errorf("%q; expected firebird:start", arg)
	}
	bin, err := c.find("firebird", "/usr/sbin", "/opt/firebird/bin")
	if err != nil {
		return err
	}
	isql, err := c.find("isql-fb", "/usr/bin")
	if err != nil {
		if isql, err = c.find("isql", "/opt/firebird/bin"); err != nil {
			return err
		}
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	users, data := filepath.Join(c.dir, "security3.fdb"), filepath.Join(c.dir, "isovet.fdb")
	settings := map[string]string{"RemoteBindAddress": "127.0.0.1", "RemoteServicePort": fmt.Sprint(ports[0]),
		"DatabaseAccess": "Full", "SecurityDatabase": users, "AuthServer": "Srp", "UserManager": "Srp",
		"WireCrypt": "Enabled", "DeadlockTimeout": "1", "IpcName": fmt.Sprint("isovet", ports[0])}
	for _, o := range sorted(options) {
		settings[o[0]] = o[1]
	}
	var conf strings.Builder
	for k, v := range settings {
		fmt.Fprintf(&conf, "%s = %s\n", k, v)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "firebird.conf"), []byte(conf.String()), 0o600); err != nil {
		return err
	}
	for _, f := range []string{"plugins.conf", "databases.conf"} { // the packages' places
		text, err := os.ReadFile(filepath.Join("/etc/firebird/3.0", f))
		if err != nil {
			continue // another package has them beside the binaries
		}
		if err := os.WriteFile(filepath.Join(c.dir, f), text, 0o600); err != nil {
			return err
		}
	}
	c.env = append(c.env, "FIREBIRD="+c.dir, "FIREBIRD_LOCK="+c.dir)
	script := filepath.Join(c.dir, "make.sql")
	text := fmt.Sprintf("create database '%[1]s';\ncommit;\nconnect '%[1]s' user sysdba;\n"+
		"create user sysdba password 'masterkey';\ncommit;\ncreate database '%[2]s' user sysdba;\ncommit;\n",
		users, data)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return err
	}
	if err := c.run(ctx, isql, "-q", "-b", "-i", script); err != nil {
		return err
	}
	return c.add(ctx, "firebird", fmt.Sprintf("firebird://sysdba:masterkey@127.0.0.1:%d/%s", ports[0], data),
		c.server(bin), listening(c.host(), ports[0]))
}
