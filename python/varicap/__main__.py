"""``python -m varicap`` runs the command line."""

from varicap.cli import main

if __name__ == "__main__":
    main()
