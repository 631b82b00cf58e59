"""Audits and designs as users ask for them: options checked, solvers called, answers with certificates."""
