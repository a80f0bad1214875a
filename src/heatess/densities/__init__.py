"""Where the mass is: heat-smoothed densities at the scale that the data support, their regions and maps."""
