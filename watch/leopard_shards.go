package watch

// divided reports whether several goroutines know the keys (check/mechanism/parts.go).
func (j *leopard) divided() bool { return j.o.Shards > 1 && j.online != nil }

// state is what a checkpoint has of the judge.
func (j *leopard) state() []any {
	all := []any{j}
	if j.online != nil {
		all = append(all, j.online.Parts()...)
	}
	return all
}

// join waits until what has been said so far is done, and puts what was found where one goroutine alone would have:
// behind what this one found before the cut.
func (j *leopard) join() {
	if !j.divided() {
		return
	}
	own := append([]finding(nil), j.found[j.joined:]...)
	j.found = j.found[:j.joined]
	for _, f := range j.online.Join() {
		for len(own) > 0 && own[0].cut <= f.Cut {
			j.found = append(j.found, own[0])
			own = own[1:]
		}
		j.add(f.Violations, f.Unjudged)
	}
	j.found = append(j.found, own...)
	j.cut, j.joined = 0, len(j.found)
}
