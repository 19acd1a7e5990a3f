package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
)

// kept is a kept process's side: see keeper. Its methods do nothing on nil, in a process that nobody keeps.
type kept struct {
	first tally
	held  int64     // bytes that the keeper holds, which count as ours
	began time.Time // when the process was started for the first history

	mu    sync.Mutex
	tell  *os.File
	stage string
	may   chan struct{}
}

// newKept makes the process a kept one, if it was started as such. interrupted is called when the keeper was.
func newKept(interrupted func()) *kept {
	s, ok := os.LookupEnv(keptVar)
	if !ok {
		return nil
	}
	os.Unsetenv(keptVar)
	k := &kept{may: make(chan struct{}, 1)}
	var tell, hear, crash uintptr
	var began int64
	at := 0 // where the tally begins
	for range 5 {
		next := strings.IndexByte(s[at:], ' ')
		if next < 0 {
			return nil
		}
		at += next + 1
	}
	if n, err := fmt.Sscanf(s[:at], "%d %d %d %d %d", &tell, &hear, &crash, &k.held, &began); err != nil || n != 5 {
		return nil
	}
	if err := json.Unmarshal([]byte(s[at:]), &k.first); err != nil {
		return nil
	}
	k.began = time.Unix(0, began)
	heldElsewhere = k.held
	k.tell = os.NewFile(tell, "tell")
	said := os.NewFile(hear, "hear")
	for _, fd := range []uintptr{tell, hear, crash} {
		closeOnExec(fd)
	}
	if f := os.NewFile(crash, "crash"); f != nil {
		_ = debug.SetCrashOutput(f, debug.CrashOptions{})
		f.Close()
	}
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP) // the keeper's
	go func() {
		var b [1]byte
		for {
			if n, err := said.Read(b[:]); err != nil || n == 0 { // it is gone, and whoever waited for the answer
				os.Exit(statusFault)
			}
			switch b[0] {
			case mayAnswer:
				k.may <- struct{}{}
			case interrupt:
				interrupted()
			}
		}
	}()
	return k
}

func (k *kept) say(letter byte, text string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	_, _ = fmt.Fprintf(k.tell, "%c %s\n", letter, text)
}

func (k *kept) sayJSON(letter byte, v any) {
	if k == nil {
		return
	}
	if b, err := json.Marshal(v); err == nil {
		k.say(letter, string(b))
	}
}

// begins says at which history it is.
func (k *kept) begins(i int) {
	if k != nil {
		k.mu.Lock()
		k.stage = ""
		k.mu.Unlock()
	}
	k.say(saysBegin, fmt.Sprint(i))
}

// does says what is being done.
func (k *kept) does(stage string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	same := k.stage == stage
	k.stage = stage
	k.mu.Unlock()
	if !same {
		k.say(saysStage, stage)
	}
}

// answers waits until the answer may be printed. If the keeper has decided to give it, that is never.
func (k *kept) answers() {
	if k == nil {
		return
	}
	k.say(saysAnswer, "")
	<-k.may
}

// started is how much of the time for history i went by before it was begun: the start of the process.
func (k *kept) started(i int) time.Duration {
	if k == nil || i != k.first.Next {
		return 0
	}
	return max(time.Since(k.began), 0)
}

// leaves has the keeper answer in the place of work that did not stop in time, and does not return then.
func (k *kept) leaves(stopped *stoppedError) {
	if k == nil || !leftBehind.Load() {
		return
	}
	k.say(saysLeft, stopped.cause.Error())
	select {}
}

// done says what the histories have come to.
func (k *kept) done(t tally) { k.sayJSON(saysDone, t) }
