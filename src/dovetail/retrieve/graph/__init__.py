"""The selector `graph`: chooses the set without a language model."""
