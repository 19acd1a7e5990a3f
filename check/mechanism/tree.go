package mechanism

import "math/bits"

// tree is a loser tree over clients: who has the least time, and the least time of the others. A client's time is that
// of its next trace, or a bound below which it sends none.
//
// Invariant: at[j] is the loser of the match at inner node j; at[0] is the winner of all.
type tree struct {
	key []int64
	at  []int32
}

func newTree(clients int) *tree {
	n := 1 << bits.Len(uint(max(clients, 2)-1))
	t := &tree{key: make([]int64, n), at: make([]int32, n)}
	for i := range t.key {
		t.key[i] = -Forever
		if i >= clients {
			t.key[i] = Forever
		}
	}
	win := make([]int32, 2*n)
	for i := range n {
		win[n+i] = int32(i)
	}
	for j := n - 1; j > 0; j-- {
		a, b := win[2*j], win[2*j+1]
		if t.key[b] < t.key[a] {
			a, b = b, a
		}
		win[j], t.at[j] = a, b
	}
	t.at[0] = win[1]
	return t
}

// winner returns the client with the least time.
func (t *tree) winner() int { return int(t.at[0]) }

// others returns the least time but the winner's.
func (t *tree) others() int64 {
	least := int64(Forever)
	for j := (len(t.key) + int(t.at[0])) / 2; j > 0; j /= 2 {
		least = min(least, t.key[t.at[j]])
	}
	return least
}

// set gives the winner a new time. Cost: log2 of the clients.
func (t *tree) set(key int64) {
	w := t.at[0]
	t.key[w] = key
	for j := (len(t.key) + int(w)) / 2; j > 0; j /= 2 {
		if l := t.at[j]; t.key[l] < key {
			t.at[j] = w
			w, key = l, t.key[l]
		}
	}
	t.at[0] = w
}
