package guard

import (
	"cmp"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// openStatm opens /proc/self/statm once, since it is read a thousand times a second.
var openStatm = sync.OnceValues(func() (int, error) {
	return unix.Open("/proc/self/statm", unix.O_RDONLY|unix.O_CLOEXEC, 0)
})

// statm returns the process's mapped memory, its resident memory, and the part of this that is pages of files, in
// bytes.
func statm() (size, rss, shared int64, ok bool) {
	fd, err := openStatm()
	if err != nil {
		return 0, 0, 0, false
	}
	var buf [128]byte
	n, err := unix.Pread(fd, buf[:], 0)
	if err != nil {
		return 0, 0, 0, false
	}
	var v [3]int64
	at := 0
	for i := range v {
		for ; at < n && buf[at] >= '0' && buf[at] <= '9'; at++ {
			v[i] = 10*v[i] + int64(buf[at]-'0')
		}
		at++ // the blank
	}
	page := int64(os.Getpagesize())
	return v[0] * page, v[1] * page, v[2] * page, at <= n
}

// resident returns the process's resident set, and the part of it that is pages of files, in bytes.
func resident() (rss, shared int64, ok bool) {
	_, rss, shared, ok = statm()
	return rss, shared, ok
}

// ResidentOf returns another process's resident set in bytes, or 0 if it is unknown.
func ResidentOf(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	f := strings.Fields(string(b))
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.ParseInt(f[1], 10, 64)
	return n * int64(os.Getpagesize())
}

// freeMemory returns how much memory the process can have: its resident set, and nine tenths of what is free on the
// machine, in its control group and in those above; 0 if it is unknown.
func freeMemory() int64 {
	rss, _, ok := resident()
	most, free := machineMemory()
	if most == 0 || !ok || free == math.MaxInt64 {
		return most
	}
	return min(most, rss+free-free/10)
}

// MachineMemory returns the greatest memory that the process can ever have: the machine's, or what its control group
// or ulimit -v allows; 0 if it is unknown.
func MachineMemory() int64 {
	most, _ := machineMemory()
	return most
}

// machineMemory returns MachineMemory, and what is free on the machine and in the control groups, [math.MaxInt64] if
// it is unknown. Each check asks once, so each file is read once.
func machineMemory() (most, free int64) {
	most, free = math.MaxInt64, math.MaxInt64
	if total, available, _ := meminfo(); total > 0 {
		most, free = total, cmp.Or(available, free)
	}
	groups(func(limit, used int64) { most, free = min(most, limit), min(free, max(0, limit-used)) })
	if as := addressSpace(); as < math.MaxInt64 {
		if size, rss, _, ok := statm(); ok {
			most = min(most, max(as-size+rss, 64<<20))
		}
	}
	if most == math.MaxInt64 {
		most = 0
	}
	return most, free
}

// exhausted reports whether the process has all the memory that it can have, or the machine has none left and the
// process has a large part.
func exhausted(held, machine int64) bool {
	if held > machine {
		return true
	}
	if as := addressSpace(); as < math.MaxInt64 { // the runtime takes it in steps of 64 MiB
		if size, _, _, ok := statm(); ok && size > as-min(192<<20, as/8) {
			return true
		}
	}
	if held < machine/4 {
		return false
	}
	total, available, swap := meminfo()
	return total > 0 && available+swap < total/50
}

func addressSpace() int64 {
	var r unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &r) != nil || r.Cur > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(r.Cur)
}

// meminfo returns the machine's memory, what of it is available, and the free swap, in bytes, or 0 if the system does
// not say.
func meminfo() (total, available, swap int64) {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0, 0
	}
	fields := map[string]*int64{"MemTotal:": &total, "MemAvailable:": &available, "SwapFree:": &swap}
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 || fields[f[0]] == nil {
			continue
		}
		if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
			*fields[f[0]] = n << 10
		}
	}
	return total, available, swap
}

// groups calls f with the memory limit and the memory used, for the process's control group and those above it that
// have a limit, of both versions.
func groups(f func(limit, used int64)) {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return
	}
	number := func(text string) int64 {
		n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		return n
	}
	take := func(dir string, files groupFiles) {
		b, _ := os.ReadFile(path.Join(dir, files.limit))
		limit := number(string(b))
		if limit <= 0 {
			return
		}
		b, _ = os.ReadFile(path.Join(dir, files.used))
		used := number(string(b))
		b, _ = os.ReadFile(path.Join(dir, "memory.stat"))
		for line := range strings.Lines(string(b)) {
			if name, n, _ := strings.Cut(line, " "); name == files.cache {
				used -= number(n)
			}
		}
		f(limit, used)
	}
	for line := range strings.Lines(string(b)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) < 3 {
			continue
		}
		base, files := "", groupFiles{}
		switch {
		case parts[1] == "":
			base, files = "/sys/fs/cgroup", groupFiles{"memory.max", "memory.current", "inactive_file"}
		case parts[1] == "memory":
			base = "/sys/fs/cgroup/memory"
			files = groupFiles{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
		default:
			continue
		}
		for dir := parts[2]; ; dir = path.Dir(dir) {
			take(path.Join(base, dir), files)
			if dir == "/" || dir == "." {
				break
			}
		}
	}
}

// groupFiles are the names of a control group's files: the limit, the memory used, and the field of memory.stat for
// caches.
type groupFiles struct{ limit, used, cache string }
