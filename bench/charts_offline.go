//go:build offline

package bench

import (
	"errors"
	"io"
)

// Offline says that the program has neither charts nor Parquet: it was built with -tags offline.
const Offline = true

var errOffline = errors.New("this program was built with -tags offline, without charts and Parquet")

// WriteTidyParquet returns an error.
func WriteTidyParquet(io.Writer, []Observation) error { return errOffline }

// chart returns an error.
func (r *Report) chart(Metric) ([]byte, error) { return nil, errOffline }
