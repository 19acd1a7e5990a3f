// Package archtest holds the house's plan as data and checks that the code keeps to it: which package lives on which
// floor, that a package imports lower floors only, and which imports along a floor are allowed and why. The plan in
// words is docs/architecture.md. It is a test and nothing else imports it.
package archtest
