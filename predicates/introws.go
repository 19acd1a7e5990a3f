package predicates

import "isovet/history"

// intRows decodes rows of integers that are stored packed, see history.Texts.IntRow.
type intRows struct {
	cols  [][]int // shape → its members' columns (-1: no condition names the member); nil: not yet known
	cells []int64
}

// read returns the integers of a packed row and the column of each, nil if the row is not packed. column returns the
// number of a column, -1: none.
func (x *intRows) read(t *history.Texts, id uint32, column func(name string) int) (cols []int, cells []int64) {
	shape, cells, ok := t.IntRow(id, x.cells[:0])
	if !ok {
		return nil, nil
	}
	x.cells = cells
	for int(shape) >= len(x.cols) {
		x.cols = append(x.cols, nil)
	}
	if x.cols[shape] == nil {
		for _, name := range t.RowColumns(shape) {
			x.cols[shape] = append(x.cols[shape], column(name))
		}
	}
	return x.cols[shape], cells
}
