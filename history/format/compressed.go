package format

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zip"
	"github.com/klauspost/compress/zstd"

	"isovet/history"
	"isovet/internal/bounds"
	"isovet/internal/slice"
)

// Histories are repetitive text and numbers, which gzip makes 10 to 30 times smaller. A file that grows hundreds of
// times during decompression, beyond a harmless size, is a bomb.
const (
	maxGrowth = 250
	// The largest window that the program zstd accepts unless told otherwise; twice that of xz -9.
	maxSpan = 128 << 20
	// Files in an archive: a Jepsen run has some hundreds.
	maxMembers = 100_000
)

var (
	freeGrowth = 64 << 20
	maxArchive = 256 << 20 // of a zip archive that comes as a stream: memory holds it
)

func init() {
	bounds.Register("format.free-growth", &freeGrowth)
	bounds.Register("format.archive", &maxArchive)
}

// errBomb is the error for a file that grows like a bomb. It says what to do with a file that is none.
var errBomb = fmt.Errorf("it decompresses to more than %d times its size, unlike histories; if it is a "+
	"history, decompress it yourself and name the plain file", maxGrowth)

// counted counts what is read.
type counted struct {
	r io.Reader
	n atomic.Int64 // decompressors read ahead on goroutines of their own
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// bounded ends with errBomb if a decompressor returns far more bytes than it reads.
type bounded struct {
	r   io.Reader
	in  *counted
	out int64
	err error // returned by every further Read; not all decompressors do that
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.out > int64(freeGrowth) && b.out/maxGrowth > b.in.n.Load() {
		return 0, errBomb
	}
	if b.err != nil {
		return 0, b.err
	}
	n, err := b.r.Read(p)
	b.out += int64(n)
	b.err = err
	return n, err
}

// magics are the first bytes of compressed files.
var magics = [...]struct{ name, magic string }{
	{"gzip", "\x1f\x8b"},
	{"zstd", "\x28\xb5\x2f\xfd"},
	{"xz", "\xfd7zXZ\x00"},
	{"bzip2", "BZh"},
	{"zip", "PK\x03\x04"},
}

// magicSize is the number of bytes that detect a compression.
const magicSize = 10

// compression returns the compression of a file by its first bytes.
func compression(head []byte) string {
	for _, m := range magics {
		if !bytes.HasPrefix(head, []byte(m.magic)) {
			continue
		}
		// A text may begin with bzip2's three letters too. In a bzip2 file a digit and the mark of a block or
		// of the end follow.
		if m.name == "bzip2" && (len(head) < 10 || head[3] < '1' || head[3] > '9' ||
			string(head[4:10]) != "1AY&SY" && string(head[4:10]) != "\x17rE8P\x90") {
			continue
		}
		return m.name
	}
	return ""
}

// decompress sets in.stream to r's content, decompressed if it is compressed.
func (in *Input) decompress(r io.Reader) error {
	magic, err := readUpTo(r, magicSize)
	if err != nil {
		return &history.InputError{File: in.Name, Line: 1, Msg: "cannot read: " + err.Error()}
	}
	all := &counted{r: io.MultiReader(bytes.NewReader(magic), r)}
	var z io.Reader
	name := compression(magic)
	switch name {
	case "gzip":
		var g *gzip.Reader
		if g, err = gzip.NewReader(all); err == nil {
			in.close = append(in.close, g.Close)
			z = g
		}
	case "zstd":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(all, zstd.WithDecoderMaxWindow(maxSpan), zstd.WithDecoderLowmem(true)); err == nil {
			in.close = append(in.close, func() error { d.Close(); return nil })
			z = d
		}
	case "xz":
		// The library reads some bytes one by one.
		if readXZ == nil {
			return &history.InputError{File: in.Name, Off: 0, Msg: "this program is built without xz; expected gzip, " +
				"zstd, bzip2, zip, or the full isovet"}
		}
		z, err = readXZ(bufio.NewReaderSize(newXZGuard(all), 1<<16))
	case "bzip2":
		z = bzip2.NewReader(all)
	case "zip":
		return in.unzip(all)
	default:
		in.stream = all.r
		return nil
	}
	if err != nil {
		return &history.InputError{File: in.Name, Off: 0, Msg: "looks like " + name + ", but: " + err.Error()}
	}
	in.stream = &bounded{r: z, in: all}
	return nil
}

// unzip sets in.stream to the one history in a zip archive. Its directory is at its end: a file is mapped into memory
// for that, a stream read whole.
func (in *Input) unzip(r io.Reader) error {
	wrong := func(format string, args ...any) error {
		return &history.InputError{File: in.Name, Off: -1, Msg: fmt.Sprintf(format, args...)}
	}
	data := in.archive
	if data == nil {
		var err error
		if data, err = io.ReadAll(io.LimitReader(r, int64(maxArchive)+1)); err != nil {
			return wrong("cannot read on: %v", err)
		}
		if len(data) > maxArchive {
			return wrong("found an archive of more than %d MiB in a stream; expected it in a file, or gzip or zstd",
				maxArchive>>20)
		}
	}
	// The library makes room for every entry of the directory.
	if n := bytes.Count(data, []byte("PK\x01\x02")); n > maxMembers {
		return wrong("found %d files in the archive; expected one history (unpack it and give one of them)", n)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return wrong("looks like zip, but: %v", err)
	}
	member, err := theHistory(z.File)
	if err != nil {
		return wrong("%v", err)
	}
	f, err := member.Open()
	if err != nil {
		return wrong("cannot read %s in the archive: %v", member.Name, err)
	}
	in.close = append(in.close, f.Close)
	packed := &counted{}
	packed.n.Store(int64(min(member.CompressedSize64, uint64(len(data)))))
	// The member may be compressed itself.
	out := &Input{Name: in.Name + ": " + member.Name}
	if magic, err := readUpTo(f, magicSize); err != nil {
		return wrong("cannot read %s in the archive: %v", member.Name, err)
	} else if r := io.MultiReader(bytes.NewReader(magic), f); compression(magic) == "zip" {
		return wrong("found an archive in the archive, %s; expected a history", member.Name)
	} else if err := out.decompress(&bounded{r: r, in: packed}); err != nil {
		return err
	}
	in.Name, in.stream, in.close = out.Name, out.stream, append(in.close, out.close...)
	return nil
}

// theHistory finds the history in an archive: its only file, or the history of a Jepsen run.
func theHistory(all []*zip.File) (*zip.File, error) {
	var files []*zip.File
	for _, f := range all {
		base := path.Base(f.Name)
		if !f.FileInfo().IsDir() && base[0] != '.' && !strings.HasPrefix(f.Name, "__MACOSX/") {
			files = append(files, f)
		}
	}
	if len(files) == 1 {
		return files[0], nil
	}
	for _, name := range parts() {
		found := slice.Filter(files, func(f *zip.File) bool { return path.Base(f.Name) == name })
		switch {
		case len(found) == 1:
			return found[0], nil
		case len(found) > 1:
			return nil, fmt.Errorf("found %d files %s in the archive; expected one history (unpack it and give one of "+
				"them)", len(found), name)
		}
	}
	if len(files) == 0 {
		return nil, errors.New("found no file in the archive; expected one history")
	}
	return nil, fmt.Errorf("found %d files in the archive, such as %s and %s; expected one history, or a Jepsen run's "+
		"folder (unpack it and give one of them, or the folder)", len(files), files[0].Name, files[1].Name)
}

var readXZ func(io.Reader) (io.Reader, error)

// RegisterXZ sets the decompressor of xz files. Package history/format/xz calls it in programs that import it; small
// programs do not.
func RegisterXZ(open func(io.Reader) (io.Reader, error)) { readXZ = open }
