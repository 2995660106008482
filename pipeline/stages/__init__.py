"""The ordered stages of a release, each typed input → evidence: plan → build → audit → smoke → gate."""
