// Package server starts throw-away database servers from installed binaries: on loopback, on free ports, each in a
// folder that is removed at the end. A server can be killed and started again on the same data, and paused.
//
// The settings make servers fast: a commit reaches the operating system before it is answered, but perhaps not the
// disk. A killed server loses nothing, but if the machine stops it may lose everything.
//
// Files: server.go code for all servers; process.go a child process and its end, process_*.go by system; apart.go
// networks between servers that can be cut, apart_*.go by system; clocks.go clocks that can be set; then one file for
// each database.
//
// Experimental: this package may still change.
package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"isovet/internal/filelock"
	"isovet/internal/slice"
)

// Kind is a server that can be started.
type Kind struct {
	Name  string
	About string
	// Start starts the servers of NAME:start:ARG?OPTIONS, with Cluster.Find, Run, Command and Add.
	Start starting
}

type starting = func(ctx context.Context, c *Cluster, arg string, options url.Values) error

// Register adds a kind of server to All.
func Register(k Kind) { kinds = append(kinds, k) }

// kinds are the servers that can be started.
var kinds = []Kind{
	{"dolt", "dolt:start (?bin=FOLDER)", startDolt},
	{"etcd", "etcd:start, etcd:start:N (N nodes)", startEtcd},
	{"h2", "h2:start (?bin=FILE.jar)", startH2},
	{"mariadb", "mariadb:start", startMariaDB},
	{"galera", "galera:start:N (N nodes, 3 by default)", startGalera},
	{"mysql", "mysql:start (MySQL or Percona Server; ?bin=FOLDER)", startMySQL},
	{"postgres", "postgres:start, postgres:start:standby (primary and hot standby)", startPostgres},
	{"redis", "redis:start", startRedis},
	{"tidb", "tidb:start (?bin=FOLDER; one tidb-server with its own store)", startTiDB},
}

// All returns the servers that can be started, by name.
func All() []Kind {
	return slices.SortedFunc(slices.Values(kinds), func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
}

// ErrMissing says that a server's binaries are not installed.
var ErrMissing = errors.New("not installed")

// Is reports whether a database's name means a server to start, like "postgres:start".
func Is(db string) bool {
	_, rest, ok := strings.Cut(db, ":")
	return ok && (rest == "start" || strings.HasPrefix(rest, "start:") || strings.HasPrefix(rest, "start?"))
}

// Cluster is a running server, or several that form a cluster.
type Cluster struct {
	URLs   []string // for clients, a node each
	Names  []string
	nodes  []*node
	dir    string
	held   *filelock.Folder // that folder
	user   owner            // the user of the servers
	bin    string           // folder of their binaries; "": the packages' folders
	client string           // the client's parameters, at the end of URLs
	env    []string         // environment of the servers, besides this program's
	net    *network         // nil: loopback
	clocks *clocks          // nil: the machine's
	mu     sync.Mutex
	ended  bool
}

// node is one server process, with the command that starts it again.
type node struct {
	mu      sync.Mutex
	p       *process
	command func() *exec.Cmd
	ready   func(ctx context.Context) error
	space   string // its network namespace; "": this program's
}

// Start starts the servers of a name like "postgres:start:standby?synchronous_commit=off". The parameters after the
// question mark are settings of the server, except bin, the folder of its binaries (or a binary), and clients'
// parameters, which go to the URLs. It returns ErrMissing if it does not find the binaries. Other errors quote the
// server's log.
func Start(ctx context.Context, db string) (*Cluster, error) { return StartWith(ctx, db, Options{}) }

// StartWith is Start for servers on which other faults than Kill and Pause are possible. Errors include ErrNotHere.
func StartWith(ctx context.Context, db string, o Options) (_ *Cluster, err error) {
	name, rest, _ := strings.Cut(db, ":")
	rest, query, _ := strings.Cut(rest, "?")
	_, arg, _ := strings.Cut(rest, ":")
	options, err := url.ParseQuery(query)
	if err != nil {
		return nil, fmt.Errorf("%s: settings after the question mark: %w", db, err)
	}
	all := All()
	i := slices.IndexFunc(all, func(k Kind) bool { return k.Name == strings.ToLower(name) })
	if i < 0 {
		names := slice.Map(all, func(k Kind) string { return k.Name + ":start" })
		return nil, fmt.Errorf("%s: cannot be started; expected one of %s", db, strings.Join(names, ", "))
	}
	c := &Cluster{bin: options.Get("bin")}
	options.Del("bin")
	c.client = ofClient(options)
	if c.bin != "" {
		if c.bin, err = filepath.Abs(c.bin); err != nil {
			return nil, err
		}
	}
	if c.held, err = filelock.TempFolder(all[i].Name); err != nil {
		return nil, err
	}
	c.dir = c.held.Path
	defer func() {
		if v := recover(); v != nil {
			c.Close()
			panic(v)
		}
		if err != nil {
			if ctx.Err() != nil { // the output of killed programs means nothing
				err = context.Cause(ctx)
			}
			err = fmt.Errorf("%s: %w", db, errors.Join(err, c.Close()))
		}
	}()
	if o.Apart {
		if c.net, err = newNetwork(ctx); err != nil {
			return nil, err
		}
	}
	if o.Clocks {
		if c.clocks, err = newClocks(all[i].Name, c.dir); err != nil {
			return nil, err
		}
	}
	if err := all[i].Start(ctx, c, arg, options); err != nil {
		return nil, err
	}
	if o.Apart && len(c.nodes) < 2 {
		return nil, errOne
	}
	return c, nil
}

// ofClient removes the parameters for clients from the settings and returns them.
func ofClient(options url.Values) string {
	theirs := url.Values{}
	for _, name := range []string{"default_query_exec_mode", "upsert", "interpolateParams"} {
		if options.Has(name) {
			theirs[name] = options[name]
			options.Del(name)
		}
	}
	if len(theirs) == 0 {
		return ""
	}
	return "?" + theirs.Encode()
}

var errOne = fmt.Errorf("%w: a single server has no network to other servers; expected several, such as "+
	"galera:start:3, etcd:start:3 or postgres:start:standby", ErrNotHere)

// Kill ends a server at once, as a crash does.
func (c *Cluster) Kill(i int) {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	n.p.kill()
}

// Restart starts a killed server again, on the same data and port, and waits until it answers.
func (c *Cluster) Restart(ctx context.Context, i int) error {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if ended {
		return errors.New("the server is closed")
	}
	return n.start(ctx)
}

// Pause stops a server without ending it, so that its clients wait. Resume lets it go on.
func (c *Cluster) Pause(i int) error  { return c.nodes[i].pause(true) }
func (c *Cluster) Resume(i int) error { return c.nodes[i].pause(false) }

func (n *node) pause(stop bool) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return pauseTree(n.p.cmd.Process, stop)
}

