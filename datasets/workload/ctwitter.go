package workload

import (
	"math/rand/v2"
	"slices"
)

func newCTwitter(p Params) (Workload, error) {
	if err := needKeys(p, 2); err != nil {
		return nil, err
	}
	return &cTwitter{users: int64(p.Keys), actor: NewZipf(p.Keys, 0.5), followed: NewZipf(p.Keys, p.Zipf)}, nil
}

const (
	tweets     = iota // id → the author, as payload
	lastTweet         // user → newest tweet
	followList        // user → whom he follows, the newest first
	following         // (user, followed)
	followers         // (followed, user)

	loadedTweets = 10 // a user
	timeline     = 20 // users whose newest tweet is shown
	clientBlock  = 1 << 24
)

// cTwitter is Cobra's Twitter clone. At first each user follows only himself. New tweets get ids of their client.
type cTwitter struct {
	users           int64
	actor, followed Dist
}

func (w *cTwitter) Tables() []Table {
	return []Table{
		{Name: "tweet", Rows: int(w.users) * loadedTweets, PayloadOf: func(pk int64) int64 { return pk / loadedTweets },
			Sparse: true},
		{Name: "last", Rows: int(w.users), PayloadOf: func(pk int64) int64 {
			return pk*loadedTweets + loadedTweets - 1
		}},
		{Name: "followlist", Rows: int(w.users), WideOf: func(pk int64) []int64 { return []int64{pk} }},
		{Name: "following"},
		{Name: "followers"},
	}
}

func (w *cTwitter) Client(session int, rng *rand.Rand) Client {
	return &cTwitterClient{w: w, rng: rng, next: (int64(session) + 1) * clientBlock}
}

type cTwitterClient struct {
	w    *cTwitter
	rng  *rand.Rand
	next int64
	list []int64
}

// Next draws the acting user, the followed one, and the id of a new tweet.
func (c *cTwitterClient) Next(t *Txn) {
	switch n := c.rng.IntN(100); {
	case n < 20:
		t.Name = "NewTweet"
		c.next++
	case n < 40:
		t.Name = "Follow"
	case n < 60:
		t.Name = "Unfollow"
	case n < 70:
		t.Name = "Timeline"
	case n < 80:
		t.Name = "ShowFollow"
	default:
		t.Name = "ShowTweets"
	}
	t.Args = append(t.Args[:0], c.w.actor.Draw(c.rng), c.w.followed.Draw(c.rng), c.next)
}

func (c *cTwitterClient) Step(t *Txn) {
	u, d := t.Args[0], t.Args[1]
	list := MakeKey(followList, u)
	switch t.Name {
	case "NewTweet":
		if t.Stage == 0 {
			t.Write(MakeKey(tweets, t.Args[2]), u)
			t.Write(MakeKey(lastTweet, u), t.Args[2])
		}
	case "Follow", "Unfollow":
		follow := t.Name == "Follow"
		switch t.Stage {
		case 0:
			for _, k := range [2]Key{MakeKey(followers, d*c.w.users+u), MakeKey(following, u*c.w.users+d)} {
				if follow {
					t.Write(k, 1)
				} else {
					t.Delete(k)
				}
			}
			t.Read(list)
		case 1:
			c.list = c.list[:0]
			if follow {
				c.list = append(c.list, d)
			}
			for _, f := range t.Last().Row {
				if f != d {
					c.list = append(c.list, f)
				}
			}
			t.WriteRow(list, c.list...)
		}
	case "ShowFollow":
		if t.Stage == 0 {
			t.Read(list)
		}
	case "Timeline":
		switch t.Stage {
		case 0:
			t.Read(list)
		case 1:
			for _, f := range t.Last().Row[:min(len(t.Last().Row), timeline)] {
				t.Read(MakeKey(lastTweet, f))
			}
		case 2:
			for _, op := range slices.Clone(t.Ops[1:]) {
				t.Read(MakeKey(tweets, op.Payload))
			}
		}
	case "ShowTweets":
		switch t.Stage {
		case 0:
			t.Read(MakeKey(lastTweet, u))
		case 1:
			last := t.Last().Payload
			for id := last; id >= 0 && id > last-11 && (last < clientBlock || id > last/clientBlock*clientBlock); id-- {
				t.Read(MakeKey(tweets, id))
			}
		}
	}
}
