"""The paper's four figures as we measured them, beside what the paper claims."""
