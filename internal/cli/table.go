package cli

import (
	"encoding/json"
	"fmt"
	"io"
)

// jsonLine writes one JSON value and a line's end.
func jsonLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot write the result as JSON: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