// Stall stops one process of a server, or one thread if the server is a single process, for time d.
func (c *Cluster) Stall(i int, rng *rand.Rand, d time.Duration) error {
	n := c.nodes[i]
	n.mu.Lock()
	defer n.mu.Unlock()
	return stall(n.p.cmd.Process.Pid, rng, d)
}

// Close ends the servers and removes their data. It may be called more than once.
func (c *Cluster) Close() error {
	c.mu.Lock()
	ended := c.ended
	c.ended = true
	c.mu.Unlock()
	if ended {
		return nil
	}
	for _, n := range c.nodes {
		n.mu.Lock()
		n.p.quit()
		n.mu.Unlock()
	}
	for _, n := range c.nodes {
		n.mu.Lock()
		n.p.kill()
		n.mu.Unlock()
	}
	var err error
	if c.net != nil {
		err = c.net.remove()
	}
	return errors.Join(err, c.removeData())
}

func (c *Cluster) removeData() (err error) {
	for range 50 {
		// A child of a killed server may still be writing.
		if err = c.held.Remove(); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}

// Add starts a server and adds it to the cluster.
func (c *Cluster) Add(ctx context.Context, name, url string, command func() *exec.Cmd,
	ready func(context.Context) error) error {
	i := len(c.nodes)
	n := &node{command: command, ready: ready}
	if c.net != nil {
		if i+1 >= len(c.net.made) { // the first is the router's
			return errOne
		}
		n.space = c.net.space(i)
	}
	if c.clocks != nil {
		if err := c.clocks.set(i, 0); err != nil {
			return err
		}
		n.command = func() *exec.Cmd {
			cmd := command()
			cmd.Env = append(cmd.Environ(), c.clocks.env(i)...)
			return cmd
		}
	}
	c.nodes = append(c.nodes, n)
	c.URLs = append(c.URLs, url+c.client)
	c.Names = append(c.Names, name)
	return n.start(ctx)
}

// start starts the process and waits until it answers. If it ends at once, start tries again for a while: the children
// of a killed server may still hold its resources.
func (n *node) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for try := 0; ; try++ {
		var err error
		if n.p, err = launchIn(n.space, n.command()); err != nil {
			return err
		}
		err = n.p.await(ctx, n.ready)
		if err == nil {
			return nil
		}
		n.p.kill()
		if ctx.Err() != nil || try == 20 {
			return fmt.Errorf("the server does not start: %w\n%s", err, tail(n.p.out.String()))
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// FreePorts returns free ports of loopback. It opens all of them before it closes any, so that they differ.
func FreePorts(n int) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, l := range held {
			l.Close()
		}
	}()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		held = append(held, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// spaces makes the network namespaces of n nodes, if the cluster needs them. The addresses are then known before the
// nodes start.
func (c *Cluster) spaces(ctx context.Context, n int) error {
	if c.net == nil {
		return nil
	}
	return slice.Each(slice.Numbers[int](n), func(i int) error { return c.net.add(ctx, i) })
}

// Listening returns a check that a port accepts connections.
func Listening(host string, port int) func(context.Context) error {
	return func(ctx context.Context) error {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// Find looks for a binary in the folder that the user names or, without one, in the given folders and in PATH.
func (c *Cluster) Find(name string, folders ...string) (string, error) {
	if c.bin == "" {
		return find(name, folders...)
	}
	at := filepath.Join(c.bin, name)
	if info, err := os.Stat(c.bin); err == nil && !info.IsDir() {
		at = c.bin
	}
	if _, err := exec.LookPath(at); err != nil {
		return "", fmt.Errorf("%w: no %s in %s", ErrMissing, name, c.bin)
	}
	return at, nil
}

// Find looks for a binary in the given folders, which may have wildcards (the last match is the newest), then in PATH.
func find(name string, folders ...string) (string, error) {
	for _, f := range folders {
		found, err := filepath.Glob(filepath.Join(f, name))
		if err != nil {
			return "", err
		}
		slices.SortFunc(found, byVersion)
		if len(found) > 0 {
			return found[len(found)-1], nil
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%w: no %s in PATH%s", ErrMissing, name, and(folders))
	}
	return path, nil
}

func and(folders []string) string {
	if len(folders) == 0 {
		return ""
	}
	return " nor in " + strings.Join(folders, ", ")
}

// byVersion sorts paths by version: …/9.6/… comes before …/15/….
func byVersion(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// sub makes a folder below the cluster's that belongs to the servers' owner.
func (c *Cluster) sub(name string) (string, error) {
	d := filepath.Join(c.dir, name)
	if err := os.Mkdir(d, 0o700); err != nil {
		return "", err
	}
	return d, c.user.own(d)
}

// as sets the user for servers that refuse to run as root, if this program runs as root.
func (c *Cluster) as(name string) error {
	var err error
	if c.user, err = ownerNamed(name); err != nil {
		return err
	}
	if err := os.Chmod(c.dir, 0o755); err != nil {
		return err
	}
	return c.user.own(c.dir)
}

// prepare gives a command its folder, user and environment.
func (c *Cluster) prepare(cmd *exec.Cmd) {
	cmd.Dir = c.dir
	c.user.become(cmd)
	if len(c.env) > 0 {
		cmd.Env = append(cmd.Environ(), c.env...)
	}
}

// Run runs a command of a server and waits for its end.
func (c *Cluster) Run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	c.prepare(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", filepath.Base(name), err, tail(string(out)))
	}
	return nil
}

// CommandLine returns the command that starts the first server. DIR stands for the cluster's folder.
func (c *Cluster) CommandLine() string {
	args := c.nodes[0].command().Args
	return strings.ReplaceAll(filepath.Base(args[0])+" "+strings.Join(args[1:], " "), c.dir, "DIR")
}

// Dir returns the cluster's folder, which is removed at its end.
func (c *Cluster) Dir() string { return c.dir }

// Setenv adds variables, as NAME=VALUE, to the environment of the servers.
func (c *Cluster) Setenv(variables ...string) { c.env = append(c.env, variables...) }

// Command returns a function that makes the command for a node.
func (c *Cluster) Command(name string, args ...string) func() *exec.Cmd {
	return func() *exec.Cmd {
		cmd := exec.Command(name, args...)
		c.prepare(cmd)
		return cmd
	}
}

// sorted returns the settings of a query in order, each as a pair.
func sorted(options url.Values) (pairs [][2]string) {
	for k, v := range options {
		pairs = append(pairs, [2]string{k, v[len(v)-1]})
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return pairs
}

// tail returns the end of a log.
func tail(s string) string {
	const most = 2000
	s = strings.TrimSpace(s)
	if len(s) > most {
		s = "… " + s[len(s)-most:]
	}
	return s
}
