package format

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"isovet/history"
	"isovet/history/format/awdit"
	"isovet/history/format/cobralog"
	"isovet/history/format/dbcop"
	"isovet/history/format/fressian"
	"isovet/history/format/integers"
	"isovet/history/format/jepsen"
	"isovet/history/format/otlp"
	"isovet/history/format/plume"
	"isovet/history/format/porcupine"
	"isovet/history/format/timekiller"
	"isovet/history/format/viper"
	"isovet/internal/plural"
)

// The formats of other tools.
var (
	jepsenEDN = Format{
		Name: "jepsen-edn", About: "Jepsen's and Elle's operations in EDN: transactions, lists, registers, mutexes, " +
			"sets",
		Tool: "Jepsen, Elle, elle-cli, Knossos", Holds: Times | Timestamps | Aborted | Unknown | Lists,
		Ext:    []string{".edn"},
		Detect: detect(func(head []byte) bool { return jepsen.Is(head, false) && !porcupine.IsKV(head) }),
		Read:   jepsenRead(jepsen.Read, false), Events: true, tellsNil: true,
		Write: func(w io.Writer, h *history.History, lossy bool) error {
			if err := jepsen.Check(h, lossy); err != nil {
				return fmt.Errorf("format jepsen-edn: %w", err)
			}
			return jepsen.Write(w, h)
		},
	}
	jepsenJSON = Format{
		Name: "jepsen-json", About: "Jepsen's operations in JSON: an array of objects, or one object on each line",
		Tool: "elle-cli", Holds: Times | Timestamps | Aborted | Unknown | Lists,
		Detect: detect(func(head []byte) bool { return jepsen.Is(head, true) }),
		Read:   jepsenRead(jepsen.Read, true), Events: true, tellsNil: true,
	}
	jepsenLog = Format{
		Name: "jepsen-log", About: "Jepsen's operations as lines of a log: history.txt, jepsen.log",
		Tool: "Jepsen, Maelstrom", Holds: Times | Aborted | Unknown | Lists,
		Detect: detect(jepsen.IsLog),
		Read:   jepsenRead(jepsen.ReadLog, false), Events: true, tellsNil: true,
	}
	jepsenTest = Format{
		Name: "jepsen-test", About: "Jepsen's operations in a store's binary files: test.jepsen, test.fressian",
		Tool: "Jepsen, Maelstrom", Holds: Times | Aborted | Unknown | Lists, Ext: []string{".jepsen", ".fressian"},
		Detect: func(head []byte, _ string) Confidence {
			switch {
			case fressian.Is(head):
				return Certain
			case fressian.IsValue(head):
				return Likely
			}
			return No
		},
		Read: jepsenRead(func(data []byte, file string, o jepsen.Options) (*history.History, error) {
			edn, err := fressian.EDN(data, file)
			if err != nil {
				return nil, err
			}
			return jepsen.Read(edn, file, o)
		}, false), Events: true, tellsNil: true,
	}
	cobraLog = Format{
		Name: "cobra", About: "a folder of binary logs, T<n>.log, one for each client",
		Tool: "Cobra, CobraBench, PolySI, VeriStrong", Holds: Times | Aborted | Unknown | Initial, Dir: true,
		Detect: folder(cobralog.Is),
		Read:   inFolder(cobralog.Read),
	}
	dbcopBincode = Format{
		Name: "dbcop", About: "binary: sessions, transactions, events",
		Tool: "dbcop, PolySI, AWDIT, VeriStrong", Holds: Aborted | Initial, Ext: []string{".bincode"},
		Detect: detect(dbcop.Is),
		Read:   whole(dbcop.Read),
		Write: numbered("dbcop", integers.AllKeys, func(w io.Writer, h *history.History, n *integers.Numbers) error {
			return dbcop.Write(w, h, n)
		}),
	}
	plumeText = Format{
		Name: "plume", About: "text, r(key,value,session,txn) on each line; aborted transactions have the id -1",
		Tool: "Plume, C4, IsoVista, MTC", Holds: Aborted | Initial, Ext: []string{".txt"},
		Detect: detect(plume.Is),
		Read:   some(plume.Read),
		Write: numbered("plume", integers.AnyKeys, func(w io.Writer, h *history.History, n *integers.Numbers) error {
			return plume.Write(w, h, n, true)
		}),
	}
	// It is read as Plume's format, which includes it. It is a separate format only to write files for PolySI.
	polysiText = Format{
		Name: "polysi", About: "the text of plume without aborted transactions and without an initial transaction",
		Tool: "PolySI", Holds: 0,
		Detect: func([]byte, string) Confidence { return No },
		Read:   some(plume.Read),
		Write: numbered("polysi", integers.NoKeys, func(w io.Writer, h *history.History, n *integers.Numbers) error {
			return plume.Write(w, h, n, false)
		}),
	}
	awditText = Format{
		Name: "awdit", About: "text, r key value on each line; lines of - and = separate transactions and sessions",
		Tool: "AWDIT", Holds: 0,
		Detect: detect(awdit.Is),
		Read:   some(awdit.Read),
	}
	viperJSON = Format{
		Name: "viper", About: "a folder of logs, J<n>.log, one for each client, with JSON objects for transactions",
		Tool: "Viper", Holds: Times | Predicates | Initial, Dir: true,
		Detect: folder(viper.Is),
		Read:   inFolder(viper.Read),
	}
	timekillerJSON = Format{
		Name: "timekiller", About: "JSON with the database's start and commit timestamps; registers or lists",
		Tool: "TimeKiller (CHRONOS, AION)", Holds: Timestamps | Lists,
		Detect: detect(timekiller.Is),
		Read:   some(timekiller.Read),
	}
	dbcopJSON = Format{
		Name: "dbcop-json", About: "JSON: sessions, transactions, events",
		Tool: "dbcop since 2026", Holds: Aborted,
		Detect: detect(dbcop.IsJSON),
		Read:   some(dbcop.ReadJSON),
	}
	dbcopHist = Format{
		Name: "dbcop-hist", About: "text, [x:=1 y==2] for each transaction; lines of - separate sessions",
		Tool: "dbcop since 2026", Holds: Aborted, Ext: []string{".hist"},
		Detect: detect(dbcop.IsText),
		Read:   whole(dbcop.ReadText),
	}
	porcupineLog = Format{
		Name: "porcupine", About: "console log of Jepsen's etcd register test",
		Tool: "Porcupine", Holds: Times | Aborted | Unknown | Predicates, Events: true, tellsNil: true,
		Detect: func(head []byte, _ string) Confidence {
			switch is, sure := porcupine.Is(head); {
			case jepsen.IsLog(head):
			case sure:
				return Certain
			case is:
				return Likely
			}
			return No
		},
		Read: func(ctx context.Context, in *Input, o Options) (*history.History, error) {
			return positions(func(data []byte, file string) (*history.History, error) {
				h, passed, err := porcupine.Read(data, file, o.Nil == NilUnknown)
				if err == nil && passed > 0 {
					h.AddNote(history.NoteSkipped, passed, "%s",
						plural.Phrase(passed, "line is not an event and was ignored",
							"lines are not events and were ignored"))
				}
				return h, err
			})(ctx, in, o)
		},
	}
	otlpJSON = Format{
		Name: "otlp-json", About: "OpenTelemetry's traces; spans with the attribute isovet.session are transactions",
		Tool: "OpenTelemetry", Holds: Times | Timestamps | Aborted | Unknown | Lists | Predicates | Rows | Initial |
			OpTimes,
		Detect: detect(otlp.Is),
		Read: func(_ context.Context, in *Input, _ Options) (*history.History, error) {
			data, err := in.Bytes()
			if err != nil {
				return nil, err
			}
			h, passed, err := otlp.Read(data, in.Name)
			if err == nil && passed > 0 {
				h.AddNote(history.NoteSkipped, passed, "%s",
					plural.Phrase(passed, "span without the attribute isovet.session was ignored",
						"spans without the attribute isovet.session were ignored"))
			}
			return h, err
		},
	}
	parquetTable = Format{
		Name: "parquet", About: "a table with a row for each operation, for DuckDB, pandas, polars, Spark",
		Tool: "Apache Parquet", Holds: Everything &^ Levels, Ext: []string{".parquet"},
		Detect: detect(func(head []byte) bool {
			return bytes.HasPrefix(head, []byte("PAR1")) || bytes.HasPrefix(head, []byte("PARE"))
		}),
		Read: readParquet, // the writer is registered
	}
	porcupineKV = Format{
		Name: "porcupine-kv", About: "log of a key-value store: get, put and append of strings, one event on each line",
		Tool: "Porcupine", Holds: Times | Aborted | Unknown | Initial, Events: true,
		Detect: detect(porcupine.IsKV),
		Read: positions(func(data []byte, file string) (*history.History, error) {
			h, repeated, err := porcupine.ReadKV(data, file)
			if err == nil && repeated > 0 {
				h.AddNote(history.NoteTimes, repeated, "%s to a key more than once; isovet takes the order of "+
					"events to find the operation that a state came from, as in a linearizable store",
					plural.Phrase(repeated, "token was put or appended", "tokens were put or appended"))
			}
			return h, err
		}),
	}
)

