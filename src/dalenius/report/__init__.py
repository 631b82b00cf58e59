"""How results are shown and kept: words, pictures, pages and files."""
