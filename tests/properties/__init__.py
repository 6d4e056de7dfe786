"""Laws that hold for every value, checked on values that Hypothesis makes up."""
