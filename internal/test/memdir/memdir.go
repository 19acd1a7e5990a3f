// Package memdir has a test program that imports it keep its temporary files in memory: there a file and a sync cost a
// tenth. It does so on Linux, where /dev/shm has room for them, may hold programs, and TMPDIR names no other folder.
package memdir
