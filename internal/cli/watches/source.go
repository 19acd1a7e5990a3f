package watches

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"isovet/internal/cli/console"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/watch"
	"isovet/watch/kafka"
)

// sourceFlags configure the source of watch's lines.
type sourceFlags struct {
	url, durable, credentials, tokenFile string
	once, noToken                        bool
	maxBody                              int64
	tls                                  watch.TLSFiles
}

func (f *sourceFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.url, "source", f.url, "- (standard input), files, or an http:, nats:, kafka: URL")
	fl.BoolVar(&f.once, "once", false, "files: end after the last file")
	fl.Var(console.Size(&f.maxBody), "max-body", "http: largest request, in `BYTES`")
	fl.StringVar(&f.tokenFile, "token-file", "", "`FILE` with the valid tokens (http) or the token (nats)")
	fl.BoolVar(&f.noToken, "no-token", false, "http: accept requests without a token")
	fl.StringVar(&f.credentials, "credentials", "", "`FILE` with credentials (nats) or USER:PASSWORD (kafka)")
	fl.StringVar(&f.durable, "durable", f.durable, "name of the consumer (nats) or of the group (kafka)")
	fl.StringVar(&f.tls.Cert, "tls-cert", "", "PEM `FILE` with our certificate")
	fl.StringVar(&f.tls.Key, "tls-key", "", "PEM `FILE` with the certificate's key")
	fl.StringVar(&f.tls.CA, "tls-ca", "", "PEM `FILE` of trusted certificates; https: clients need one")
}

// said returns the source's name for messages, without passwords.
func (f *sourceFlags) said() string {
	scheme, rest, is := strings.Cut(f.url, "://")
	where, name, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(where, '@')
	if !is || at < 0 {
		return f.url
	}
	user, _, _ := strings.Cut(where[:at], ":")
	return scheme + "://" + user + ":xxxxx@" + where[at+1:] + "/" + name
}

// place describes a line's place in the source.
func (f *sourceFlags) place(at int64) string {
	switch scheme, _, is := strings.Cut(f.url, "://"); {
	case is && (scheme == "nats" || scheme == "tls"):
		return fmt.Sprintf("message %d", at)
	case is && scheme == "kafka":
		return fmt.Sprintf("offset %d", at)
	case f.url == "-" || is:
		return fmt.Sprintf("line %d", at+1)
	}
	return fmt.Sprintf("the line up to byte %d", at)
}

type opening struct {
	prepare func() error
	open    func(ctx context.Context, after watch.Places) (watch.Source, error)
	closes  func() error
}

func (o *opening) close() {
	if o.closes != nil {
		_ = o.closes()
	}
}

const sourceKinds = "-, a file, http://HOST:PORT, https://HOST:PORT, nats://HOST:PORT/SUBJECT or " +
	"kafka://HOST:PORT/TOPIC"

// open prepares the source that the flag names.
func (f *sourceFlags) open(e *console.Env, state string, judge watch.Judge, log *slog.Logger) (*opening, error) {
	u, err := url.Parse(f.url)
	scheme, _, is := strings.Cut(f.url, "://")
	if !is && f.url != "-" {
		scheme = "file"
	}
	if err := f.fits(scheme); err != nil {
		return nil, err
	}
	switch {
	case scheme == "-":
		return &opening{open: func(_ context.Context, after watch.Places) (watch.Source, error) {
			return f.pipe(e, state, after), nil
		}}, nil
	case strings.HasPrefix(f.url, "http://"), strings.HasPrefix(f.url, "https://"):
		if err != nil {
			return nil, console.Usagef("--source: %v", err)
		}
		return f.http(u, judge, log)
	case strings.HasPrefix(f.url, "nats://"), strings.HasPrefix(f.url, "tls://"):
		return f.nats(log)
	case strings.HasPrefix(f.url, "kafka://"):
		return f.kafka(log)
	case is:
		return nil, console.Usagef("--source %s: unknown kind %q; expected %s", f.said(), scheme, sourceKinds)
	}
	if _, begun := os.Stat(state); begun != nil && !strings.ContainsAny(f.url, "*?[") {
		if _, err := os.Stat(f.url); err != nil { // after a restart it may be away, in the midst of a rotation
			return nil, err
		}
	}
	return &opening{open: func(ctx context.Context, after watch.Places) (watch.Source, error) {
		return watch.Files(watch.FileOptions{Path: f.url, Once: f.once, Log: log, Context: ctx}, after)
	}}, nil
}

