// Package seen shows a watch to its operator: a live page, metrics for Prometheus, health and readiness, and violations
// sent to a web hook.
//
// Files:
//
//   - server.go: the addresses, and who may ask
//   - page.go, page_incident.go: the content of pages; page.tmpl, page.css, page.js: their form; words.go: their words
//   - pulse.go: the last minutes; timeline.go: transactions by session
//   - prometheus.go: metrics; webhook.go: notices
//
// One renderer makes the page, without scripts too. The script asks for the page as it is now, and takes over texts and
// attributes: it makes no markup of strings, which the content security policy would refuse. What came from the network
// is escaped by html/template, and by shown, which leaves nothing unseen in it.
//
// Experimental: this package may still change.
package seen
