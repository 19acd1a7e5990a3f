//go:build offline

package driver

// Broken: none of the databases that are part of this program runs statements of the user's own.
func Broken(error) bool { return false }

// Code: none of these databases gives its errors codes.
func Code(error) string { return "" }
