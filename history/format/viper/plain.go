package viper

import "isovet/history"

// plainOps reads operations as long as they are plain (see edn.Plain), and leaves the others, from the first on.
func (r *reader) plainOps() {
	p := r.s.Plain()
	for p.Take('[') {
		name, ok := p.Text()
		if !ok || len(name) != 1 {
			return
		}
		want := 3
		switch name[0] {
		case 'r', 'w':
		case 'i', 'd':
			want = 5
		default:
			return
		}
		var args [5]history.Value
		var flags [5]bool
		for i := range want {
			switch p.Peek() {
			case 't', 'f':
				flags[i], ok = p.Bool()
			case 'n':
				ok = p.Nil()
			case '"':
				var text []byte
				if text, ok = p.Text(); ok && string(text) != "nil" {
					args[i] = r.b.StringValue(text)
				}
			default:
				args[i].Kind = history.Int
				args[i].N, ok = p.Int()
			}
			if !ok {
				return
			}
		}
		if !p.Take(']') || args[0].Kind == history.Null {
			return
		}
		r.s.Went(&p)
		r.point(string(name), args[0], args[1], args[2], flags[want-1])
	}
}
