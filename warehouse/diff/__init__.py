"""What differs between two versions of a rule, map, split or task, in words and in records."""
