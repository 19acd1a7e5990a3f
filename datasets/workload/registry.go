package workload

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"isovet/internal/slice"
)

// Params are the size of a workload. A zero field means the workload's own default (Info.Keys, Info.Ops).
type Params struct {
	Variant  string
	Keys     int     // rows, customers, …: what the workload scales by
	Ops      int     // operations a transaction
	Zipf     float64 // exponent of the distribution of the keys, where the workload has one
	Sessions int     // clients that will run it; some workloads split work by session
	// Database says that an SQL database will run it. Without a Variant, the default is then the variant for
	// databases, if there is one.
	Database bool
	// Values is the number of different values for the writes of a key (FewValue); 0 means that each write has a
	// unique value.
	Values int
	// Shape lists the transactions of workload mini, such as rxwx,rxrywx; "all" means every mini-transaction.
	Shape string
}

// Variant is a named setting of a workload.
type Variant struct {
	Name, About string
	Keys        int     // default Params.Keys where it differs from the workload's
	Ops         int     // default Params.Ops where it differs from the workload's
	Zipf        float64 // default Params.Zipf where it differs from the workload's
	Values      int     // default Params.Values
	Database    bool    // the default of Params.Database
	SQL         bool    // for SQL databases alone
}

// Info describes a workload.
type Info struct {
	Name     string
	About    string
	Paper    string    // where it comes from
	Variants []Variant // the first is the default
	Keys     int       // default Params.Keys
	Scales   string    // what Keys counts; "": keys
	Ops      int       // default Params.Ops; 0: the templates fix it
	Zipf     float64   // default Params.Zipf; 0: the workload has no such parameter
	new      func(p Params) (Workload, error)
}

// workloadsTSV has a row for each workload, without a variant, followed by a row for each of its variants, the default
// first. The column "for" has "databases" if the variant is the default for databases, or "SQL" if only SQL databases
// can run it.
//
//go:embed workloads.tsv
var workloadsTSV string

var makers = map[string]func(p Params) (Workload, error){
	"blindw":      newBlindW,
	"blindw-pred": newBlindWPred,
	"booking":     newBooking,
	"claim":       newClaim,
	"contended":   newContended,
	"counters":    newCounters,
	"ctwitter":    newCTwitter,
	"gt":          newMix,
	"list-append": newListAppend,
	"longfork":    newLongFork,
	"lwt":         newLwt,
	"mini":        newMini,
	"mix":         newMix,
	"references":  newReferences,
	"rmw":         newRmw,
	"rows":        newRows,
	"rubis":       newRubis,
	"smallbank":   newSmallBank,
	"tpcc":        newTpcc,
	"ycsb":        newYcsb,
}

// All returns every workload in the order of the table, in which they are shown.
func All() []Info { return slices.Clone(registered()) }

// registered returns the rows of the table, which is read once.
var registered = sync.OnceValue(func() []Info {
	var all []Info
	_, rows, _ := strings.Cut(workloadsTSV, "\n") // the columns' names
	for row := range strings.Lines(rows) {
		c := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
		number := func(column int) (n float64) {
			if c[column] != "" {
				var err error
				if n, err = strconv.ParseFloat(c[column], 64); err != nil {
					panic(fmt.Sprintf("workloads.tsv: %s %s: %v", c[0], c[1], err))
				}
			}
			return n
		}
		keys, ops, zipf := int(number(2)), int(number(3)), number(4)
		if c[1] == "" {
			all = append(all, Info{Name: c[0], About: c[7], Scales: c[8], Paper: c[9], Keys: keys, Ops: ops, Zipf: zipf,
				new: makers[c[0]]})
			continue
		}
		in := &all[len(all)-1]
		in.Variants = append(in.Variants, Variant{Name: c[1], About: c[7], Keys: keys, Ops: ops, Zipf: zipf,
			Values: int(number(5)), Database: c[6] == "databases", SQL: c[6] == "SQL"})
	}
	return all
})

// ForSQL reports whether only SQL databases can run a variant. "" means the default variant.
func (in Info) ForSQL(variant string) bool {
	return slices.ContainsFunc(in.Variants, func(v Variant) bool { return strings.EqualFold(v.Name, variant) && v.SQL })
}

