// Package histtest is what random tests of histories share: small random histories of every kind that the format knows
// ([Random]), the search for one that fails ([Search]), its reduction to the smallest that still does ([Shrink]), and
// the folder where those that failed are kept and read ever after ([Found]).
//
// A history is its text here, JSON lines as the format has them: what fails is what a user would hand over, and it can
// be written to a file as it stands. Only tests import this package.
package histtest
