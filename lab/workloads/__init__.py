"""The problems of the lab: one module a workload, which owns its sizes, reference answer, checker and what one item is.

Every module has the names that runner.catalog.Workload lists. A module that lacks NAME is not a workload.
"""
