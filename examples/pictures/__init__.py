"""Programs that people like to look at: each simulates something and draws a picture of it."""
