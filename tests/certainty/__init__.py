"""A search for configurations where heatess is more wrong than it says."""
