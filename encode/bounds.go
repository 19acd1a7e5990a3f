package encode

import "isovet/internal/bounds"

func init() { bounds.Register("encode.turnConflicts", &turnConflicts) }