// fits refuses flags that belong to other sources.
func (f *sourceFlags) fits(scheme string) error {
	of := func(given bool, name string, schemes ...string) error {
		if !given || slices.Contains(schemes, scheme) {
			return nil
		}
		return console.Usagef("--%s is for sources %s; --source is %s", name, strings.Join(schemes, ", "), f.said())
	}
	for _, err := range []error{
		of(f.tokenFile != "", "token-file", "http", "https", "nats", "tls"),
		of(f.noToken, "no-token", "http", "https"),
		of(f.credentials != "", "credentials", "nats", "tls", "kafka"),
		of(f.tls.Any(), "tls-cert, --tls-key, --tls-ca", "https", "nats", "tls", "kafka"),
	} {
		if err != nil {
			return err
		}
	}
	if f.maxBody <= 0 {
		return console.Usagef("--max-body %d; expected a positive size", f.maxBody)
	}
	return nil
}

func (f *sourceFlags) pipe(e *console.Env, state string, after watch.Places) watch.Source {
	if in, ok := e.Stdin.(*os.File); ok {
		if s, err := in.Stat(); err == nil && s.Mode().IsRegular() {
			// a file is read from its beginning again: lines in the log are skipped
			return watch.Pipe(in, -1)
		}
	}
	if len(after) > 0 {
		fmt.Fprintf(e.Stderr, "isovet: -: the log in %s has the first %s of the stream; watch assumes that the "+
			"input continues after them\n", state, plural.Of(after.Last()+1, "line"))
	}
	return watch.Pipe(e.Stdin, after.Last())
}

func (f *sourceFlags) tokens() ([]string, error) { return readTokens("token-file", f.tokenFile) }

// readTokens reads the file of tokens that a flag names, if any.
func readTokens(flag, file string) ([]string, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, console.Usagef("--%s: %v", flag, err)
	}
	all := strings.Fields(string(text))
	if len(all) == 0 {
		return nil, console.Usagef("--%s %s: it is empty; expected a token", flag, file)
	}
	return all, nil
}

// http opens an address to listen on. Addresses other than loopback need a token, or clients' certificates.
func (f *sourceFlags) http(u *url.URL, judge watch.Judge, log *slog.Logger) (*opening, error) {
	if u.Path != "" && u.Path != "/" || u.Port() == "" || u.User != nil {
		return nil, console.Usagef("--source %s; expected http://HOST:PORT or https://HOST:PORT, the address to "+
			"listen on", f.said())
	}
	tokens, err := f.tokens()
	if err != nil {
		return nil, err
	}
	host := cmp.Or(u.Hostname(), "127.0.0.1")
	local := host == "localhost"
	if ip := net.ParseIP(host); ip != nil {
		local = ip.IsLoopback()
	}
	open := len(tokens) == 0 && f.tls.CA == ""
	switch {
	case !local && open && !f.noToken:
		return nil, console.Usagef("--source %s: others can reach this address, so anybody could send transactions; "+
			"add --token-file FILE, or --tls-ca FILE with https, or --no-token to allow it", f.url)
	case !local && len(tokens) > 0 && u.Scheme == "http":
		log.Warn("tokens cross the network unencrypted; use https, or a proxy that encrypts", "source", f.url)
	}
	o := watch.HTTPOptions{Addr: net.JoinHostPort(host, u.Port()), MaxBody: f.maxBody, Tokens: tokens, Log: log}
	if u.Scheme == "https" {
		if o.TLS, err = f.tls.Server(); err != nil {
			return nil, console.Usagef("--source %s: %v; expected --tls-cert FILE and --tls-key FILE", f.url, err)
		}
	}
	if j, ok := judge.(watch.Fitting); ok {
		o.Unfit = j.Unfit
	}
	var s *watch.HTTPServer
	return &opening{
		prepare: func() (err error) {
			if s, err = watch.ListenHTTP(o); err != nil {
				return console.Usagef("--source: %v", err)
			}
			log.Info("listening", "address", s.Addr())
			return nil
		},
		open: func(_ context.Context, after watch.Places) (watch.Source, error) { return s.Source(after), nil },
		closes: func() error {
			if s == nil {
				return nil
			}
			return s.Close()
		},
	}, nil
}

// servers parses SCHEME://[USER[:PASSWORD]@]HOST:PORT[,HOST:PORT…]/NAME[?QUERY].
func (f *sourceFlags) servers(want string) (scheme string, hosts []string, name string, q url.Values,
	user *url.Userinfo, err error) {
	bad := func(why string) error {
		return console.Usagef("--source %s: %s; expected %s", f.said(), why, want)
	}
	scheme, rest, _ := strings.Cut(f.url, "://")
	where, rest, _ := strings.Cut(rest, "/")
	name, query, _ := strings.Cut(rest, "?")
	if q, err = url.ParseQuery(query); err != nil {
		return "", nil, "", nil, nil, bad(err.Error())
	}
	if at := strings.LastIndexByte(where, '@'); at >= 0 {
		u, err := url.Parse("x://" + where[:at] + "@h")
		if err != nil {
			return "", nil, "", nil, nil, bad("the user cannot be read")
		}
		user, where = u.User, where[at+1:]
	}
	for h := range strings.SplitSeq(where, ",") {
		if h = strings.TrimSpace(h); h == "" {
			return "", nil, "", nil, nil, bad("a host is missing")
		}
		hosts = append(hosts, h)
	}
	if name = strings.Trim(name, "/"); name == "" {
		return "", nil, "", nil, nil, bad("the subject or topic is missing")
	}
	return scheme, hosts, name, q, user, nil
}

