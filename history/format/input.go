package format

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"isovet/history"
	"isovet/internal/mapped"
)

// Input is the input of a reader: a file, a stream or a folder.
type Input struct {
	Name string // for messages
	Path string // the file or folder; "" for a stream
	Dir  bool   // it is a folder: only Path can be used

	mapped []byte    // the content of a plain file
	mark   int       // the length of its byte order mark
	stream io.Reader // of anything else
	// archive is the content of a zip archive, mapped into memory, or nil.
	archive []byte
	blank   newlines // number of blank lines of the stream before head
	head    []byte   // the next bytes of the stream, not yet read by the reader
	close   []func() error

	size int64 // of the file, compressed or not; 0: unknown
	told func(done, total int64)
	mu   sync.Mutex
	done int64 // bytes of the file read so far
	said int64 // of these, the number last reported
}

// read counts n more bytes as read, and calls Options.Progress once per MiB.
func (in *Input) read(n int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.done += int64(n); in.told != nil && in.done-in.said >= 1<<20 {
		in.said = in.done
		in.told(min(in.done, in.size), in.size)
	}
}

// noting is a reader of an input's file or mapping that counts the bytes read.
type noting struct {
	r  io.Reader
	in *Input
}

func (t noting) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	t.in.read(n)
	return n, err
}

// release returns a part of the mapping that has been read to the system.
func (in *Input) release(part []byte) {
	in.read(len(part))
	mapped.ReleasePart(part)
}

// Mapped returns the content of a plain file, mapped into memory, with its byte order mark if it has one. It returns
// false if the input is not mapped; then use Reader or Bytes. The bytes are valid until the format's Read returns.
func (in *Input) Mapped() ([]byte, bool) { return in.mapped, in.mapped != nil }

// Reader returns the decompressed content.
func (in *Input) Reader() (io.Reader, error) {
	if in.Dir {
		return nil, &history.InputError{File: in.Name, Off: -1, Msg: "is a folder; expected a file in this format"}
	}
	if in.mapped != nil {
		return noting{bytes.NewReader(in.mapped[in.mark:]), in}, nil
	}
	return io.MultiReader(new(in.blank), bytes.NewReader(in.head[in.mark:]), in.stream), nil
}

// Bytes returns the whole decompressed content, for formats that cannot be read as a stream. The bytes are valid until
// the format's Read returns.
func (in *Input) Bytes() ([]byte, error) {
	if in.mapped != nil {
		return in.mapped[in.mark:], nil
	}
	r, err := in.Reader()
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, &history.InputError{File: in.Name, Off: -1, Msg: "cannot read on: " + err.Error()}
	}
	return b, nil
}

// Close closes the file and its mapping.
func (in *Input) Close() error {
	var errs []error
	for i := len(in.close) - 1; i >= 0; i-- {
		errs = append(errs, in.close[i]())
	}
	in.close = nil
	return errors.Join(errs...)
}

// bom is the byte order mark. Some programs put it before a text in UTF-8; it is not part of the content.
var bom = []byte("\xef\xbb\xbf")

// marked returns the length of a text's byte order mark, or 0. A binary file that begins with the same bytes has zeros
// near.
func marked(head []byte) int {
	if !bytes.HasPrefix(head, bom) || bytes.IndexByte(head[:min(64, len(head))], 0) >= 0 {
		return 0
	}
	return len(bom)
}

// Head returns the beginning of the decompressed content, at most HeadSize bytes, or nil for a folder. If there are
// only blank lines, Head skips them.
func (in *Input) Head() ([]byte, error) {
	if in.Dir {
		return nil, nil
	}
	if in.mapped != nil {
		in.mark = marked(in.mapped)
		data := in.mapped[in.mark:]
		for len(data) > HeadSize && firstInk(data[:HeadSize]) == HeadSize {
			data = data[HeadSize:]
		}
		return data[:min(HeadSize, len(data))], nil
	}
	if in.head == nil {
		head, err := readUpTo(in.stream, HeadSize)
		for len(head) == HeadSize && firstInk(head) == HeadSize && err == nil {
			in.blank += newlines(bytes.Count(head, []byte("\n")))
			head, err = readUpTo(in.stream, HeadSize)
		}
		if err != nil && firstInk(head) == len(head) {
			return nil, &history.InputError{File: in.Name, Line: 1, Msg: "cannot read: " + err.Error()}
		}
		// An error behind some content is returned after that content, with its line.
		in.head = head
		in.mark = marked(head)
	}
	return in.head[in.mark:], nil
}

// firstInk returns the index of the first byte that is not blank, or the length.
func firstInk(data []byte) int {
	return len(data) - len(bytes.TrimLeft(data, " \t\r\n"))
}

// newlines is a reader of that many line feeds.
type newlines int

func (n *newlines) Read(p []byte) (int, error) {
	if *n == 0 {
		return 0, io.EOF
	}
	k := min(len(p), int(*n))
	for i := range k {
		p[i] = '\n'
	}
	*n -= newlines(k)
	return k, nil
}

// readUpTo reads n bytes, or fewer at the end. Unlike io.ReadFull it returns a decompressor's "unexpected EOF" as an
// error.
func readUpTo(r io.Reader, n int) ([]byte, error) {
	buf := make([]byte, 0, n)
	for len(buf) < n {
		k, err := r.Read(buf[len(buf):n])
		buf = buf[:len(buf)+k]
		if err == io.EOF {
			break
		}
		if err != nil {
			return buf, err
		}
	}
	return buf, nil
}