// detect makes a Format.Detect from a test that only beginnings of this format pass.
func detect(is func(head []byte) bool) func([]byte, string) Confidence {
	return func(head []byte, _ string) Confidence {
		if head != nil && is(head) {
			return Certain
		}
		return No
	}
}

// folder makes a Format.Detect from a test of a folder.
func folder(is func(dir string) bool) func([]byte, string) Confidence {
	return func(head []byte, path string) Confidence {
		if head == nil && path != "" && is(path) {
			return Certain
		}
		return No
	}
}

func whole(read func(data []byte, file string) (*history.History, error)) func(context.Context, *Input,
	Options) (*history.History, error) {
	return func(ctx context.Context, in *Input, _ Options) (*history.History, error) {
		data, err := in.Bytes()
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return read(data, in.Name)
	}
}

// some is whole for formats whose files have at least one transaction. If a file has none, the reader understood
// nothing.
func some(read func(data []byte, file string) (*history.History, error)) func(context.Context, *Input,
	Options) (*history.History, error) {
	return whole(func(data []byte, file string) (*history.History, error) {
		if h, err := read(data, file); err != nil || h.NumTxns() > 0 {
			return h, err
		}
		n := 0
		for line := range bytes.Lines(data) {
			n++
			if line = bytes.TrimSpace(line); len(line) > 0 {
				return nil, &history.InputError{File: file, Line: n, Off: -1, Msg: fmt.Sprintf("found %.60q, and no "+
					"transaction in the file; expected some", line)}
			}
		}
		return nil, &history.InputError{File: file, Line: 1, Off: -1, Msg: "the file is empty; expected transactions"}
	})
}

