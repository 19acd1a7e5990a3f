package spill

import "golang.org/x/sys/windows"

// freeAt returns how many bytes a user may still write to the file system of a folder, or false if that is unknown.
func freeAt(dir string) (bytes int64, known bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var free uint64
	if windows.GetDiskFreeSpaceEx(path, &free, nil, nil) != nil {
		return 0, false
	}
	return int64(free), true
}
