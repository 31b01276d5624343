"""How many machines some load takes: coefficients that were measured, a model fitted to them, and a simulation."""

from tamis.sizing.coefficients import SHIPPED, Coefficients, WorkloadCoefficients, read_coefficients
from tamis.sizing.estimate import ClusterSize, Demand, Node, estimate, segments_of
from tamis.sizing.model import Model, fit
from tamis.sizing.simulation import Simulation, simulate

__all__ = [
    "SHIPPED",
    "ClusterSize",
    "Coefficients",
    "Demand",
    "Model",
    "Node",
    "Simulation",
    "WorkloadCoefficients",
    "estimate",
    "fit",
    "read_coefficients",
    "segments_of",
    "simulate",
]
