"""What is built on audits: calibration, composition, the ledger, profiles, exact sampling."""
