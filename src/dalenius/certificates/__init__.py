"""What is proved, as plain data: certificates, saved and loaded."""
