package collect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"isovet/collect/driver"
)

// schemaCounts counts a run's changes of the schema.
type schemaCounts struct{ made, refused atomic.Int64 }

// schemaChanger is the session that changes the schema.
type schemaChanger struct {
	r    *run
	node int
	sess driver.Session // nil: none is open
	all  []driver.SchemaChange
}

// changeSchema makes a change in every period, and reverts it in the middle of the period, until pause reports the end
// of the run. It uses the first node that accepts writes.
func (r *run) changeSchema(ctx context.Context, rng *rand.Rand, pause func(time.Duration) bool) error {
	c := schemaChanger{r: r, all: driver.SchemaChanges(r.info.Dialect, r.data())}
	for r.info.Nodes[c.node].ReadOnly && c.node < len(r.info.Nodes)-1 {
		c.node++
	}
	ctx = context.WithoutCancel(ctx) // a change is reverted even after the end of the run
	defer c.drop()
	for pause(r.cfg.Fault.Every / 2) {
		i := rng.IntN(len(c.all))
		x := c.all[i]
		class, err := c.say(ctx, x.Do)
		switch {
		case err == nil:
			r.changes.made.Add(1)
		case class == driver.Fatal: // the database does not support the change
			r.changes.refused.Add(1)
			if c.all = append(c.all[:i:i], c.all[i+1:]...); len(c.all) == 0 {
				return fmt.Errorf("%s: %w", x.Do, err)
			}
			continue
		default:
			r.changes.refused.Add(1)
		}
		pause(r.cfg.Fault.Every / 2)
		if x.Undo != "" {
			if err := c.undo(ctx, x.Undo, err != nil); err != nil {
				return fmt.Errorf("%s: %w", x.Undo, err)
			}
		}
	}
	return nil
}

// undoTries bounds how often reverting a change may fail before the run ends.
const undoTries = 30

// undo reverts a change. doubtful says that the change may not have been made.
func (c *schemaChanger) undo(ctx context.Context, statement string, doubtful bool) error {
	for try := 1; ; try++ {
		class, err := c.say(ctx, statement)
		if err == nil || class == driver.Fatal && (doubtful || try > 1) { // not made, or reverted already
			return nil
		}
		if class == driver.Fatal || try == undoTries {
			return err
		}
		time.Sleep(time.Duration(try) * 5 * time.Millisecond)
	}
}

// say sends a statement and returns the class of its error.
func (c *schemaChanger) say(ctx context.Context, statement string) (driver.Class, error) {
	db := c.r.target.DB
	if c.sess == nil {
		s, err := db.Connect(ctx, c.node)
		if err != nil {
			return driver.Lost, err
		}
		c.sess = s
		if q := driver.SchemaPatience(c.r.info.Dialect); q != "" {
			if _, err := c.sess.(driver.Speaker).Say(q); err != nil && db.Classify(err) == driver.Lost {
				c.drop()
				return driver.Lost, err
			}
		}
	}
	_, err := c.sess.(driver.Speaker).Say(statement)
	if err == nil {
		return 0, nil
	}
	class := db.Classify(err)
	if class == driver.Lost {
		c.drop()
	}
	return class, err
}

func (c *schemaChanger) drop() {
	if c.sess != nil {
		c.sess.Close()
		c.sess = nil
	}
}