func (f *sourceFlags) nats(log *slog.Logger) (*opening, error) {
	scheme, hosts, subject, _, user, err := f.servers("nats://HOST:PORT/SUBJECT")
	if err != nil {
		return nil, err
	}
	tokens, err := f.tokens()
	if err != nil {
		return nil, err
	}
	o := watch.NATSOptions{Subject: subject, Durable: f.durable, Credentials: f.credentials, TLS: f.tls, Log: log}
	if len(tokens) > 0 {
		o.Token = tokens[0]
	}
	if f.credentials != "" {
		if _, err := os.Stat(f.credentials); err != nil {
			return nil, console.Usagef("--credentials: %v", err)
		}
	}
	if o.TLS.Any() {
		if _, err := o.TLS.Client(); err != nil {
			return nil, console.Usagef("--source %s: %v", f.said(), err)
		}
	}
	for i, h := range hosts {
		u := url.URL{Scheme: scheme, User: user, Host: h}
		hosts[i] = u.String()
	}
	o.URL = strings.Join(hosts, ",")
	return &opening{open: func(ctx context.Context, after watch.Places) (watch.Source, error) {
		return watch.NATS(ctx, o, max(after.Last(), 0))
	}}, nil
}

const kafkaURL = "kafka://HOST:PORT[,HOST:PORT]/TOPIC[?sasl=MECHANISM&tls=true&partitions=0,2-5]"

func (f *sourceFlags) kafka(log *slog.Logger) (*opening, error) {
	_, hosts, topic, q, user, err := f.servers(kafkaURL)
	if err != nil {
		return nil, err
	}
	o := kafka.Options{Brokers: hosts, Topic: topic, Group: f.durable, Log: log}
	encrypted := f.tls.Any()
	for name, values := range q {
		value := values[len(values)-1]
		switch name {
		case "sasl":
			if o.SASL = strings.ToLower(value); !slices.Contains(kafka.Mechanisms, o.SASL) {
				return nil, console.Usagef("--source %s: sasl=%s; expected one of %v", f.said(), value,
					kafka.Mechanisms)
			}
		case "tls":
			on, err := strconv.ParseBool(value)
			if err != nil {
				return nil, console.Usagef("--source %s: tls=%s; expected true or false", f.said(), value)
			}
			encrypted = encrypted || on
		case "partitions":
			if o.Partitions, err = numberRanges(value); err != nil {
				return nil, console.Usagef("--source %s: partitions=%s; expected numbers and ranges such as 0,2-5",
					f.said(), value)
			}
		default:
			return nil, console.Usagef("--source %s: unknown %q; expected %s", f.said(), name, kafkaURL)
		}
	}
	if user != nil {
		o.User = user.Username()
		o.Password, _ = user.Password()
	}
	if f.credentials != "" {
		text, err := os.ReadFile(f.credentials)
		if err != nil {
			return nil, console.Usagef("--credentials: %v", err)
		}
		var ok bool
		if o.User, o.Password, ok = strings.Cut(strings.TrimSpace(string(text)), ":"); !ok {
			return nil, console.Usagef("--credentials %s: expected USER:PASSWORD in it", f.credentials)
		}
	}
	switch {
	case o.SASL == "" && o.User != "":
		o.SASL = "plain"
	case o.SASL != "" && o.User == "":
		return nil, console.Usagef("--source %s: sasl=%s without a user; expected --credentials FILE", f.said(), o.SASL)
	}
	if encrypted {
		if o.TLS, err = f.tls.Client(); err != nil {
			return nil, console.Usagef("--source %s: %v", f.said(), err)
		}
	} else if o.SASL == "plain" {
		log.Warn("the password crosses the network unencrypted; add tls=true or --tls-ca", "source", f.said())
	}
	return &opening{open: func(ctx context.Context, after watch.Places) (watch.Source, error) {
		return kafka.Open(ctx, o, after)
	}}, nil
}

// numberRanges reads numbers and ranges separated by commas.
func numberRanges(s string) (out []int32, err error) {
	for part := range strings.SplitSeq(s, ",") {
		from, to, is := strings.Cut(part, "-")
		if !is {
			to = from
		}
		a, e1 := strconv.ParseInt(from, 10, 32)
		b, e2 := strconv.ParseInt(to, 10, 32)
		if e1 != nil || e2 != nil || a < 0 || b < a || b-a > 1<<16 {
			return nil, fmt.Errorf("%q", part)
		}
		for n := a; n <= b; n++ {
			out = slice.Union(out, int32(n))
		}
	}
	return out, nil
}
