"""How wrong the predictions are: measured cases, baselines, scores and intervals."""
