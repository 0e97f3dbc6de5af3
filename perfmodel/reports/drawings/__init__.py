"""Pictures of what a launch does: a record of each, which figure, JSON and description show."""
