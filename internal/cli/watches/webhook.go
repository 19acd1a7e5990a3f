package watches

import (
	"net/url"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"isovet/internal/cli/console"
	"isovet/watch/seen"
)

// webhookFlags say where violations are posted to. The command line of a process is there for everybody to see, so
// secrets stand in files.
type webhookFlags struct{ address, addressFile, secretFile string }

func (f *webhookFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.address, "webhook", "", "`URL` that gets each violation as JSON")
	fl.StringVar(&f.addressFile, "webhook-file", "", "`FILE` with that URL, if it is secret")
	fl.StringVar(&f.secretFile, "webhook-secret-file", "", "`FILE` with a token for \"Authorization: Bearer\"")
}

// leastSecret is how long a part of a path is that is taken for a secret: those of chat systems have 24 and more.
const leastSecret = 20

// public refuses an address on the command line that seems to have a secret in it: a user, a question, or a long part
// of its path with digits.
func (f *webhookFlags) public() error {
	u, err := url.Parse(f.address)
	if err != nil || f.address == "" {
		return nil // what is wrong with it is reported when it is used
	}
	secret := u.User != nil || u.RawQuery != "" || u.Fragment != ""
	for part := range strings.SplitSeq(u.Path, "/") {
		secret = secret || len(part) >= leastSecret && strings.ContainsAny(part, "0123456789")
	}
	if secret {
		return console.Usagef("--webhook: the address seems to contain a secret, and every user of this machine can " +
			"read a command line; put it into a file: --webhook-file FILE, or a token: --webhook-secret-file FILE")
	}
	return nil
}

// open makes the web hook; nil: there is none.
func (f *webhookFlags) open(o seen.WebhookOptions) (*seen.Webhook, error) {
	flag, address := "webhook", f.address
	if f.addressFile != "" {
		text, err := os.ReadFile(f.addressFile)
		if err != nil {
			return nil, console.Usagef("--webhook-file: %v", err)
		}
		flag, address = "webhook-file "+f.addressFile, strings.TrimSpace(string(text))
	}
	tokens, err := readTokens("webhook-secret-file", f.secretFile)
	switch {
	case err != nil:
		return nil, err
	case len(tokens) > 1:
		return nil, console.Usagef("--webhook-secret-file %s: it has %d words; expected one token", f.secretFile,
			len(tokens))
	case len(tokens) > 0:
		o.Token = tokens[0]
	}
	if f.address == "" && f.addressFile == "" {
		return nil, nil
	}
	w, err := seen.NewWebhook(address, o)
	if err != nil {
		return nil, console.Usagef("--%s: %v", flag, err)
	}
	return w, nil
}
