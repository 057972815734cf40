"""Benchmarks as data: names and numbers in versioned YAML files. Pure: no torch, no images."""

from scuff.suites.catalogue import is_bundled, list_corruptions, list_suites, load_suite, register
from scuff.suites.combine import combine_suites
from scuff.suites.suite import Levels, Suite, SuiteError

__all__ = [
    "Levels",
    "Suite",
    "SuiteError",
    "combine_suites",
    "is_bundled",
    "list_corruptions",
    "list_suites",
    "load_suite",
    "register",
]
