"""Released packages under audit, beside what is publicly known about them: ``python -m tests.released``."""
