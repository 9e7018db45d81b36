"""`python -m edgeworth` is the command `edgeworth`."""

from edgeworth.cli import main

if __name__ == "__main__":
    main()
