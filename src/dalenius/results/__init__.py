"""What users hold: audits, designs, calibrations; saved, loaded and checked."""
