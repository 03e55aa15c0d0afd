"""Random configurations of every learner, compared with brute force in extended precision.

    python -m tests.differential            2,000 configurations, about a night's worth of luck
    python -m tests.differential 300 --seed 5000

Each configuration follows from one number, its seed, so a failure is repeated by
`python -m tests.differential 1 --seed SEED`.
"""
