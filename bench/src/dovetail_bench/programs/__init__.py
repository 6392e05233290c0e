"""Programs that measure and train, each `dovetail bench run NAME`."""
