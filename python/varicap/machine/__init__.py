"""What this machine can do: the kernel engine on it, the speed of the simulator, and programs behind a link."""
