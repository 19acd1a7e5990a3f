package databases

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"isovet/collect/driver"
	"isovet/level"
)

var mongoStore = driver.Store{
	Scheme: "mongodb",
	Name:   "MongoDB",
	About: "MongoDB (a replica set), FerretDB (none): mongodb://user:password@host:27017/db " +
		"(no test with a server of MongoDB's)",
	Isolations: []string{
		"snapshot=snapshot-isolation=si=default", // read concern snapshot, write concern majority
		"majority", "local",                      // read concerns
		"none=read-committed=rc", // no transactions: each operation by itself
	},
	Promises: []driver.Promise{{Database: "MongoDB", Isolation: "snapshot",
		Levels: []level.Level{level.SnapshotIsolation},
		Source: "MongoDB manual, Read Concern snapshot, of multi-document transactions"}},
	Open:     openMongo,
	Remote:   true,
	Classify: mongoClass,
}

type mongoDB struct {
	c    *mongo.Client
	keys *mongo.Collection
	name string
	txn  *options.TransactionOptionsBuilder // nil: no transactions
}

// mongoWithin bounds each answer.
const mongoWithin = 10 * time.Second

func within() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), mongoWithin)
}

func openMongo(at, isolation string) (driver.KV, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return nil, errors.New("not a URL; expected mongodb://host:27017/db")
	}
	name := strings.Trim(u.Path, "/")
	if name == "" {
		name = "isovet"
	}
	// No second try behind our back.
	c, err := mongo.Connect(options.Client().ApplyURI(at).SetRetryWrites(false).SetRetryReads(false).
		SetServerSelectionTimeout(mongoWithin))
	if err != nil {
		return nil, err
	}
	m := &mongoDB{c: c, keys: c.Database(name).Collection("isovet_keys")}
	concern := map[string]*readconcern.ReadConcern{"snapshot": readconcern.Snapshot(),
		"majority": readconcern.Majority(), "local": readconcern.Local()}[isolation]
	if concern != nil {
		m.txn = options.Transaction().SetReadConcern(concern).SetWriteConcern(writeconcern.Majority())
	}
	ctx, cancel := within()
	defer cancel()
	var build bson.M
	if err := c.Database(name).RunCommand(ctx, bson.D{{Key: "buildInfo", Value: 1}}).Decode(&build); err != nil {
		return nil, errors.Join(err, c.Disconnect(ctx))
	}
	m.name = mongoProduct(build)
	// Made before the first transaction, in which some versions cannot make it.
	if err := m.keys.Drop(ctx); err != nil {
		return nil, errors.Join(err, c.Disconnect(ctx))
	}
	if err := c.Database(name).CreateCollection(ctx, "isovet_keys"); err != nil {
		return nil, errors.Join(err, c.Disconnect(ctx))
	}
	return m, nil
}

// Product is what answers.
func (m *mongoDB) Product() string { return m.name }

// mongoProduct reads the answer of buildInfo, in which FerretDB says MongoDB's version, and its own beside that.
func mongoProduct(build bson.M) string {
	for key, v := range build {
		if !strings.HasPrefix(strings.ToLower(key), "ferretdb") {
			continue
		}
		if version, ok := v.(string); ok && version != "unknown" {
			return fmt.Sprintf("FerretDB %s (says MongoDB %v)", version, build["version"])
		}
		return fmt.Sprintf("FerretDB (says MongoDB %v)", build["version"])
	}
	return fmt.Sprintf("MongoDB %v", build["version"])
}

func (m *mongoDB) Close() error {
	ctx, cancel := within()
	defer cancel()
	return errors.Join(m.keys.Drop(ctx), m.c.Disconnect(ctx))
}

func (m *mongoDB) Begin() (driver.KVTxn, error) {
	t := &mongoTxn{m: m}
	if m.txn == nil {
		return t, nil
	}
	var err error
	if t.s, err = m.c.StartSession(); err != nil {
		return nil, err
	}
	return t, t.s.StartTransaction(m.txn)
}

type mongoTxn struct {
	m *mongoDB
	s *mongo.Session // nil: none
}

// do runs an operation of the transaction's.
func (t *mongoTxn) do(f func(context.Context) error) error {
	ctx, cancel := within()
	defer cancel()
	if t.s != nil {
		ctx = mongo.NewSessionContext(ctx, t.s)
	}
	return f(ctx)
}

func (t *mongoTxn) Get(key []byte) (value []byte, found bool, err error) {
	var doc struct{ V string }
	err = t.do(func(ctx context.Context) error {
		return t.m.keys.FindOne(ctx, bson.D{{Key: "_id", Value: hex.EncodeToString(key)}}).Decode(&doc)
	})
	if errors.Is(err, mongo.ErrNoDocuments) {
		return nil, false, nil
	}
	return []byte(doc.V), err == nil, err
}

func (t *mongoTxn) Put(key, value []byte) error {
	id := bson.E{Key: "_id", Value: hex.EncodeToString(key)}
	return t.do(func(ctx context.Context) error {
		_, err := t.m.keys.ReplaceOne(ctx, bson.D{id}, bson.D{id, {Key: "v", Value: string(value)}},
			options.Replace().SetUpsert(true))
		return err
	})
}

func (t *mongoTxn) Commit() error {
	if t.s == nil {
		return nil
	}
	ctx, cancel := within()
	defer cancel()
	err := t.s.CommitTransaction(ctx)
	if err == nil {
		t.s.EndSession(ctx)
		t.s = nil
	}
	return err
}

func (t *mongoTxn) Rollback() error {
	if t.s == nil {
		return nil
	}
	ctx, cancel := within()
	defer cancel()
	_ = t.s.AbortTransaction(ctx) // the server may have done so
	t.s.EndSession(ctx)
	t.s = nil
	return nil
}

// mongoClass goes by the labels: a transient error has had no effect; of some commits the library says that it does not
// know.
func mongoClass(err error) driver.Class {
	var s mongo.ServerError
	label := errors.As(err, &s)
	switch {
	case errors.Is(err, driver.ErrConflict):
		return driver.Aborted
	case label && s.HasErrorLabel("UnknownTransactionCommitResult"):
		return driver.Unclear
	case mongo.IsNetworkError(err), mongo.IsTimeout(err):
		return driver.Lost
	case label && s.HasErrorLabel("TransientTransactionError"), mongo.IsDuplicateKeyError(err):
		return driver.Aborted
	}
	return lost(err)
}
