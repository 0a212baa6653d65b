"""What we measure: the paper's figures, point by point, resumable."""
