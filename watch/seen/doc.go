// Package seen shows a watch to who runs it: metrics for Prometheus, whether it is alive and
// ready, violations sent to a web hook.
//
// Experimental: this package may still change.
package seen
