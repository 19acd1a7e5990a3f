package watch

import (
	"errors"
	"io"
	"os"
	"syscall"
	"unsafe"
)

// Parts of the log of directLeast bytes and more go to the disk around the system's cache of pages (O_DIRECT): nobody
// reads them soon, a database beside wants that memory, and to copy them there is most of what logging costs. That is
// done in whole blocks; what is behind the last of them is written the usual way. And only on file systems on which
// the two have got on with each other for long. Either is durable once the file has been synced, the one in the order
// in which it was written.
const (
	directBlock = 4096 // a multiple of what disks and these file systems want
	directRoom  = 1 << 20
)

var directLeast = 256 << 10

// direct writes whole blocks of a file.
type direct struct {
	f   *os.File // nil: it cannot be
	buf []byte
}

// Types of file systems, as statfs(2) has them.
const (
	ext4Magic = 0xEF53
	xfsMagic  = 0x58465342
)

// open makes f the file that is written.
func (d *direct) open(f *os.File) {
	d.close()
	var st syscall.Statfs_t
	if syscall.Fstatfs(int(f.Fd()), &st) != nil || int64(st.Type) != ext4Magic && int64(st.Type) != xfsMagic {
		return
	}
	if x, err := os.OpenFile(f.Name(), os.O_WRONLY|syscall.O_DIRECT, 0); err == nil {
		d.f = x
	}
}

func (d *direct) close() {
	if d.f != nil {
		d.f.Close() // nothing is waiting in it
		d.f = nil
	}
}

// write writes what fills whole blocks of f, of bytes that are to stand behind place at, f's end and where it is, and
// returns how many they are: none where they are few, or it cannot be done. f is behind them then.
func (d *direct) write(f *os.File, at int64, b []byte) (n int, err error) {
	if d.f == nil || len(b) < directLeast {
		return 0, nil
	}
	if d.buf == nil {
		all := make([]byte, directRoom+directBlock)
		skip := -uintptr(unsafe.Pointer(&all[0])) % directBlock
		d.buf = all[skip : skip+directRoom]
	}
	// The block that is begun is written once more, or a crash could leave a hole between it and the next.
	begun := int(at % directBlock)
	if m, err := f.ReadAt(d.buf[:begun], at-int64(begun)); m < begun {
		return 0, err
	}
	for {
		part := begun + copy(d.buf[begun:], b[n:])
		if part &^= directBlock - 1; part == 0 {
			break
		}
		if _, err = d.f.WriteAt(d.buf[:part], at+int64(n-begun)); err != nil {
			break
		}
		n += part - begun
		begun = 0
	}
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EOPNOTSUPP) {
		d.close() // the usual way will do
		err = nil
	}
	if _, e := f.Seek(at+int64(n), io.SeekStart); err == nil {
		err = e
	}
	return n, err
}
