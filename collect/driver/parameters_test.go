package driver

import (
	"slices"
	"testing"
)

func TestLift(t *testing.T) {
	for _, x := range []struct {
		q, numbered, plain string
		numbers            []int64
	}{
		{"select k, u, c_v1 from isovet_t0 where c_v1 >= 10 and c_v1 < 20 order by k",
			"select k, u, c_v1 from isovet_t0 where c_v1 >= $1 and c_v1 < $2 order by k",
			"select k, u, c_v1 from isovet_t0 where c_v1 >= ? and c_v1 < ? order by k", []int64{10, 20}},
		{"update isovet_t1 set u = 7, c_d = (c_d + -3 + 2 * k) % 1000 where k in (1,-2,30)",
			"update isovet_t1 set u = $1, c_d = (c_d + $2 + $3 * k) % $4 where k in ($5,$6,$7)",
			"update isovet_t1 set u = ?, c_d = (c_d + ? + ? * k) % ? where k in (?,?,?)",
			[]int64{7, -3, 2, 1000, 1, -2, 30}},
		{"select concat(a, ',1', 2) from @x1", "select concat(a, ',1', $1) from @x1",
			"select concat(a, ',1', ?) from @x1", []int64{2}},
		{"select a -1, (b)-2", "select a -$1, (b)-$2", "select a -?, (b)-?", []int64{1, 2}},
		{"begin", "begin", "begin", nil},
	} {
		text, numbers := Lift(x.q, true)
		plain, again := Lift(x.q, false)
		if text != x.numbered || plain != x.plain || !slices.Equal(numbers, x.numbers) ||
			!slices.Equal(again, numbers) {
			t.Errorf("%s: %s, %s, %v; expected %s, %s, %v", x.q, text, plain, numbers, x.numbered, x.plain, x.numbers)
		}
	}
}
