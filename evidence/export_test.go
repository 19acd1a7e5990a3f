package evidence

import "isovet/history"

// Because gives the reason of one edge in words: "T2 read x = 5, which T1 wrote".
func Because(e Edge, h *history.History) string {
	d := describer{h: h}
	return d.because(e)
}
