"""What agents did, kept losslessly: the one database with migrations."""
