"""Benchmarks as data: names and numbers in versioned YAML files. Pure: no torch, no images."""

from scuff.suites.catalogue import list_corruptions, list_suites, load_suite
from scuff.suites.suite import Levels, Suite, SuiteError

__all__ = ["Levels", "Suite", "SuiteError", "list_corruptions", "list_suites", "load_suite"]
