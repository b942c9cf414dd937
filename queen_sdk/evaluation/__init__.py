"""Scores by the published protocol, baselines, and the rows of the paper."""
