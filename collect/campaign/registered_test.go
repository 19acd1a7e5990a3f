package campaign_test

import _ "isovet/collect/driver/all"
