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

// The supervised process writes messages to a pipe, one on each line: a letter, a blank, JSON or text.
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

// It reads single bytes from another pipe. The end of that pipe means that the keeper has ended.
const (
	MayAnswer = 'g'
	Interrupt = 'i'
)

// KeptVar is an environment variable of the supervised process: the file numbers of these pipes, and where to begin,
// "TELL HEAR CRASH HELD BEGAN TALLY", BEGAN in nanoseconds since 1970, TALLY as JSON.
const KeptVar = "ISOVET_KEPT"

// Tally has the totals of many histories.
type Tally struct {
	Next    int  `json:"next"` // the first that is not done
	Worst   int  `json:"worst"`
	Unknown bool `json:"unknown"`
	// Said is the number of findings so far in a document of all histories (--output).
	Said   int           `json:"said,omitempty"`
	Totals report.Totals `json:"totals"`
}

// kept is the supervised process's side (see keeper). Its methods do nothing on nil, in a process without keeper.
type kept struct {
	First Tally
	held  int64     // bytes that the keeper holds, which count as ours
	began time.Time // when the process was started for the first history

	mu    sync.Mutex
	tell  *os.File
	stage string
	may   chan struct{}
}

// newKept returns a kept if this process is supervised, otherwise nil. interrupted is called when the keeper is
// interrupted.
func newKept(interrupted func()) *kept {
	s, ok := os.LookupEnv(KeptVar)
	if !ok {
		return nil
	}
	os.Unsetenv(KeptVar)
	k := &kept{may: make(chan struct{}, 1)}
	var tell, hear, crash uintptr
	var began int64
	words := strings.SplitN(s, " ", 6)
	if _, err := fmt.Sscan(s, &tell, &hear, &crash, &k.held, &began); err != nil || len(words) < 6 ||
		json.Unmarshal([]byte(words[5]), &k.First) != nil {
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

// Begins reports the number of the current history.
func (k *kept) Begins(i int) {
	if k != nil {
		k.mu.Lock()
		k.stage = ""
		k.mu.Unlock()
	}
	k.say(SaysBegin, fmt.Sprint(i))
}

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

// Answers waits for permission to print the answer. If the keeper has decided to answer itself, it waits for ever.
func (k *kept) Answers() {
	if k == nil {
		return
	}
	k.say(SaysAnswer, "")
	<-k.may
}

// Started returns how much of the time for history i was spent before it was begun: the start of the process.
func (k *kept) Started(i int) time.Duration {
	if k == nil || i != k.First.Next {
		return 0
	}
	return max(time.Since(k.began), 0)
}

// Leaves makes the keeper answer, for cause: the work did not stop in time, or the keeper can go on with files on disk.
// It then does not return.
func (k *kept) Leaves(cause error) {
	if k == nil {
		return
	}
	k.say(SaysLeft, cause.Error())
	select {}
}

func (k *kept) Done(t Tally) { k.SayJSON(SaysDone, t) }
