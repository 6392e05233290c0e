"""The systems CORE-T is compared with, one module each; the registry loads them by name."""
