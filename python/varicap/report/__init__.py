"""Drawing only: tables for the terminal and figures, from the results of runs."""
