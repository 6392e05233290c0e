"""Reports: runs in, tables and plots out; a function per analysis, a module per output format."""
