"""What everything else stands on: errors, arrays, threads, files, results, and what is known about data."""
