package server

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
)

func init() {
	kinds = append(kinds, Kind{"redis", "redis:start", startRedis})
}

// startRedis starts a server whose every write is in its file before it is answered.
func startRedis(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	if arg != "" {
		return fmt.Errorf("%q; expected redis:start", arg)
	}
	bin, err := c.find("redis-server", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
	if err != nil {
		return err
	}
	ports, err := freePorts(1)
	if err != nil {
		return err
	}
	data, err := c.sub("data")
	if err != nil {
		return err
	}
	args := []string{"--bind", "127.0.0.1", "--port", strconv.Itoa(ports[0]), "--dir", data, "--save", "",
		"--appendonly", "yes", "--appendfsync", "no", "--daemonize", "no"}
	for _, o := range sorted(options) {
		args = append(args, "--"+o[0], o[1])
	}
	return c.add(ctx, "redis", fmt.Sprintf("redis://127.0.0.1:%d", ports[0]), c.server(bin, args...),
		listening(c.host(), ports[0]))
}
