"""Claims about a model, decided by as few passes as they need."""
