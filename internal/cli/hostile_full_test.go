package cli

func init() { heavyHostile = heavyRuns }

// heavyRuns are the runs of commands that the small programs do not have.
func heavyRuns(lost, thin string, in, to func(string) string) [][]string {
	var runs [][]string
	for _, file := range []string{lost, thin, in("bad.jsonl"), in("bad.txt")} {
		for _, checker := range []string{"replay", "leopard"} {
			runs = append(runs, []string{"watch", "--once", "--checker", checker, "--level", "strict-serializable",
				"--profile", "postgresql:serializable", "--state", to("watch-" + checker), "--source", file})
		}
		runs = append(runs, []string{"replay", file, "--db", "sqlite:"},
			[]string{"hunt", "--db", "sqlite:", "--workload", file},
			[]string{"campaign", file, "-o", to("campaign")},
			[]string{"report", file, "-o", to("incident")})
	}
	return append(runs, []string{"bench", "compare", "--markdown", "--checkers", "vbox", "--history", lost})
}
