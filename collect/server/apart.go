package server

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
)

// Options say what is to be done to the servers later.
type Options struct {
	// Apart gives each server a network namespace of its own, between which Split cuts. Linux, root and the program ip
	// are needed, and a server of several nodes.
	Apart bool
	// Clocks gives each server a clock that Skew sets, by the library of faketime.
	Clocks bool
}

// ErrNotHere says that this system, or this program's rights, do not allow what is asked for.
var ErrNotHere = errors.New("not possible here")

// host is the address of the next node to be added.
func (c *Cluster) host() string { return c.hostOf(len(c.nodes)) }

func (c *Cluster) hostOf(i int) string {
	if c.net == nil {
		return "127.0.0.1"
	}
	return c.net.address(i)
}

// Split cuts a server off from the other servers, or lets it reach them again. Clients reach all of them either way.
// It is for clusters that were started with Options.Apart.
func (c *Cluster) Split(ctx context.Context, i int, cut bool) error {
	if c.net == nil {
		return fmt.Errorf("%w: the servers were not started apart", ErrNotHere)
	}
	return c.net.split(ctx, i, len(c.nodes), cut)
}

// mostApart bounds the servers of a network.
const mostApart = 9

// network is a namespace for each server and one for a router between them and this program: what it forwards can be
// cut off without a sound.
type network struct {
	name string // of the namespaces, with a number behind; the router's has none
	base string // of the addresses, such as 10.213.7.
	made []string
	near string // this program's end of the link to the router; "": there is none yet
}

// address is a node's.
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
	for _, l := range lines {
		if err := ip(ctx, strings.Fields(l)...); err != nil {
			return err
		}
	}
	return nil
}

// add makes the namespace of a node and its link to the router.
func (n *network) add(ctx context.Context, i int) error {
	if i >= mostApart {
		return fmt.Errorf("%w: %d servers apart; expected at most %d", ErrNotHere, i+1, mostApart)
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
		// No other way: who asks for a name, as rsync does, is told at once that there is none to ask.
		fmt.Sprintf("-n %s route add %s0/24 via %s", space, n.base, n.gateway(i)),
	)
}

// split has the router drop what goes between one node and the others: it is lost, and nobody is told.
func (n *network) split(ctx context.Context, i, nodes int, cut bool) error {
	verb := "del"
	if cut {
		verb = "add"
	}
	for j := range nodes {
		if j == i {
			continue
		}
		err := ips(ctx,
			fmt.Sprintf("-n %s rule %s from %s to %s blackhole", n.name, verb, n.address(i), n.address(j)),
			fmt.Sprintf("-n %s rule %s from %s to %s blackhole", n.name, verb, n.address(j), n.address(i)))
		if err != nil {
			return err
		}
	}
	return nil
}

// remove takes the namespaces away, with the links that end there.
func (n *network) remove() error {
	ctx := context.Background()
	var errs []error
	for _, space := range n.made {
		errs = append(errs, ip(ctx, "netns", "del", space))
	}
	n.made = nil
	return errors.Join(errs...)
}
