package watch

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"isovet/internal/keyed"
)

// hashing is a judge whose hashes of values depend on a key, which is set before all else. It is nil if it is fixed.
type hashing interface {
	hashes() *keyed.Key
}

func (j *aion) hashes() *keyed.Key        { return j.g.own() }
func (j *leopard) hashes() *keyed.Key     { return j.g.own() }
func (j *replayJudge) hashes() *keyed.Key { return j.g.own() }

func (g *gate) own() *keyed.Key {
	if g.o.Hash != nil {
		return nil
	}
	return g.hash
}

// hashKeyFile has a folder's key, of 128 bits, in hexadecimal. A checkpoint has it, too; from here has it who begins
// again with the log alone, and so comes to the same.
const hashKeyFile = "hash-key"

// keepKey makes a key the folder's, for which it draws one where there is none.
func keepKey(dir string, key *keyed.Key) error {
	if key == nil {
		return nil
	}
	path := filepath.Join(dir, hashKeyFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text = fmt.Appendf(nil, "%x\n", drawn())
		err = writeHashKey(dir, path, text)
	}
	if err != nil {
		return err
	}
	seed, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != keyed.Size {
		return fmt.Errorf("%s: expected %d hexadecimal digits; without the file, watch makes a new "+
			"key", path, 2*keyed.Size)
	}
	*key = *keyed.Of([keyed.Size]byte(seed))
	return nil
}

func drawn() (seed [keyed.Size]byte) {
	rand.Read(seed[:]) // which does not fail
	return seed
}

// writeHashKey writes the file whole or not at all.
func writeHashKey(dir, path string, text []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	return errors.Join(err, syncDir(dir))
}
