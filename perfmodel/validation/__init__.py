"""How wrong the predictions are: measured cases, baselines and scores."""
