package hunt_test

import _ "isovet/collect/driver/keyvalue"
