"""What is proved: certificates, and the verifier that shares no code with the solver."""
