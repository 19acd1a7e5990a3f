package history

// differ is diff.Histories, which imports this package: set by tests outside of it.
var differ func(a, b *History) string

// SetDiffer sets it.
func SetDiffer(f func(a, b *History) string) { differ = f }
