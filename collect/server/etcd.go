package server

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
)

func init() {
	kinds = append(kinds, Kind{"etcd", "etcd:start", startEtcd})
}

func startEtcd(ctx context.Context, c *Cluster, arg string, options url.Values) error {
	if arg != "" {
		return fmt.Errorf("%q; expected etcd:start", arg)
	}
	bin, err := c.find("etcd", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
	if err != nil {
		return err
	}
	ports, err := freePorts(2)
	if err != nil {
		return err
	}
	data, err := c.sub("data")
	if err != nil {
		return err
	}
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", ports[0]), fmt.Sprintf("http://127.0.0.1:%d", ports[1])
	args := []string{"--name", "etcd", "--data-dir", data, "--listen-client-urls", client, "--advertise-client-urls",
		client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "etcd=" + peer,
		"--log-level", "error",
		// A TPC-C delivery writes more than the default of 128.
		"--max-txn-ops", "1024"}
	for _, o := range sorted(options) {
		args = append(args, "--"+o[0]+"="+o[1])
	}
	ready := func(ctx context.Context) error {
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
	return c.add(ctx, "etcd", fmt.Sprintf("etcd://127.0.0.1:%d", ports[0]), c.server(bin, args...), ready)
}
