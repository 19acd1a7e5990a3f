package closure

import "fmt"

// none ends a linked list.
const none = -1

// edgeList holds the added edges, oldest first, each also in a list of its source's and one of its target's edges.
type edgeList struct {
	edges   []addedEdge
	outHead []int32 // last added edge leaving the node, or none; nil until the first edge
	inHead  []int32
	floor   int // edges below are settled
}

type addedEdge struct {
	from, to        int32
	nextOut, nextIn int32
	tag             int32
	trail           int // length of the trail before the edge
}

func (l *edgeList) push(n int, u, v, tag int32, trail int) {
	if l.outHead == nil {
		l.outHead, l.inHead = make([]int32, n), make([]int32, n)
		for i := range l.outHead {
			l.outHead[i], l.inHead[i] = none, none
		}
	}
	id := int32(len(l.edges))
	l.edges = append(l.edges, addedEdge{u, v, l.outHead[u], l.inHead[v], tag, trail})
	l.outHead[u], l.inHead[v] = id, id
}

// pop removes the edges from mark on, and returns how long the trail was before the first of them, or −1 if there are
// none.
func (l *edgeList) pop(mark int) (trail int) {
	if mark < l.floor || mark > len(l.edges) {
		panic(fmt.Sprintf("closure: undo to mark %d with %d edges, %d of them settled", mark, len(l.edges), l.floor))
	}
	if mark == len(l.edges) {
		return -1
	}
	for i := len(l.edges) - 1; i >= mark; i-- {
		e := &l.edges[i]
		l.outHead[e.from] = e.nextOut
		l.inHead[e.to] = e.nextIn
	}
	trail = l.edges[mark].trail
	l.edges = l.edges[:mark]
	return trail
}

// change is an entry of a trail: the old value of a word that was overwritten.
type change struct {
	at  int
	old uint64
}
