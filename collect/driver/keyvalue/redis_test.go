package keyvalue

import "testing"

// TestRedisProducts: the server is called what it is, beside the version of Redis that it tells.
func TestRedisProducts(t *testing.T) {
	for info, want := range map[string]string{
		"# Server\r\nredis_version:7.0.15\r\n":                  "Redis 7.0.15",
		"redis_version:7.2.4\r\nvalkey_version:8.0.1\r\n":       "Valkey 8.0.1 (says Redis 7.2.4)",
		"redis_version:7.4.0\r\ndragonfly_version:df-v1.27.0\n": "Dragonfly 1.27.0 (says Redis 7.4.0)",
	} {
		if got, _ := redisProduct(info); got != want {
			t.Errorf("%q is called %q, expected %q", info, got, want)
		}
	}
}