// positions makes a Format.Read from a function whose times are positions in the file.
func positions(read func(data []byte, file string) (*history.History, error)) func(context.Context, *Input,
	Options) (*history.History, error) {
	return func(ctx context.Context, in *Input, o Options) (*history.History, error) {
		if o.RealTime == ByTime {
			return nil, &history.InputError{File: in.Name, Off: -1,
				Msg: "--real-time time: the format has no times; expected index or none"}
		}
		h, err := whole(read)(ctx, in, o)
		switch {
		case err != nil:
		case o.RealTime == Untimed:
			h.Txns.Start, h.Txns.End = nil, nil
		default:
			h.Positions = true
			h.AddNote(history.NoteTimes, 0, "the format has no times; isovet shows the places of events in the file")
		}
		return h, err
	}
}

// jepsenRead makes a Format.Read from a function of package jepsen.
func jepsenRead(read func([]byte, string, jepsen.Options) (*history.History, error), json bool) func(context.Context,
	*Input, Options) (*history.History, error) {
	return func(ctx context.Context, in *Input, o Options) (*history.History, error) {
		return whole(func(data []byte, file string) (*history.History, error) {
			return read(data, file, jepsen.Options{JSON: json, RealTime: string(o.RealTime), Nil: string(o.Nil),
				TextNumbers: o.TextNumbers})
		})(ctx, in, o)
	}
}

func inFolder(read func(ctx context.Context, dir string) (*history.History, error)) func(context.Context, *Input,
	Options) (*history.History, error) {
	return func(ctx context.Context, in *Input, _ Options) (*history.History, error) {
		if !in.Dir {
			return nil, &history.InputError{File: in.Name, Off: -1, Msg: "is a file; expected the folder with the " +
				"logs of all clients"}
		}
		return read(ctx, in.Path)
	}
}

// numbered makes a Format.Write from a function that needs integers as keys and values.
func numbered(name string, init integers.Explicit, write func(io.Writer, *history.History,
	*integers.Numbers) error) func(io.Writer, *history.History, bool) error {
	return func(w io.Writer, h *history.History, lossy bool) error {
		n, err := integers.Of(h, lossy, init)
		if err != nil {
			return fmt.Errorf("format %s: %w", name, err)
		}
		return write(w, h, n)
	}
}
