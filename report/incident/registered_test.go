package incident_test

import _ "isovet/collect/driver/all"
