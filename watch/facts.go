package watch

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"isovet/check/mechanism"
	"isovet/internal/keystore"
)

// A leopard that is one of several processes knows some of the keys. What spans keys it writes down as facts
// (mechanism.Joint), in files facts-00000017.zst, one for what was judged between two checkpoints. The manifest of a
// checkpoint says how many of them belong to it, so that who reads those has each fact once, however often the process
// was killed: what was written behind the latest checkpoint is judged and written again, into a file that begins anew.

const factsName = "facts-%08d.zst"

// factsHead is what a file of facts begins with, a line.
type factsHead struct {
	Version int                `json:"version"`
	Profile *mechanism.Profile `json:"profile"`
	Level   string             `json:"level"`
	Skew    int64              `json:"clock_skew_ns"`
	Header  string             `json:"header"` // of the stream
	First   int64              `json:"first"`  // number of the first transaction's line
	Step    uint64             `json:"step"`   // of its first facts
}

const factsVersion = 2

// telling is a judge that writes facts.
type telling interface {
	// Told is how many files of facts belong to the latest checkpoint.
	Told() int64
}

func (j *leopard) Told() int64 { return j.told }

func (o *LeopardOptions) division() Division {
	return Division{Shards: o.Shards, Shard: o.Shard, Of: o.Of}
}

// has reports whether this process judges a key.
func (j *leopard) has(key []byte) bool {
	if j.o.Of <= 1 {
		return true
	}
	p := portion{uint64(j.o.Shard), uint64(j.o.Of), 0, 1}
	return p.has(keystore.Sum(key))
}

// factsWriter is a file of facts that is written to. What does not find room on the disk stays in memory, and so does
// what comes: that is little, for the log takes nothing then either.
type factsWriter struct {
	begun bool
	f     *os.File
	z     *zstd.Encoder // to text
	text  bytes.Buffer  // not in the file
}

// tellFacts writes down what has been found that spans keys.
func (j *leopard) tellFacts() {
	if j.o.Of <= 1 || j.online == nil || j.err != nil {
		return
	}
	prefix := binary.AppendVarint(j.piece[:0], j.court.origin)
	if j.stream.Deletes() {
		prefix = append(prefix, 1)
	} else {
		prefix = append(prefix, 0)
	}
	step := j.online.Told()
	j.piece = j.online.AppendFacts(prefix, j.stream.Key)
	if len(j.piece) == len(prefix) {
		return
	}
	err := j.beginFacts(step)
	if err == nil {
		_, err = j.facts.z.Write(binary.AppendUvarint(nil, uint64(len(j.piece))))
	}
	if err == nil {
		_, err = j.facts.z.Write(j.piece)
	}
	if err == nil {
		err = j.facts.flush(j)
	}
	if !isFull(err) {
		j.err = err
	}
}

// beginFacts begins the next file, where none has begun, with the facts of a step.
func (j *leopard) beginFacts(step uint64) (err error) {
	x := &j.facts
	if x.z == nil {
		x.z, err = zstd.NewWriter(&x.text, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	}
	if err != nil || x.begun {
		return err
	}
	x.begun = true
	text, err := json.Marshal(&factsHead{factsVersion, j.court.profile, j.court.level.String(), j.o.Skew,
		string(j.header), j.first, step})
	if err == nil {
		_, err = x.z.Write(append(text, '\n'))
	}
	return err
}

// flush writes as much as there is room for.
func (x *factsWriter) flush(j *leopard) (err error) {
	if x.f == nil {
		if x.f, err = os.Create(filepath.Join(j.o.Folder, fmt.Sprintf(factsName, j.told+1))); err != nil {
			return err
		}
	}
	if x.text.Len() == 0 {
		return nil
	}
	n, err := j.o.disk.write(x.f, x.text.Bytes())
	x.text.Next(n)
	return err
}

// closeFacts ends a file, which lasts when rest has returned. Where the disk is full it does not end yet, and there is
// no checkpoint.
func (j *leopard) closeFacts() (rest func() error, err error) {
	if j.o.Of <= 1 || j.online == nil {
		return nil, nil
	}
	if j.tellFacts(); j.err != nil {
		return nil, j.err
	}
	if err := j.beginFacts(j.online.Told()); err != nil {
		return nil, err
	}
	x := &j.facts
	if err := x.z.Close(); err != nil {
		j.err = err // it may not belong to any checkpoint
		return nil, err
	}
	x.z = nil // what comes to the same file is a frame of its own
	if err := x.flush(j); err != nil {
		return nil, err
	}
	f := x.f
	*x = factsWriter{}
	j.told++
	return func() error { return errors.Join(j.o.disk.sync(f), f.Close(), syncDir(j.o.Folder)) }, nil
}

// both does two things; either may be nil.
func both(a, b func() error) func() error {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return func() error { return errors.Join(a(), b()) }
}
