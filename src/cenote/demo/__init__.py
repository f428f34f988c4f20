"""The demonstration: pool an image and a volume, check the results, show them and time them against NumPy."""
