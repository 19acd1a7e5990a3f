package server

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
)

// startTiDB starts one server with its built-in storage (unistore), as in its developers' tests.
func startTiDB(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	bin, ports, data, err := c.single("tidb", arg, "tidb-server", 2)
	if err != nil {
		return err
	}
	args := []string{"-store", "unistore", "-path", data, "-host", "127.0.0.1", "-P", strconv.Itoa(ports[0]),
		"-L", "error", "-status", strconv.Itoa(ports[1]), "-status-host", "127.0.0.1",
		"-socket", filepath.Join(c.dir, "s")}
	for _, o := range sorted(options) {
		args = append(args, "-"+o[0]+"="+o[1])
	}
	return c.Add(ctx, "tidb", fmt.Sprintf("tidb://root@127.0.0.1:%d/isovet", ports[0]), c.Command(bin, args...),
		Listening(c.host(), ports[0]))
}
