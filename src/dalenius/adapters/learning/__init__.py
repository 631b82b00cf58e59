"""Estimators for scikit-learn; users import them from dalenius.sklearn."""
