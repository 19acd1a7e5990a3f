//go:build !linux

package dial

import "net"

// quickAck does nothing: the system has no such setting.
func quickAck(net.Conn) {}
