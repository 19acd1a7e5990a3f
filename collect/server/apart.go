package server

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"isovet/internal/slice"
)

// Options prepare servers for faults.
type Options struct {
	// Apart gives each server a network namespace of its own, so that Split can cut it off. It needs Linux, root, the
	// program ip, and a cluster.
	Apart bool
	// Clocks gives each server a clock that Skew can set, with faketime's library.
	Clocks bool
}

// ErrNotHere says that this system or the program's rights do not allow the request.
var ErrNotHere = errors.New("not possible here")

// host returns the address of the next node.
func (c *Cluster) host() string { return c.hostOf(len(c.nodes)) }

func (c *Cluster) hostOf(i int) string {
	if c.net == nil {
		return "127.0.0.1"
	}
	return c.net.address(i)
}

// Split cuts a server off from the other servers, or connects it again. Clients reach it either way. The cluster must
// have been started with Options.Apart.
func (c *Cluster) Split(ctx context.Context, i int, cut bool) error {
	if c.net == nil {
		return fmt.Errorf("%w: the servers were not started in separate networks", ErrNotHere)
	}
	return c.net.split(ctx, i, len(c.nodes), cut)
}

// mostApart bounds the servers of a network.
const mostApart = 9

// network has a network namespace for each server, and one for a router between the servers and this program. The
// router can drop packets silently.
type network struct {
	name string // of the namespaces, followed by a number; the router's has none
	base string // of the addresses, such as 10.213.7.
	made []string
	near string // this program's end of the link to the router; "": not made yet
}

func (n *network) address(i int) string { return fmt.Sprintf("%s%d", n.base, 4*i+6) }

func (n *network) gateway(i int) string { return fmt.Sprintf("%s%d", n.base, 4*i+5) }

func (n *network) space(i int) string { return fmt.Sprintf("%s-%d", n.name, i+1) }

func ip(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: ip %s: %w: %s", ErrNotHere, strings.Join(args, " "), err, tail(string(out)))
	}
	return nil
}

func ips(ctx context.Context, lines ...string) error {
	return slice.Each(lines, func(l string) error { return ip(ctx, strings.Fields(l)...) })
}

// add makes the namespace of a node and its link to the router.
func (n *network) add(ctx context.Context, i int) error {
	if i >= mostApart {
		return fmt.Errorf("%w: %d servers in separate networks; expected at most %d", ErrNotHere, i+1, mostApart)
	}
	space, here, there := n.space(i), fmt.Sprintf("r%d", i+1), "eth0"
	if err := ip(ctx, "netns", "add", space); err != nil {
		return err
	}
	n.made = append(n.made, space)
	return ips(ctx,
		fmt.Sprintf("-n %s link add %s type veth peer name %s netns %s", n.name, here, there, space),
		fmt.Sprintf("-n %s addr add %s/30 dev %s", n.name, n.gateway(i), here),
		fmt.Sprintf("-n %s link set %s up", n.name, here),
		fmt.Sprintf("-n %s addr add %s/30 dev %s", space, n.address(i), there),
		fmt.Sprintf("-n %s link set %s up", space, there),
		fmt.Sprintf("-n %s link set lo up", space),
		// No default route: a program that looks up a name, as rsync does, gets an error at once.
		fmt.Sprintf("-n %s route add %s0/24 via %s", space, n.base, n.gateway(i)),
	)
}

// split makes the router drop, silently, all packets between one node and the other nodes.
func (n *network) split(ctx context.Context, i, nodes int, cut bool) error {
	verb := "del"
	if cut {
		verb = "add"
	}
	for j := range nodes {
		if j == i {
			continue
		}
		err := ips(ctx, fmt.Sprintf("-n %s rule %s from %s to %s blackhole", n.name, verb, n.address(i), n.address(j)),
			fmt.Sprintf("-n %s rule %s from %s to %s blackhole", n.name, verb, n.address(j), n.address(i)))
		if err != nil {
			return err
		}
	}
	return nil
}

// remove removes the namespaces and their links.
func (n *network) remove() error {
	errs := slice.Map(n.made, func(space string) error { return ip(context.Background(), "netns", "del", space) })
	n.made = nil
	return errors.Join(errs...)
}
