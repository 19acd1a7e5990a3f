package watch

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"isovet/history"
)

const none = history.None

// refusal is the reason for an answer with an error status.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(w http.ResponseWriter, err error) {
	r, ok := errors.AsType[*refusal](err)
	switch {
	case !ok:
		http.Error(w, err.Error(), http.StatusBadRequest)
	case r.status == http.StatusServiceUnavailable:
		later(w, r.text)
	default:
		if r.status == http.StatusUnsupportedMediaType {
			w.Header().Set("Accept-Encoding", "gzip, zstd")
		}
		http.Error(w, r.text, r.status)
	}
}

const (
	// bodyStep is the memory that is reserved for a body at first.
	bodyStep = 64 << 10
	// bodyPause bounds a client's pause in the middle of a body.
	bodyPause = 30 * time.Second
	// zstdWindow bounds the window of a body in zstd.
	zstdWindow = 8 << 20
)

// body reads and decompresses a request's body, and reserves memory for it. The caller must release the memory, even
// after an error.
func (s *HTTPServer) body(w http.ResponseWriter, r *http.Request) (body []byte, held int64, err error) {
	most := s.o.MaxBody
	control := http.NewResponseController(w)
	defer func() { _ = control.SetReadDeadline(time.Time{}) }() // one without deadlines fails later, if at all
	var in io.Reader = pausing{http.MaxBytesReader(w, r.Body, most), control}
	too := &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d bytes, decompressed; "+
		"expected fewer lines in a request (--max-body)", most)}
	if r.ContentLength > most {
		return nil, 0, too
	}
	grow := func() error {
		n := max(min(int64(2*cap(body)), most+1), bodyStep) - int64(cap(body))
		ctx, cancel := context.WithTimeout(r.Context(), s.o.Patience)
		defer cancel()
		if err := s.room.Acquire(ctx, n); err != nil {
			return &refusal{http.StatusServiceUnavailable, "behind: too many requests at once; send the request again"}
		}
		held += n
		bigger := make([]byte, len(body), int64(cap(body))+n)
		copy(bigger, body)
		body = bigger
		return nil
	}
	if err := grow(); err != nil {
		return nil, held, err
	}
	in, done, err := decoded(in, r.Header.Values("Content-Encoding"))
	if err != nil {
		return nil, held, err
	}
	defer done()
	for {
		n, err := in.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		large, isLarge := errors.AsType[*http.MaxBytesError](err)
		switch {
		case int64(len(body)) > most, isLarge && large != nil:
			return nil, held, too
		case err == io.EOF:
			return body, held, nil
		case err != nil:
			return nil, held, &refusal{http.StatusBadRequest, "the body: " + err.Error()}
		}
		if len(body) == cap(body) {
			if err := grow(); err != nil {
				return nil, held, err
			}
		}
	}
}

// pausing is a request's body. Reading fails if the client pauses for long.
type pausing struct {
	r       io.Reader
	control *http.ResponseController
}

func (p pausing) Read(b []byte) (int, error) {
	_ = p.control.SetReadDeadline(time.Now().Add(bodyPause))
	return p.r.Read(b)
}

// decoded decompresses a body. The caller must call done at the end.
func decoded(in io.Reader, encodings []string) (_ io.Reader, done func(), err error) {
	done = func() {}
	switch e := strings.ToLower(strings.TrimSpace(strings.Join(encodings, ","))); e {
	case "", "identity":
		return in, done, nil
	case "gzip", "x-gzip":
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, done, &refusal{http.StatusBadRequest, "Content-Encoding says gzip, but the body is not: " +
				err.Error()}
		}
		return z, done, nil
	case "zstd":
		z, err := zstd.NewReader(in, zstd.WithDecoderMaxWindow(zstdWindow), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, done, &refusal{http.StatusBadRequest, "Content-Encoding says zstd, but the body is not: " +
				err.Error()}
		}
		return z, z.Close, nil
	default:
		return nil, done, &refusal{http.StatusUnsupportedMediaType, fmt.Sprintf("Content-Encoding %.80q; expected "+
			"gzip, zstd, or none", e)}
	}
}
