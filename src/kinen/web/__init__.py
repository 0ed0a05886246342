"""The pages of `kinen web`: HTML made on the server, with a few scripts that make it livelier."""
