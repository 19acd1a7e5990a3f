package format

import (
	"context"
	"fmt"
	"io"

	"isovet/history"
	"isovet/history/format/awdit"
	"isovet/history/format/cobralog"
	"isovet/history/format/dbcop"
	"isovet/history/format/integers"
	"isovet/history/format/jepsen"
	"isovet/history/format/plume"
	"isovet/history/format/porcupine"
	"isovet/history/format/timekiller"
	"isovet/history/format/viper"
)

// The formats of other tools.
var (
	jepsenEDN = Format{
		Name: "jepsen-edn", About: "Jepsen's and Elle's operations in EDN: transactions, lists, registers, mutexes, sets",
		Tool: "Jepsen, Elle, elle-cli, Knossos", Holds: Times | Timestamps | Aborted | Unknown | Lists, Ext: []string{".edn"},
		Detect: detect(func(head []byte) bool { return jepsen.Is(head, false) }),
		Read:   whole(func(data []byte, file string) (*history.History, error) { return jepsen.Read(data, file, false) }),
		Write: func(w io.Writer, h *history.History, lossy bool) error {
			if err := jepsen.Check(h, lossy); err != nil {
				return fmt.Errorf("format jepsen-edn: %w", err)
			}
			return jepsen.Write(w, h)
		},
	}
	jepsenJSON = Format{
		Name: "jepsen-json", About: "the same operations in JSON: an array of objects, or an object a line",
		Tool: "elle-cli", Holds: Times | Timestamps | Aborted | Unknown | Lists,
		Detect: detect(func(head []byte) bool { return jepsen.Is(head, true) }),
		Read:   whole(func(data []byte, file string) (*history.History, error) { return jepsen.Read(data, file, true) }),
	}
	cobraLog = Format{
		Name: "cobra", About: "a folder of binary logs, T<n>.log, one a client",
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
		Name: "plume", About: "text, r(key,value,session,txn) a line; aborted transactions have the id -1",
		Tool: "Plume, C4, IsoVista, MTC", Holds: Aborted | Initial, Ext: []string{".txt"},
		Detect: detect(plume.Is),
		Read:   whole(plume.Read),
		Write: numbered("plume", integers.AnyKeys, func(w io.Writer, h *history.History, n *integers.Numbers) error {
			return plume.Write(w, h, n, true)
		}),
	}
	// Read as Plume's, which has all that it has; by itself for those who write for PolySI.
	polysiText = Format{
		Name: "polysi", About: "the same text without aborted transactions and without an initial one",
		Tool: "PolySI", Holds: 0,
		Detect: func([]byte, string) Confidence { return No },
		Read:   whole(plume.Read),
		Write: numbered("polysi", integers.NoKeys, func(w io.Writer, h *history.History, n *integers.Numbers) error {
			return plume.Write(w, h, n, false)
		}),
	}
	awditText = Format{
		Name: "awdit", About: "text, r key value a line, transactions and sessions apart by lines of - and =",
		Tool: "AWDIT", Holds: 0,
		Detect: detect(awdit.Is),
		Read:   whole(awdit.Read),
	}
	viperJSON = Format{
		Name: "viper", About: "a folder of logs, J<n>.log, one a client, a JSON object a line for each transaction",
		Tool: "Viper", Holds: Times | Predicates | Initial, Dir: true,
		Detect: folder(viper.Is),
		Read:   inFolder(viper.Read),
	}
	timekillerJSON = Format{
		Name: "timekiller", About: "JSON with the database's start and commit timestamps; registers or lists",
		Tool: "TimeKiller (CHRONOS, AION)", Holds: Timestamps | Lists,
		Detect: detect(timekiller.Is),
		Read:   whole(timekiller.Read),
	}
	porcupineLog = Format{
		Name: "porcupine", About: "console log of Jepsen's etcd register test",
		Tool: "Porcupine", Holds: Times | Aborted | Unknown | Predicates,
		Detect: detect(porcupine.Is),
		Read:   whole(porcupine.Read),
	}
)

// detect makes a Detect of a test on a file's beginning that its own format alone passes.
func detect(is func(head []byte) bool) func([]byte, string) Confidence {
	return func(head []byte, _ string) Confidence {
		if head != nil && is(head) {
			return Certain
		}
		return No
	}
}

// folder makes a Detect of a test on a folder.
func folder(is func(dir string) bool) func([]byte, string) Confidence {
	return func(head []byte, path string) Confidence {
		if head == nil && path != "" && is(path) {
			return Certain
		}
		return No
	}
}

// whole makes a Read of a function on a file's bytes.
func whole(read func(data []byte, file string) (*history.History, error)) func(context.Context, *Input, Options) (*history.History, error) {
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

// inFolder makes a Read of a function on a folder.
func inFolder(read func(ctx context.Context, dir string) (*history.History, error)) func(context.Context, *Input, Options) (*history.History, error) {
	return func(ctx context.Context, in *Input, _ Options) (*history.History, error) {
		if !in.Dir {
			return nil, &history.InputError{File: in.Name, Off: -1, Msg: "is a file; expected the folder with the logs of all clients"}
		}
		return read(ctx, in.Path)
	}
}

// numbered makes a Write of one that needs integers.
func numbered(name string, init integers.Explicit, write func(io.Writer, *history.History, *integers.Numbers) error) func(io.Writer, *history.History, bool) error {
	return func(w io.Writer, h *history.History, lossy bool) error {
		n, err := integers.Of(h, lossy, init)
		if err != nil {
			return fmt.Errorf("format %s: %w", name, err)
		}
		return write(w, h, n)
	}
}
