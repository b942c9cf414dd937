"""What the benchmarks share: texts, encoders, clocks, tables, and where results go."""
