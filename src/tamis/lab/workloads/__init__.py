"""Workloads: seeded subscriptions and events to measure and test with, as data and as plain files."""

from tamis.lab.workloads.base import Family, Workload
from tamis.lab.workloads.parameters import WorkloadError
from tamis.lab.workloads.registry import WORKLOADS, generate

__all__ = ["WORKLOADS", "Family", "Workload", "WorkloadError", "generate"]
