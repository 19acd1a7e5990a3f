package proxy

import (
	"io"
	"net"
	"os"
	"syscall"
	"unsafe"
)

// direct is a connection whose system calls Go's scheduler does not see, as they never block. Otherwise the scheduler's
// monitor wakes at the first call for each message, which takes as long as to pass on the message.
type direct struct {
	plain
	raw syscall.RawConn
}

// plain is a connection of the operating system's.
type plain interface {
	net.Conn
	syscall.Conn
	CloseWrite() error
}

// newDirect returns the connection as a direct one. If that is not possible, as with TLS, it returns the same.
func newDirect(c net.Conn) net.Conn {
	if p, ok := c.(plain); ok {
		if raw, err := p.SyscallConn(); err == nil {
			return &direct{p, raw}
		}
	}
	return c
}

func (d *direct) Read(b []byte) (n int, err error) {
	if len(b) == 0 {
		return 0, nil
	}
	var no syscall.Errno
	err = d.raw.Read(func(fd uintptr) bool {
		n, no = call(syscall.SYS_READ, fd, b)
		return no != syscall.EAGAIN
	})
	switch {
	case err != nil:
		return 0, err
	case no != 0:
		return 0, os.NewSyscallError("read", no)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

func (d *direct) Write(b []byte) (sent int, err error) {
	var no syscall.Errno
	err = d.raw.Write(func(fd uintptr) bool {
		for sent < len(b) {
			var n int
			if n, no = call(syscall.SYS_WRITE, fd, b[sent:]); no != 0 {
				return no != syscall.EAGAIN
			}
			sent += n
		}
		return true
	})
	if err == nil && no != 0 {
		err = os.NewSyscallError("write", no)
	}
	return sent, err
}

// call reads into a buffer, or writes it.
func call(trap, fd uintptr, b []byte) (int, syscall.Errno) {
	for {
		n, _, no := syscall.RawSyscall(trap, fd, uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
		if no != syscall.EINTR {
			return int(n), no
		}
	}
}
