"""What a comparison of policies came to, for people: tables with intervals, pictures, one page."""
