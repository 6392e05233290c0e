"""Learning from past queries: logs are read and parsed, and what they count is kept."""
