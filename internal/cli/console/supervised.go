package console

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

	"isovet/internal/guard"
	"isovet/report"
)

// The kept process tells on one pipe what it does, a line each: its letter, a blank, JSON or text.
const (
	SaysBegin  = 'h' // it begins history number N
	SaysStage  = 's' // what it does now
	SaysKnown  = 'k' // what is known of the history: a knownSoFar
	SaysAnswer = 'a' // it would print its answer; it waits for mayAnswer
	SaysLeft   = 'l' // its work did not stop in time, and the keeper is to end it and to answer: TIMEOUT, MEMORY, …
	SaysDone   = 'd' // history N is done: the tally so far
	SaysTemp   = 't' // a file that it has begun to write
	SaysWhole  = 'w' // that file is there under its name
)

// On another pipe it gets single bytes. The end of that pipe is the keeper's.
const (
	MayAnswer = 'g'
	Interrupt = 'i'
)

// KeptVar is a variable of its environment: the numbers of these pipes' files, and where to begin, "TELL HEAR CRASH
// HELD BEGAN TALLY", BEGAN in nanoseconds since 1970, TALLY as JSON.
const KeptVar = "ISOVET_KEPT"

// Tally is what many histories come to.
type Tally struct {
	Next    int  `json:"next"` // the first that is not done
	Worst   int  `json:"worst"`
	Unknown bool `json:"unknown"`
	// Said is the number of findings so far in a document of all histories (--output).
	Said   int           `json:"said,omitempty"`
	Totals report.Totals `json:"totals"`
}

// kept is a kept process's side: see keeper. Its methods do nothing on nil, in a process that nobody keeps.
type kept struct {
	First Tally
	held  int64     // bytes that the keeper holds, which count as ours
	began time.Time // when the process was started for the first history

	mu    sync.Mutex
	tell  *os.File
	stage string
	may   chan struct{}
}

// newKept makes the process a kept one, if it was started as such. interrupted is called when the keeper was.
func newKept(interrupted func()) *kept {
	s, ok := os.LookupEnv(KeptVar)
	if !ok {
		return nil
	}
	os.Unsetenv(KeptVar)
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
	if err := json.Unmarshal([]byte(s[at:]), &k.First); err != nil {
		return nil
	}
	k.began = time.Unix(0, began)
	guard.HeldElsewhere = k.held
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
				os.Exit(StatusFault)
			}
			switch b[0] {
			case MayAnswer:
				k.may <- struct{}{}
			case Interrupt:
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

func (k *kept) SayJSON(letter byte, v any) {
	if k == nil {
		return
	}
	if b, err := json.Marshal(v); err == nil {
		k.say(letter, string(b))
	}
}

// Begins says at which history it is.
func (k *kept) Begins(i int) {
	if k != nil {
		k.mu.Lock()
		k.stage = ""
		k.mu.Unlock()
	}
	k.say(SaysBegin, fmt.Sprint(i))
}

// Does says what is being done.
func (k *kept) Does(stage string) {
	if k == nil {
		return
	}
	k.mu.Lock()
	same := k.stage == stage
	k.stage = stage
	k.mu.Unlock()
	if !same {
		k.say(SaysStage, stage)
	}
}

// Answers waits until the answer may be printed. If the keeper has decided to give it, that is never.
func (k *kept) Answers() {
	if k == nil {
		return
	}
	k.say(SaysAnswer, "")
	<-k.may
}

// Started is how much of the time for history i went by before it was begun: the start of the process.
func (k *kept) Started(i int) time.Duration {
	if k == nil || i != k.First.Next {
		return 0
	}
	return max(time.Since(k.began), 0)
}

// Leaves has the keeper answer in the place of work that did not stop in time, and does not return then.
func (k *kept) Leaves(stopped *guard.StoppedError) {
	if k == nil || !guard.LeftBehind.Load() {
		return
	}
	k.say(SaysLeft, stopped.Cause.Error())
	select {}
}

// Done says what the histories have come to.
func (k *kept) Done(t Tally) { k.SayJSON(SaysDone, t) }