// Open opens a file or folder, "-" being standard input. It recognises gzip, zstd, xz, bzip2 and zip by their first
// bytes and decompresses them while reading. It maps a plain file, so that the content does not count as the program's
// memory.
func Open(path string) (*Input, error) {
	if path == "-" {
		in := &Input{Name: "standard input"}
		return in, in.decompress(os.Stdin)
	}
	in := &Input{Name: path, Path: path}
	f, err := os.Open(path)
	if err != nil {
		return nil, &history.InputError{File: path, Off: -1, Msg: "cannot open: " + history.Reason(err)}
	}
	in.close = append(in.close, f.Close)
	st, err := f.Stat()
	if err != nil {
		in.Close()
		return nil, &history.InputError{File: path, Off: -1, Msg: "cannot open: " + history.Reason(err)}
	}
	if st.IsDir() {
		in.Dir = true
		return in, nil
	}
	if st.Mode().IsRegular() && st.Size() > 0 {
		in.size = st.Size()
		if data, unmap, err := mapped.File(f, st.Size()); err == nil { // else it is read as a stream
			mapped.Sequential(data)
			switch compression(data) {
			case "":
				in.mapped = data
				in.close = append(in.close, unmap)
				return in, nil
			case "zip":
				in.archive = data
				in.close = append(in.close, unmap)
			default:
				unmap()
			}
		}
	}
	if err := in.decompress(noting{f, in}); err != nil {
		in.Close()
		return nil, err
	}
	return in, nil
}

// Detect returns the format of an input, judged by its content.
func Detect(in *Input) (Format, error) {
	head, err := in.Head()
	if err != nil {
		return Format{}, err
	}
	if !in.Dir && len(bytes.TrimSpace(head)) == 0 {
		return Format{}, &history.InputError{File: in.Name, Line: 1, Msg: "the file is empty; expected a history"}
	}
	var best []Format
	sure := No
	for _, f := range All() {
		if c := f.Detect(head, in.Path); c > No && c >= sure {
			if c > sure {
				best, sure = nil, c
			}
			best = append(best, f)
		}
	}
	if len(best) == 1 {
		return best[0], nil
	}
	if best != nil {
		return Format{}, &history.InputError{File: in.Name, Off: -1,
			Msg: "the format could be " + strings.Join(Names(best), " or ") + "; name it with --format"}
	}
	return Format{}, unknown(in, head)
}

// Read reads a history from a file or folder, "-" being standard input. Errors about the input are *history.InputError.
func Read(ctx context.Context, path string, o Options) (*history.History, error) {
	in, f, err := begin(path, &o)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	h, err := f.Read(ctx, in, o)
	if err != nil {
		return nil, err
	}
	if err := o.Initial.Apply(h); err != nil {
		return nil, err
	}
	if o.Nil == NilInitial {
		h.NullIsInitial()
	}
	return h, o.RealTime.apply(h, f)
}

// begin opens the input and finds its format.
func begin(path string, o *Options) (in *Input, f Format, err error) {
	if o.Format != "" && o.Format != "auto" {
		if f, err = named(o.Format); err != nil {
			return nil, f, err
		}
	}
	if err := o.Initial.Check(); err != nil {
		return nil, f, err
	}
	if o.Nil != "" && !slices.Contains(Nils(), string(o.Nil)) {
		return nil, f, fmt.Errorf("unknown meaning of nil %q; expected one of %s", o.Nil, strings.Join(Nils(), ", "))
	}
	if o.RealTime != "" && !slices.Contains(RealTimes(), string(o.RealTime)) {
		return nil, f, fmt.Errorf("unknown real time %q; expected one of %s", o.RealTime,
			strings.Join(RealTimes(), ", "))
	}
	o.Workers = cmp.Or(o.Workers, runtime.GOMAXPROCS(0))
	if o.Workers < 0 {
		return nil, f, fmt.Errorf("%d workers; expected at least 1, or 0 for all cores", o.Workers)
	}
	if in, err = Open(path); err != nil {
		return nil, f, err
	}
	if in.Dir && f.Name == "" {
		if in, err = Within(in); err != nil {
			return nil, f, err
		}
	}
	opened := in
	defer func() {
		if err != nil {
			opened.Close()
		}
	}()
	if in.size > 0 {
		in.mu.Lock() // decompressors read ahead
		in.told = o.Progress
		in.mu.Unlock()
	}
	if o.MaxBytes > 0 {
		if int64(len(in.mapped)) > o.MaxBytes {
			return nil, f, &history.InputError{File: in.Name, Off: -1, Msg: fmt.Sprintf("the file has %d bytes; "+
				"expected at most %d", len(in.mapped), o.MaxBytes)}
		}
		if in.stream != nil {
			in.stream = &limited{in.stream, o.MaxBytes}
		}
	}
	if _, err := in.Head(); err != nil {
		return nil, f, err
	}
	if f.Name == "" {
		if f, err = Detect(in); err != nil {
			return nil, f, err
		}
	}
	return in, f, o.tells(f)
}

// limited is a reader that fails if the content has more bytes than a limit.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errors.New("decompressed, it is larger than its memory bound")
	}
	return n, err
}

// apply applies RealTime to a history unless the format's reader has done so: Untimed drops the client's times. It
// returns an error if files of the format lack the requested source of times.
func (r RealTime) apply(h *history.History, f Format) error {
	switch {
	case r == "" || r == ByFile || f.Events:
	case r == Untimed:
		h.Txns.Start, h.Txns.Commit, h.Txns.End, h.Ops.Start, h.Ops.End = nil, nil, nil, nil, nil
	case r == ByIndex:
		return &history.InputError{File: h.File, Off: -1, Msg: "--real-time index: format " + f.Name + " has no " +
			"order of invocations and completions; expected time or none"}
	case r == ByTime:
		if h.Txns.Start == nil && h.Txns.End == nil {
			return &history.InputError{File: h.File, Off: -1, Msg: "--real-time time: the history has no times; " +
				"expected none"}
		}
	}
	return nil
}
