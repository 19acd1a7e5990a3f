package sqlstmt

// Diagnosis is what the catalogue says about a table.
type Diagnosis struct {
	Table       string
	Read, Write string // why such statements are not understood; "": they are
}

// Doctor examines all tables of a PostgreSQL database.
func (l *Log) Doctor(ask Ask) ([]Diagnosis, error) {
	c := l.NewClient(ask)
	rows, err := ask(`SELECT n.nspname, c.relname FROM pg_catalog.pg_class c
		JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
		ORDER BY 1, 2`)
	if err != nil {
		return nil, err
	}
	var out []Diagnosis
	for _, row := range rows {
		r, err := c.relation(row[0], row[1])
		if err != nil {
			return nil, err
		}
		if r != nil {
			out = append(out, Diagnosis{Table: r.title(), Read: r.silent(false), Write: r.silent(true)})
		}
	}
	return out, c.Close()
}
