// Package safego runs goroutines whose panics reach the goroutine that waits for them. An unrecovered panic ends a Go
// program with status 2, which in isovet means "unknown"; it must instead be reported as a fault of isovet
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

// Panic is the value with which Wait panics: the first panic of the group, with the stack where it happened.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("%v\n%s", p.Value, p.Stack) }

// Go runs f in a new goroutine.
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

// Wait waits for all goroutines of the group. If one panicked, it panics with a *Panic.
func (g *Group) Wait() {
	g.wg.Wait()
	if g.first != nil {
		panic(g.first)
	}
}
