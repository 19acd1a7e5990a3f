package watch

import (
	"encoding/binary"
	"errors"

	"isovet/history"
	"isovet/internal/keystore"
	"isovet/watch/online"
)

// replayMemory has the state for bounding memory.
type replayMemory struct {
	store     *keystore.Store `freeze:"-"`
	room      shares          `freeze:"-"`
	spread    spread
	shortened int64
	pinned    [2][]uint64 `freeze:"-"` // keys and sessions
	above     int64       `freeze:"-"`
	text      []byte      `freeze:"-"`
	err       error       `freeze:"-"` // of the store
}

// number returns the number of a key. The key's state is in memory only after fetch.
func (j *replayJudge) number(t *history.Texts, key history.Value) uint32 {
	j.mem.text = t.AppendValue(j.mem.text[:0], key)
	n, made := j.keys.Number(j.mem.text)
	if made {
		j.e.Name(n, j.keys.Sum(n))
		j.mem.spread.add(j.mem.text)
	}
	return n
}

// fetch loads the states of the keys that were numbered.
func (j *replayJudge) fetch() {
	if err := j.keys.Fetch(j.e.LoadKey); err != nil {
		j.mem.err = errors.Join(j.mem.err, err)
	}
}

func (j *replayJudge) session(name int64) uint32 {
	n, made := j.sess.Number(binary.BigEndian.AppendUint64(j.mem.text[:0], uint64(name)))
	if made {
		if err := j.sess.Fetch(j.e.LoadSession); err != nil {
			j.mem.err = errors.Join(j.mem.err, err)
		}
	}
	return n
}

// evict moves idle keys and sessions to the store if memory is short.
func (j *replayJudge) evict() error {
	used := func() int64 {
		return j.e.KeysBytes() + j.keys.Bytes() + j.sess.Bytes() -
			int64(j.keys.Numbers()-j.keys.Len())*(online.KeyBytes+keystore.NumberBytes) -
			int64(j.sess.Numbers()-j.sess.Len())*(online.SessionBytes+keystore.NumberBytes)
	}
	over := used() > max(j.mem.room.state, j.mem.above)
	if j.o.Memory <= 0 || !over && !j.keys.Sparse() && !j.sess.Sparse() {
		return nil
	}
	pinned := &j.mem.pinned
	pinned[0], pinned[1] = noBits(pinned[0], j.keys.Numbers()), noBits(pinned[1], j.sess.Numbers())
	j.e.Pins(func(n uint32) { pinned[0][n/64] |= 1 << (n % 64) }, func(n uint32) { pinned[1][n/64] |= 1 << (n % 64) })
	save, saveSession := unpinned(pinned[0], j.e.SaveKey), unpinned(pinned[1], j.e.SaveSession)
	if err := j.compact(save, saveSession); err != nil || !over {
		return err
	}
	more := func() bool { return used() > j.mem.room.state-j.mem.room.state/8 }
	_, err := j.keys.Evict(more, save, j.e.DropKey)
	if err == nil && more() {
		_, err = j.sess.Evict(more, saveSession, j.e.DropSession)
	}
	j.mem.above = used() + j.mem.room.state/8 // if all the rest is in use, do not try again at once
	return err
}

// compact shrinks the tables of keys and sessions if most of their entries are free.
func (j *replayJudge) compact(save, saveSession func(n uint32, buf []byte) ([]byte, bool)) error {
	fewer, err := j.keys.Compact(save, j.e.DropKey, func(n uint32, state []byte) error {
		if j.e.Name(n, j.keys.Sum(n)); len(state) == 0 {
			return nil
		}
		return j.e.LoadKey(n, state)
	})
	if fewer {
		j.e.TrimKeys(j.keys.Numbers())
	}
	if err != nil {
		return err
	}
	fewer, err = j.sess.Compact(saveSession, j.e.DropSession, func(n uint32, state []byte) error {
		if len(state) == 0 {
			return nil
		}
		return j.e.LoadSession(n, state)
	})
	if fewer {
		j.e.TrimSessions(j.sess.Numbers())
	}
	return err
}

// unpinned saves what is not pinned; it says of the rest that it must stay in memory.
func unpinned(pinned []uint64, save func(n uint32, buf []byte) []byte) func(uint32, []byte) ([]byte, bool) {
	return func(n uint32, buf []byte) ([]byte, bool) {
		if pinned[n/64]&(1<<(n%64)) != 0 {
			return buf, true
		}
		return save(n, buf), false
	}
}

// noBits returns n bits, all 0.
func noBits(buf []uint64, n int) []uint64 {
	buf = buf[:0]
	for range (n + 63) / 64 {
		buf = append(buf, 0)
	}
	return buf
}

// shorten makes transactions final early if those that are not final take more than their share of the memory.
func (j *replayJudge) shorten() {
	bytes, ops := j.e.WaitBytes()
	bytes += int64(j.mem.spread.most(ops)) * (online.KeyBytes + keystore.NumberBytes + 64)
	if bytes <= j.mem.room.window {
		return
	}
	j.mem.shortened++
	j.advance(j.e.Oldest(4))
}
