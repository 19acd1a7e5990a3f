package workloads

func transactional() []Workload { return nil }
