"""Arrays in files: read part by part, pooled, and written so that a file appears whole or not at all."""
