"""Launch: how blocks are handed out to SMs, and how many run at a time."""
