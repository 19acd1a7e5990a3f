package watch

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/cespare/xxhash/v2"

	"isovet/check/mechanism"
	"isovet/check/timestamp"
	"isovet/internal/freeze"
	"isovet/internal/keystore"
)

// Bounds bounds the memory of a judge.
type Bounds struct {
	// Memory bounds the memory of the whole process in bytes; 0 means no bound. If it is short, the states of idle
	// keys and sessions go to files in Dir.
	Memory int64
	// Dir is a folder for this judge alone, such as "keys" in the folder of the log. The judge empties it when it
	// begins.
	Dir string
}

// store makes the store of keys. It returns nil if everything stays in memory.
func (o *Bounds) store() *keystore.Store {
	if o.Memory <= 0 {
		return nil
	}
	return keystore.New(keystore.Options{Dir: o.Dir, Memory: o.Memory})
}

// keysFolder is the name of a checkpoint's folder of key states.
const keysFolder = "keys"

func (j *aion) Checkpoint(dir string) error {
	if err := freeze.Save(filepath.Join(dir, stateFile), j); err != nil {
		return err
	}
	return keysCheckpoint(j.store, dir)
}

func (j *aion) Restore(dir string) error {
	if err := freeze.Load(filepath.Join(dir, stateFile), j); err != nil {
		return err
	}
	return j.o.restore(dir, j.store)
}

// keysCheckpoint adds the states on disk to a checkpoint.
func keysCheckpoint(s *keystore.Store, dir string) error {
	if s == nil {
		return nil
	}
	return s.Checkpoint(filepath.Join(dir, keysFolder))
}

// restore loads the states on disk from a checkpoint.
func (o *Bounds) restore(dir string, s *keystore.Store) error {
	dir = filepath.Join(dir, keysFolder)
	if s != nil {
		err := s.Restore(dir)
		if errors.Is(err, keystore.ErrDamaged) {
			err = errors.Join(freeze.ErrDamaged, err)
		}
		return err
	}
	if _, err := os.Stat(dir); err == nil {
		return errors.New("the checkpoint has keys on disk; expected a memory bound (--memory), as before")
	}
	return nil
}

// shares splits the memory. state is for keys, sessions and transactions; window is the part of it for transactions
// that are not final. The rest is for lines in progress, known ids, the store, and the garbage collector.
func (o *Bounds) shares() shares {
	if o.Memory <= 0 {
		return shares{1 << 62, 1 << 62}
	}
	return shares{state: o.Memory / 5, window: o.Memory / 8}
}

type shares struct{ state, window int64 }

// halfSeen returns the size of each half of the gate's table: a million ids, or fewer if at 48 bytes each they would
// take more than an eighth of the memory.
func (o *Bounds) halfSeen() int {
	if o.Memory <= 0 {
		return halfSeen
	}
	n := halfSeen
	for n > 1<<12 && int64(n)*48 > o.Memory/8 {
		n /= 2
	}
	return n
}

// spread estimates the number of different texts so far, with one bit for each hash. Eviction from memory does not
// change it.
type spread struct {
	bits []uint64
	n    int
}

const spreadBits = 1 << 17

func (s *spread) add(text []byte) {
	sum := xxhash.Sum64(text) // the same in every run
	if s.bits == nil {
		s.bits = make([]uint64, spreadBits/64)
	}
	w, b := &s.bits[sum%spreadBits/64], uint64(1)<<(sum%64)
	if *w&b == 0 {
		*w |= b
		s.n++
	}
}

// most returns an upper estimate of the number of different keys among n reads.
func (s *spread) most(n int) int {
	if s.n > spreadBits/2 {
		return n
	}
	return min(n, 2*s.n)
}

// evict moves idle keys and sessions to the store if memory is short.
func (j *aion) evict() error {
	more := func() bool {
		return j.a.Bytes()+j.p.rows.size+j.p.keys.Bytes()+j.p.sessions.Bytes()-j.vacant() > j.room.state
	}
	if j.o.Memory <= 0 {
		return nil
	}
	if err := j.compact(); err != nil || !more() {
		return err
	}
	down := j.room.state
	j.room.state -= down / 8
	defer func() { j.room.state = down }()
	var err error
	if !j.p.rows.keeps { // otherwise all stay
		_, err = j.p.keys.Evict(more, j.p.saveKey, j.a.DropKey)
	}
	if err == nil && more() {
		_, err = j.p.sessions.Evict(more, j.a.SaveSession, j.a.DropSession)
	}
	return err
}

