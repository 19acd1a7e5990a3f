//go:build !unix

package room

func rusageSelfMB() float64 { return 0 }
