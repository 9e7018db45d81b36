"""Adapters: our account inside the training loops and the accounting libraries of others."""
