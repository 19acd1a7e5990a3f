package history

// SetInitial says of a history whose file does not say it what its registers hold before all transactions. Keys to
// which the initial transaction writes keep what it wrote. It is for readers, before they hand the history out: value
// is of the history's own texts. Cost: linear in the versions and operations.
func (h *History) SetInitial(value Value) {
	h.Initial = value
	var model []uint8
	if h.HasLists() {
		model = make([]uint8, h.NumKeys())
		for op, k := range h.Ops.Kind {
			if k == Append || k == ReadList {
				model[h.OpKey(uint32(op))] |= list
			}
		}
	}
	h.initialVersions(model)
}
