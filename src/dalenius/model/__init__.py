"""What is asked: statistics, queries, mechanisms and the adversary, validated when built."""