// Names returns the names of all workloads.
func Names() []string {
	return slice.Map(All(), func(in Info) string { return in.Name })
}

// Lookup finds a workload by name, in upper or lower case.
func Lookup(name string) (Info, error) {
	for _, in := range All() {
		if strings.EqualFold(in.Name, name) {
			return in, nil
		}
	}
	return Info{}, fmt.Errorf("unknown workload %q; expected one of %s", name, strings.Join(Names(), ", "))
}

// New makes the workload after replacing p's zero fields by defaults. It returns the parameters used. Errors: an
// unknown variant, an impossible size.
func (in Info) New(p Params) (Workload, Params, error) {
	i := max(0, slices.IndexFunc(in.Variants, func(v Variant) bool { return p.Database && v.Database }))
	if p.Variant != "" {
		i = slices.IndexFunc(in.Variants, func(v Variant) bool { return strings.EqualFold(v.Name, p.Variant) })
	}
	if i < 0 {
		names := slice.Map(in.Variants, func(v Variant) string { return v.Name })
		return nil, p, fmt.Errorf("workload %s has no variant %q; expected one of %s", in.Name, p.Variant,
			strings.Join(names, ", "))
	}
	p.Variant = in.Variants[i].Name
	if p.Keys < 0 || p.Ops < 0 || p.Sessions < 0 || p.Values < 0 {
		return nil, p, fmt.Errorf("workload %s: keys %d, operations %d, sessions %d, values %d; none may be negative",
			in.Name, p.Keys, p.Ops, p.Sessions, p.Values)
	}
	if p.Ops != 0 && in.Ops == 0 {
		return nil, p, fmt.Errorf("workload %s: operations a transaction are fixed by its templates; expected none "+
			"given", in.Name)
	}
	if p.Zipf != 0 && in.Zipf == 0 {
		return nil, p, fmt.Errorf("workload %s: it draws no keys from a Zipf distribution; expected no exponent",
			in.Name)
	}
	if p.Shape != "" && in.Name != "mini" {
		return nil, p, fmt.Errorf("workload %s: its transactions have no choice of shape; expected workload mini",
			in.Name)
	}
	if !(p.Zipf >= 0 && p.Zipf <= 8) {
		return nil, p, fmt.Errorf("workload %s: Zipf exponent %v; expected one from 0 to 8", in.Name, p.Zipf)
	}
	p.Zipf = cmp.Or(p.Zipf, in.Variants[i].Zipf, in.Zipf)
	p.Values = cmp.Or(p.Values, in.Variants[i].Values)
	p.Keys = cmp.Or(p.Keys, in.Variants[i].Keys, in.Keys)
	p.Ops = cmp.Or(p.Ops, in.Variants[i].Ops, in.Ops)
	p.Sessions = cmp.Or(p.Sessions, 1)
	w, err := in.new(p)
	if err != nil {
		return nil, p, fmt.Errorf("workload %s: %w", in.Name, err)
	}
	if p.Values > 0 && !slices.ContainsFunc(w.Tables(), Table.plain) {
		return nil, p, fmt.Errorf("workload %s: its rows have columns, are lists or count; expected no number of "+
			"values", in.Name)
	}
	return w, p, nil
}

// plain reports whether the history shows a row as a single number.
func (t Table) plain() bool { return t.Columns == nil && !t.List && !t.Counter }

// FewValue returns one of so many values for the write with a unique id. The history has it in place of the id, as if
// the clients had written this value, so that a value may be written to its key several times. Values begin with 1, so
// that none equals that of a loaded row.
func FewValue(id int64, values int) int64 {
	x := uint64(id) * 0x9e3779b97f4a7c15 // spread as SplitMix64 does
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return 1 + int64(x%uint64(values))
}

func needKeys(p Params, least int) error {
	if p.Keys < least && p.Ops == 0 {
		return fmt.Errorf("too few keys: %d; expected at least %d", p.Keys, least)
	}
	if p.Keys < least {
		return fmt.Errorf("too few keys for transactions of %d operations: %d; expected at least %d", p.Ops, p.Keys,
			least)
	}
	return nil
}
