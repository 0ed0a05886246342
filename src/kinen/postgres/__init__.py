"""PostgreSQL with pgvector: the engine for many people, repositories and machines.

Needs the `postgres` extra. Nothing that runs on one machine alone imports this package.
"""
