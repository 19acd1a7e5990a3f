package probe_test

import _ "isovet/collect/driver/all"
