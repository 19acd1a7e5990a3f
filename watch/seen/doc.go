// Package seen shows a watch to who runs it: a live page, metrics for Prometheus, whether it is alive and ready,
// violations sent to a web hook.
//
// Files:
//
//   - server.go: what is asked for, and by whom
//   - page.go, page_incident.go: what pages say; page.tmpl, page.css, page.js: how; words.go: in which words
//   - pulse.go: what was in the last minutes; timeline.go: transactions by session
//   - prometheus.go: metrics; webhook.go: notices
//
// One renderer makes the page, without scripts too. The script asks for the page as it is now, and takes over texts
// and attributes: it makes no markup of strings, which the content security policy would refuse. What came from the
// network is escaped by html/template, and by shown, which leaves nothing unseen in it.
//
// Experimental: this package may still change.
package seen
