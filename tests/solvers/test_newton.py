from rankwise.solvers.newton import NewtonSolver
from tests.solvers.risk_minimisers import RiskMinimiserTests


class TestNewton(RiskMinimiserTests):
    loss, power, solver, tight = "squared_hinge", 2, NewtonSolver, 1e-8
