"""How to decide: values in, arrays inside, rings out."""
