"""From an assignment's source to what students get, and the proof that its tests work."""
