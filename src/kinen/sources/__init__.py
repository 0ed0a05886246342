"""Where records come from: the files of a space, by its layout and ignore rules."""
