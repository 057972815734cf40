"""How far corruptions overlap."""
