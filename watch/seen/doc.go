// Package seen shows operators a running watch: a live page, metrics for Prometheus, health and readiness, and
// violations sent to a web hook.
//
// Files:
//
//   - server.go: the addresses, and access to them
//   - page.go, page_incident.go: the content of pages; page.tmpl, page.css, page.js: their form; words.go: their words
//   - pulse.go: the last minutes; timeline.go: transactions by session
//   - prometheus.go: metrics; webhook.go: notices
//
// The server renders the page, which works without scripts. The script requests the page again and copies texts and
// attributes from it. It never makes markup from strings, which the content security policy would refuse.
// html/template escapes texts that came from the network, and shown makes invisible characters in them visible.
//
// Experimental: this package may still change.
package seen
