"""Workloads: seeded subscriptions and events to measure and test with, as data and as plain files."""

from tamis.workloads.base import Family, Workload
from tamis.workloads.parameters import WorkloadError
from tamis.workloads.registry import WORKLOADS, generate

__all__ = ["WORKLOADS", "Family", "Workload", "WorkloadError", "generate"]
