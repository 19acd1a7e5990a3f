package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

func startEtcd(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	n := 1
	if arg != "" {
		var err error
		if n, err = strconv.Atoi(arg); err != nil || n < 1 || n > mostApart {
			return fmt.Errorf("%q; expected etcd:start:N with 1 to %d nodes", arg, mostApart)
		}
	}
	bin, err := c.Find("etcd", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
	if err != nil {
		return err
	}
	if err := c.spaces(ctx, n); err != nil {
		return err
	}
	ports, err := FreePorts(2 * n)
	if err != nil {
		return err
	}
	var members []string
	peer := func(i int) string { return fmt.Sprintf("http://%s:%d", c.hostOf(i), ports[2*i+1]) }
	name := func(i int) string {
		if n == 1 {
			return "etcd"
		}
		return "node" + strconv.Itoa(i+1)
	}
	for i := range n {
		members = append(members, name(i)+"="+peer(i))
	}
	for i := range n {
		data, err := c.sub("data" + strconv.Itoa(i))
		if err != nil {
			return err
		}
		at := fmt.Sprintf("%s:%d", c.hostOf(i), ports[2*i])
		args := []string{"--name", name(i), "--data-dir", data, "--listen-client-urls", "http://" + at,
			"--advertise-client-urls", "http://" + at, "--listen-peer-urls", peer(i), "--initial-advertise-peer-urls",
			peer(i), "--initial-cluster", strings.Join(members, ","), "--log-level", "error",
			// A TPC-C delivery writes more than the default of 128.
			"--max-txn-ops", "1024"}
		for _, o := range sorted(options) {
			args = append(args, "--"+o[0]+"="+o[1])
		}
		// No node is healthy before most are up.
		ready := Listening(c.hostOf(i), ports[2*i])
		if i == n-1 || n == 1 {
			ready = etcdHealthy("http://" + at)
		}
		if err := c.Add(ctx, name(i), "etcd://"+at, c.Command(bin, args...), ready); err != nil {
			return err
		}
	}
	return nil
}

// etcdHealthy returns a check that a node is healthy: its cluster must have a leader.
func etcdHealthy(client string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, client+"/health", nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("its health is %s", res.Status)
		}
		return nil
	}
}
