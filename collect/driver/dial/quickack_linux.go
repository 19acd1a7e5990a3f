package dial

import (
	"net"

	"golang.org/x/sys/unix"
)

// quickAck makes the system acknowledge the next answers at once. Otherwise a server that sends an answer in small
// pieces, and waits for each acknowledgement, would wait 40 ms.
func quickAck(c net.Conn) {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return
	}
	// An error only costs time.
	_ = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) })
}
