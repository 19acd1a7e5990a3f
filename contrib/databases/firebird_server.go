package databases

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"isovet/collect/server"
)

// startFirebird starts a server with its own folder for settings, users and data. The settings name the address, since
// with the option for the port the server would listen on all addresses.
func startFirebird(ctx context.Context, c *server.Cluster, arg string, options url.Values) error {
	if arg != "" {
		return fmt.Errorf("%q; expected firebird:start", arg)
	}
	bin, err := c.Find("firebird", "/usr/sbin", "/opt/firebird/bin")
	if err != nil {
		return err
	}
	isql, err := c.Find("isql-fb", "/usr/bin")
	if err != nil {
		if isql, err = c.Find("isql", "/opt/firebird/bin"); err != nil {
			return err
		}
	}
	ports, err := server.FreePorts(1)
	if err != nil {
		return err
	}
	users, data := filepath.Join(c.Dir(), "security3.fdb"), filepath.Join(c.Dir(), "isovet.fdb")
	settings := map[string]string{"RemoteBindAddress": "127.0.0.1", "RemoteServicePort": fmt.Sprint(ports[0]),
		"DatabaseAccess": "Full", "SecurityDatabase": users, "AuthServer": "Srp", "UserManager": "Srp",
		"WireCrypt": "Enabled", "DeadlockTimeout": "1", "IpcName": fmt.Sprint("isovet", ports[0])}
	for name := range options {
		settings[name] = options.Get(name)
	}
	var conf strings.Builder
	for k, v := range settings {
		fmt.Fprintf(&conf, "%s = %s\n", k, v)
	}
	if err := os.WriteFile(filepath.Join(c.Dir(), "firebird.conf"), []byte(conf.String()), 0o600); err != nil {
		return err
	}
	for _, f := range []string{"plugins.conf", "databases.conf"} { // the packages' places
		text, err := os.ReadFile(filepath.Join("/etc/firebird/3.0", f))
		if err != nil {
			continue // another package has them beside the binaries
		}
		if err := os.WriteFile(filepath.Join(c.Dir(), f), text, 0o600); err != nil {
			return err
		}
	}
	c.Setenv("FIREBIRD="+c.Dir(), "FIREBIRD_LOCK="+c.Dir())
	script := filepath.Join(c.Dir(), "make.sql")
	text := fmt.Sprintf("create database '%[1]s';\ncommit;\nconnect '%[1]s' user sysdba;\n"+
		"create user sysdba password 'masterkey';\ncommit;\ncreate database '%[2]s' user sysdba;\ncommit;\n",
		users, data)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return err
	}
	if err := c.Run(ctx, isql, "-q", "-b", "-i", script); err != nil {
		return err
	}
	return c.Add(ctx, "firebird", fmt.Sprintf("firebird://sysdba:masterkey@127.0.0.1:%d/%s", ports[0], data),
		c.Command(bin), server.Listening("127.0.0.1", ports[0]))
}
