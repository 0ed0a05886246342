"""The text of files: PDF, EPUB, HTML, plain, and descriptions of data files."""
