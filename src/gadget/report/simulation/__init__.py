"""What a simulation came to, for people: tables, a page with pictures, progress bars."""
