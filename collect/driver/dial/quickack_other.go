//go:build !linux

package dial

import "net"

// quickAck: there is no such setting.
func quickAck(net.Conn) {}
