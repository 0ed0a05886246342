"""`python -m kinen`."""

from kinen.cli import main

if __name__ == "__main__":
    main()
