"""`python -m varicap` is the program `varicap`."""

from varicap.cli import main

if __name__ == "__main__":
    main()
