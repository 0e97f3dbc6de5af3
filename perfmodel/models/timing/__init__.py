"""From work to time: latencies, turns, queues and batches, each a term of its own."""