// compact shrinks the tables of keys and sessions if most of their entries are free.
func (j *aion) compact() error {
	if err := j.p.compact(); err != nil || !j.p.sessions.Sparse() {
		return err
	}
	fewer, err := j.p.sessions.Compact(j.a.SaveSession, j.a.DropSession, func(n uint32, state []byte) error {
		if len(state) == 0 {
			return nil
		}
		return j.a.LoadSession(n, state)
	})
	if fewer {
		j.a.TrimSessions(j.p.sessions.Numbers())
	}
	return err
}

func (p *parser) saveKey(n uint32, buf []byte) ([]byte, bool) {
	return p.aion.SaveKey(n, p.initial, buf)
}

func (p *parser) compact() error {
	if !p.keys.Sparse() {
		return nil
	}
	fewer, err := p.keys.Compact(p.saveKey, p.aion.DropKey, func(n uint32, state []byte) error {
		if p.aion.SetInitial(n, p.initial); len(state) == 0 {
			return nil
		}
		return p.aion.LoadKey(n, state)
	})
	if fewer {
		p.aion.TrimKeys(p.keys.Numbers())
	}
	return err
}

type leopardKeys struct{ j *leopard }

func (k leopardKeys) Number(text []byte) (uint32, bool) {
	return k.j.keys.Number(text)
}

func (k leopardKeys) Name(n uint32) string { return k.j.keys.Name(n) }
func (k leopardKeys) Known() int64         { return k.j.keys.Known() }

func (k leopardKeys) Fetch() {
	err := k.j.keys.Fetch(func(n uint32, state []byte) error { return k.j.online.LoadKey(k.j.stream, n, state) })
	k.j.err = errors.Join(k.j.err, err)
}

func (k leopardKeys) Find(text string) (n uint32, ok bool, state []byte) {
	if n, ok = k.j.keys.Find([]byte(text)); ok {
		return n, ok, nil
	}
	state, err := k.j.keys.Peek(text)
	k.j.err = errors.Join(k.j.err, err)
	return 0, false, state
}

// evict moves idle keys to the store if memory is short.
func (j *leopard) evict() error {
	if j.o.Memory <= 0 || j.online == nil {
		return nil
	}
	room := j.o.shares().state
	if j.everything {
		room = 0
	}
	used := func() int64 {
		return j.online.Bytes() + j.keys.Bytes() -
			int64(j.keys.Numbers()-j.keys.Len())*(mechanism.KeyBytes+keystore.NumberBytes)
	}
	if used() > room {
		j.online.Trim()
	}
	if used() <= room && !j.keys.Sparse() {
		return nil
	}
	j.pinned = noBits(j.pinned, j.keys.Numbers())
	j.online.Pins(func(key uint32) { j.pinned[key/64] |= 1 << (key % 64) })
	save := unpinned(j.pinned, func(n uint32, buf []byte) []byte { return j.online.SaveKey(j.stream, n, buf) })
	fewer, err := j.keys.Compact(save, j.online.DropKey, func(n uint32, state []byte) error {
		return j.online.LoadKey(j.stream, n, state)
	})
	if fewer {
		j.online.TrimKeys(j.stream, j.keys.Numbers())
	}
	if err != nil || used() <= room {
		return err
	}
	_, err = j.keys.Evict(func() bool { return used() > room-room/8 }, save, j.online.DropKey)
	return err
}

// vacant returns the memory of free numbers, which later keys and sessions will use.
func (j *aion) vacant() int64 {
	return int64(j.p.keys.Numbers()-j.p.keys.Len())*(timestamp.KeyBytes+keystore.NumberBytes) +
		int64(j.p.sessions.Numbers()-j.p.sessions.Len())*(timestamp.SessionBytes+keystore.NumberBytes)
}

// shorten makes transactions final early if those that are not final take more than their share of the memory.
func (j *aion) shorten() {
	bytes, reads := j.a.WindowBytes()
	bytes += int64(j.p.spread.most(reads)) * (timestamp.KeyBytes + keystore.NumberBytes + 64)
	if bytes <= j.room.window {
		return
	}
	j.shortened++
	j.advance(j.a.Oldest(4))
}
