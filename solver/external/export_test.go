package external

// LastLine is lastLine for the tests.
var LastLine = lastLine
