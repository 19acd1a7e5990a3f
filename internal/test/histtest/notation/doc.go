// Package notation writes and reads histories as one line of text, for tests and documentation:
//
//	s1: r(x,0) w(x,1) @[1,2] | s2: r(x,1)! | s1: r(x,1)
//
// is three transactions, two of them in session 1 in that order, the one of session 2 aborted, the first with client
// times.
//
// # Grammar
//
// White space, line breaks included, is free between tokens.
//
//	history   = [ "init=" value ":" ] [ segment { "|" segment } ]
//	segment   = ( session [ "/" id ] | "init" ) ":" { operation } { mark }
//	session   = "s" integer            session of that number
//	          | "_"                    a session of its own
//	operation = "r" "(" key "," ( value | list ) [ times ] ")"
//	          | "w" "(" key "," value [ times ] ")"
//	          | "a" "(" key "," value [ times ] ")"
//	          | "pr" predicate "[" [ key "=" value { "," … } ] "]" [ "(" time "," time ")" ]
//	          | "pw" predicate "[" [ key [ "=" value ] "->" value { "," … } ] "]" [ "(" time "," time ")" ]
//	times     = "," time "," time      client times of the operation
//	list      = "[" [ value { "," value } ] "]"
//	mark      = "!"                    aborted
//	          | "?"                    outcome unknown
//	          | "@[" time "," time "]" client times: start, end
//	          | "@[" time "," time "," time "]"  start, commit, end
//	          | "ts[" time "," time "]"          database timestamps: start_ts, commit_ts
//	time      = integer | "_"          _: missing
//	key       = integer | word | string
//	value     = "_" | "null" | integer | "true" | "false" | word | string | row
//
// A string is a JSON string, a row and a predicate a JSON object as in the history format; a word is a letter followed
// by letters, digits, '_' and '.', and stands for the string. The value in front, "init=0:", is what every key holds at
// first; the segment "init:" is the transaction that writes initial versions.
//
// Transactions have the ids 1, 2, 3, … in order of appearance, the init segment the id 0, unless an id is given.
package notation
