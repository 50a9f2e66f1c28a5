"""The lab's runner: plans, measures, checks and reports. lab/README.md says how the parts fit."""
