// Package safego runs goroutines whose panics reach the one who waits for them. A panic that nobody recovers ends a Go
// program with status 2, which in this project says "unknown": it must come out as what it is, a fault of ours
// (docs/output.md).
package safego

import (
	"fmt"
	"runtime/debug"
	"sync"
)

// Group is a sync.WaitGroup whose Wait panics if one of its goroutines did. The zero value is ready to use.
type Group struct {
	wg    sync.WaitGroup
	mu    sync.Mutex
	first *Panic
}

// Panic is what Wait panics with: the first panic of the group, with the stack where it happened.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n%s", p.Value, p.Stack) }

// Go runs f on a goroutine of its own.
func (g *Group) Go(f func()) {
	g.wg.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				g.mu.Lock()
				defer g.mu.Unlock()
				if g.first == nil {
					g.first = &Panic{Value: v, Stack: debug.Stack()}
				}
			}
		}()
		f()
	})
}

// Wait waits for all of them, and panics with a *Panic if one did.
func (g *Group) Wait() {
	g.wg.Wait()
	if g.first != nil {
		panic(g.first)
	}
}
