"""Bad days, made by seed: what is killed, full, damaged or late; the soak does them at length."""
