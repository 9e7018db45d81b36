"""Expansions in constant time: estimates, which carry no bracket and never pass for one."""
