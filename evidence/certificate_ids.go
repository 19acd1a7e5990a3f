package evidence

import (
	"bytes"
	"encoding/json"

	"isovet/history"
)

// ids finds transactions by id.
type ids struct {
	h     *history.History
	other map[int64]uint32 // made when the ids turn out not to be dense
}

func (x *ids) find(id int64) (uint32, bool) {
	all := x.h.Txns.ID
	if len(all) == 0 {
		return 0, false
	}
	if i := uint64(id) - uint64(all[0]); i < uint64(len(all)) && all[i] == id {
		return uint32(i), true
	}
	if x.other == nil {
		x.other = make(map[int64]uint32, len(all))
		for t, id := range all {
			x.other[id] = uint32(t)
		}
	}
	t, ok := x.other[id]
	return t, ok
}

// findVersions looks up the keys and versions that edges name, in one pass over each of the history's.
func (c *certificateReader) findVersions(as []certificateAnomaly) {
	c.key, c.ver = make(map[string]uint32), make(map[uint32]map[string]uint32)
	var edges []*certificateEdge
	for i := range as {
		if as[i].Key = canonical(as[i].Key); as[i].Key != nil {
			c.key[string(as[i].Key)] = history.None
		}
		for _, cycle := range append([][]certificateEdge{as[i].Cycle}, as[i].Cycles...) {
			for j := range cycle {
				edges = append(edges, &cycle[j])
			}
		}
	}
	for _, e := range edges {
		if e.Key = canonical(e.Key); e.Key != nil {
			c.key[string(e.Key)] = history.None
		}
		e.Value = canonical(e.Value)
	}
	if len(c.key) == 0 {
		return
	}
	var buf []byte
	for k, v := range c.h.Keys {
		buf = c.h.Texts.AppendValue(buf[:0], v)
		if _, ok := c.key[string(buf)]; ok {
			c.key[string(buf)] = uint32(k)
		}
	}
	wanted := make([]bool, c.h.NumKeys())
	for _, e := range edges {
		k, ok := c.key[string(e.Key)]
		if !ok || k == history.None || e.Value == nil {
			continue
		}
		if c.ver[k] == nil {
			c.ver[k] = make(map[string]uint32)
		}
		c.ver[k][string(e.Value)] = history.None
		wanted[k] = true
	}
	for v, k := range c.h.VerKey {
		if !wanted[k] {
			continue
		}
		buf = c.h.Texts.AppendValue(buf[:0], c.h.VerValue(uint32(v)))
		if _, ok := c.ver[k][string(buf)]; ok {
			c.ver[k][string(buf)] = uint32(v)
		}
	}
}

// canonical returns a JSON value as the history's texts write theirs, whichever program wrote the certificate.
func canonical(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if raw[0] == '"' && bytes.IndexByte(raw, '\\') >= 0 {
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return history.AppendJSONString(nil, s)
		}
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
