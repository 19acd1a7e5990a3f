package record

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// poster is a writer of lines to an isovet watch.
type poster struct {
	url      string
	client   *http.Client
	patience time.Duration
	from     int64 // number of the next line
	most     int   // bytes at once
	token    string
}

// maxPost bounds the bytes of a request. A watch accepts 16 MiB by default (--max-body). If a watch accepts less, it
// says so, and gets half as much.
const maxPost = 8 << 20

// newPoster asks the watch how many lines it has.
func newPoster(to string, o *Options) (*poster, error) {
	u, err := url.Parse(to)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("record: %q; expected the address of an isovet watch, as in http://localhost:9090", to)
	}
	p := &poster{url: strings.TrimSuffix(to, "/"), client: o.Client, patience: o.Patience,
		token: o.Token}
	p.client = cmp.Or(p.client, &http.Client{Timeout: time.Minute})
	if p.patience <= 0 {
		p.patience = 30 * time.Second
	}
	p.most = maxPost
	deadline := time.Now().Add(p.patience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		if p.from, err = p.position(); err == nil {
			return p, nil
		}
		var is *notReady // it has begun, and reads its log
		if !errors.As(err, &is) || time.Now().After(deadline) {
			return nil, fmt.Errorf("record: asking %s for its position: %w", to, err)
		}
		time.Sleep(pause)
	}
}

func (p *poster) position() (int64, error) {
	q, err := http.NewRequest(http.MethodGet, p.url+"/position", nil)
	if err != nil {
		return 0, refused{err}
	}
	return p.ask(q)
}

func (p *poster) ask(q *http.Request) (int64, error) {
	if p.token != "" {
		q.Header.Set("Authorization", "Bearer "+p.token)
	}
	r, err := p.client.Do(q)
	if err != nil {
		return 0, err
	}
	return answer(r)
}

// refused is an answer that will not change if the lines are sent again.
type refused struct{ error }

// notReady is the answer 503: the watch asks to try again later.
type notReady struct{ text string }

func (e *notReady) Error() string { return e.text }

// tooLong is the answer 413: the watch does not accept so much at once.
type tooLong struct{ error }

func answer(r *http.Response) (int64, error) {
	b, err := io.ReadAll(io.LimitReader(r.Body, 1<<12))
	r.Body.Close()
	text := strings.TrimSpace(string(b))
	if err == nil && r.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", r.Status, text)
		switch {
		case r.StatusCode == http.StatusRequestEntityTooLarge:
			err = tooLong{err}
		case r.StatusCode == http.StatusServiceUnavailable:
			err = &notReady{err.Error()}
		case r.StatusCode >= 400 && r.StatusCode < 500:
			err = refused{err}
		}
	}
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, refused{fmt.Errorf("found %.40q; expected a number; is this an isovet watch?", text)}
	}
	return n, nil
}

// Write posts lines. It repeats them until the watch has answered. The watch takes none twice, because the request has
// the number of the first line.
func (p *poster) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		part := b
		if len(part) > p.most {
			part = part[:p.most]
			if end := bytes.LastIndexByte(part, '\n') + 1; end > 0 {
				part = part[:end]
			} else {
				part = b[:bytes.IndexByte(b, '\n')+1]
			}
		}
		err := p.post(part)
		if _, is := errors.AsType[tooLong](err); is && bytes.IndexByte(part, '\n') < len(part)-1 {
			p.most = max(len(part)/2, 1)
			continue
		}
		if err != nil {
			return n - len(b), err
		}
		b = b[len(part):]
	}
	return n, nil
}

func (p *poster) post(part []byte) error {
	lines := int64(bytes.Count(part, []byte{'\n'}))
	deadline := time.Now().Add(p.patience)
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		err := p.once(part)
		if err == nil {
			p.from += lines
			return nil
		}
		_, long := err.(tooLong)
		if _, is := err.(refused); is || long || time.Now().After(deadline) {
			return fmt.Errorf("record: posting lines %d to %d to %s: %w", p.from, p.from+lines-1, p.url, err)
		}
		time.Sleep(pause)
	}
}

func (p *poster) once(part []byte) error {
	q, err := http.NewRequest(http.MethodPost, p.url+"/", bytes.NewReader(part))
	if err != nil {
		return refused{err}
	}
	q.Header.Set("Isovet-From", strconv.FormatInt(p.from, 10))
	_, err = p.ask(q)
	return err
}
