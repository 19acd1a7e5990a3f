package server

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
)

// startRedis starts a server that writes each change to its file before it answers.
func startRedis(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	bin, ports, data, err := c.single("redis", arg, "redis-server", 1)
	if err != nil {
		return err
	}
	args := []string{"--bind", "127.0.0.1", "--port", strconv.Itoa(ports[0]), "--dir", data, "--save", "",
		"--appendonly", "yes", "--appendfsync", "no", "--daemonize", "no"}
	for _, o := range sorted(options) {
		args = append(args, "--"+o[0], o[1])
	}
	return c.Add(ctx, "redis", fmt.Sprintf("redis://127.0.0.1:%d", ports[0]), c.Command(bin, args...),
		Listening(c.host(), ports[0]))
}
